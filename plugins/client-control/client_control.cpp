#include "plugins/client-control/client_control.hpp"

#include "conf/base/text.hpp"

namespace sluice::plugins::client_control {

using sdk::RequestContext;
using sdk::Verdict;

const schema::Table<ClientControl::Config>& ClientControl::table() {
  static const auto kTable =
      schema::table<Config>().field("max_body_size", &Config::max_body_size,
                                    schema::integer().at_least(0).doc("octets; 0: no limit; absent: the node's limit"));
  return kTable;
}

Result<ClientControl> ClientControl::compile(Config config, sdk::CompileContext&) {
  ClientControl made;
  made.limit_ = config.max_body_size;
  return made;
}

Verdict ClientControl::rewrite(RequestContext& ctx) const noexcept {
  if (!limit_) return Verdict::proceed();
  ctx.request_body_limit = limit_;
  const sdk::Field* length = ctx.request_headers.find(sdk::FieldId::content_length);
  const auto stated = length == nullptr ? std::nullopt : text::to_int<std::uint64_t>(length->value);
  return *limit_ != 0 && stated && *stated > *limit_ ? ctx.respond(413) : Verdict::proceed();
}

}  // namespace sluice::plugins::client_control
