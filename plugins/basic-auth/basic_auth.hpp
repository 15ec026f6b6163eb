// basic-auth: HTTP Basic authentication against the consumers' user names and passwords.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "conf/schema/table.hpp"
#include "plugins/sdk/authentication.hpp"
#include "plugins/sdk/compile_context.hpp"
#include "plugins/sdk/request_context.hpp"
#include "plugins/sdk/traits.hpp"

namespace sluice::plugins::basic_auth {

class BasicAuth {
 public:
  struct Config {
    bool hide_credentials = false;
    std::string anonymous_consumer;
    std::string realm = "basic";
  };
  static constexpr sdk::Traits kTraits{.name = "basic-auth", .priority = 2520, .kind = sdk::PluginKind::auth};

  static const schema::Table<Config>& table();
  static const schema::Node& consumer_schema();
  static std::string_view consumer_key_field() { return "username"; }
  static Result<std::shared_ptr<const void>> compile_consumer(const Json& conf);
  static Result<BasicAuth> compile(Config config, sdk::CompileContext& context);

  sdk::Verdict rewrite(sdk::RequestContext& ctx) const noexcept;

 private:
  sdk::Challenge challenge_;
  bool hide_ = false;
};

using Plugin = BasicAuth;

}  // namespace sluice::plugins::basic_auth
