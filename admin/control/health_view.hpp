// /v1/healthcheck: objects with health checks and what is known of their nodes. While no prober runs there are no
// checkers, so the node lists are empty.
#pragma once

#include <string>

#include "admin/http/message.hpp"
#include "admin/store/image.hpp"

namespace sluice::admin {

// type and id empty: all objects with checks. type: routes, services, upstreams, stream_routes.
http::Response health_answer(const Image& image, const std::string& prefix, const http::Request& request,
                             const std::string& type, const std::string& id);

}  // namespace sluice::admin
