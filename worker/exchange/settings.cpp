#include "worker/exchange/settings.hpp"

#include "conf/node_config.hpp"

namespace sluice::worker {

Settings make_settings(const conf::NodeConfig& node) {
  Settings s;
  const auto& limits = node.sluice.limits;
  s.head.request_line = limits.request_line;
  s.head.head = limits.request_head;
  s.head.fields = static_cast<std::size_t>(limits.request_fields);
  s.response_head = limits.response_head;
  s.replay = limits.replay_buffer;
  s.spill = limits.body_spill;
  if (!node.sluice.temp_dir.empty()) s.spill_folder = node.sluice.temp_dir;
  s.readable_body = node.apisix.max_post_args_bytes;
  s.trailers = limits.trailers;
  s.underscores_in_headers = node.nginx.underscores_in_headers;
  s.max_body = node.nginx.client_max_body_size;
  s.header_timeout = node.nginx.client_header_timeout;
  s.body_timeout = node.nginx.client_body_timeout;
  s.send_timeout = node.nginx.send_timeout;
  s.keepalive_timeout = node.nginx.keepalive_timeout;
  s.normalise.delete_uri_tail_slash = node.apisix.delete_uri_tail_slash;
  s.normalise.normalize_uri_like_servlet = node.apisix.normalize_uri_like_servlet;
  s.normalise.match_uri_encoded_slash = node.apisix.match_uri_encoded_slash;
  s.trusted_configured = !node.apisix.trusted_text.empty();
  s.trusted = node.apisix.trusted_addresses;
  s.real_ip_from = node.nginx.real_ip_from;
  s.real_ip_from_unix = node.nginx.real_ip_from_unix;
  s.real_ip_header = node.nginx.real_ip_header;
  s.real_ip_recursive = node.nginx.real_ip_recursive;
  s.show_upstream_status = node.apisix.show_upstream_status;
  s.via = node.sluice.via;
  s.server = node.apisix.server_tokens ? "sluice/" SLUICE_VERSION : "sluice";
  s.charset = node.nginx.charset == "off" ? std::string() : node.nginx.charset;
  return s;
}

}  // namespace sluice::worker
