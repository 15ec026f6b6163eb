#include "worker/balancer/hash_key.hpp"

#include <algorithm>

#include "conf/base/log.hpp"
#include "conf/base/text.hpp"
#include "plugins/sdk/request_context.hpp"

namespace sluice::balancer {

HashKey::HashKey(conf::HashOn on, const std::string& key) : on_(on) {
  switch (on) {
    case conf::HashOn::vars: variable_ = sdk::Variable::compile(key); break;
    case conf::HashOn::header: {
      std::string name = text::to_lower(key);
      std::replace(name.begin(), name.end(), '-', '_');
      variable_ = sdk::Variable::compile("http_" + name);
      break;
    }
    case conf::HashOn::cookie: variable_ = sdk::Variable::compile("cookie_" + key); break;
    case conf::HashOn::vars_combinations: combination_ = sdk::Template::compile(key); break;
    case conf::HashOn::consumer: break;
  }
}

std::string_view HashKey::of(sdk::RequestContext& ctx) const noexcept {
  if (on_ == conf::HashOn::consumer) {
    if (ctx.consumer) return ctx.consumer->name;
  } else if (on_ == conf::HashOn::vars_combinations) {
    if (const auto expansion = combination_.expand(ctx); expansion.resolved > 0) return expansion.text;
  } else if (const sdk::Value value = variable_.get(ctx); value.exists()) {
    return value.text;
  }
  log::warn("chash: the request has no value to hash by, remote_addr is used");
  return ctx.client_text;
}

}  // namespace sluice::balancer
