// The request that micro benchmarks run on: eight header fields, a small answer.
#pragma once

#include "plugins/sdk/request_context.hpp"

namespace sluice::perf {

inline void fill_sample(sdk::RequestContext& ctx) noexcept {
  using sdk::FieldId;
  ctx.method = "GET";
  ctx.target = "/a/b?a=1&c=2";
  ctx.path = "/a/b";
  ctx.query = "a=1&c=2";
  ctx.has_query = true;
  ctx.authority = ctx.host = "localhost";
  ctx.client_text = ctx.peer_text = "10.1.2.3";
  ctx.client_address = ctx.peer_address = IpAddress::from_v4({10, 1, 2, 3});
  ctx.route_id = "1";
  ctx.status = 200;
  sdk::HeaderList& in = ctx.request_headers;
  in.add("Host", "localhost", FieldId::host);
  in.add("User-Agent", "bench/1.0", FieldId::user_agent);
  in.add("Accept", "*/*", FieldId::other);
  in.add("Accept-Encoding", "gzip", FieldId::other);
  in.add("Cookie", "s=1", FieldId::cookie);
  in.add("X-Forwarded-Proto", "http", FieldId::x_forwarded_proto);
  in.add("X-Forwarded-Host", "localhost", FieldId::x_forwarded_host);
  in.add("X-Forwarded-Port", "9080", FieldId::x_forwarded_port);
  ctx.response_headers.add("Content-Type", "text/plain", FieldId::content_type);
  ctx.response_headers.add("Content-Length", "12", FieldId::content_length);
}

}  // namespace sluice::perf
