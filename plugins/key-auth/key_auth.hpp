// key-auth: finds the consumer by an API key in a header field or, when that field is not there, in a query argument.
#pragma once

#include <string>
#include <string_view>

#include "conf/schema/table.hpp"
#include "plugins/sdk/authentication.hpp"
#include "plugins/sdk/compile_context.hpp"
#include "plugins/sdk/request_context.hpp"
#include "plugins/sdk/traits.hpp"
#include "plugins/sdk/variable.hpp"

namespace sluice::plugins::key_auth {

class KeyAuth {
 public:
  struct Config {
    std::string header = "apikey";
    std::string query = "apikey";
    bool hide_credentials = false;
    std::string anonymous_consumer;
    std::string realm = "key";
  };
  static constexpr sdk::Traits kTraits{.name = "key-auth", .priority = 2500, .kind = sdk::PluginKind::auth};

  static const schema::Table<Config>& table();
  static const schema::Node& consumer_schema();
  static std::string_view consumer_key_field() { return "key"; }
  static Result<KeyAuth> compile(Config config, sdk::CompileContext& context);

  sdk::Verdict rewrite(sdk::RequestContext& ctx) const noexcept;

 private:
  std::string header_;
  std::string query_;
  sdk::Variable argument_;
  sdk::Challenge challenge_;
  bool hide_ = false;
};

using Plugin = KeyAuth;

}  // namespace sluice::plugins::key_auth
