// csrf: guards unsafe methods by a token that must come in a cookie and, equal, in a header field.
//
// A token is base64 of {random, expires (the time of issue), sign}; sign is a SHA-256 over both and the configured key.
// Every answer carries a fresh one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "conf/schema/table.hpp"
#include "plugins/sdk/compile_context.hpp"
#include "plugins/sdk/request_context.hpp"
#include "plugins/sdk/traits.hpp"
#include "plugins/sdk/variable.hpp"

namespace sluice::plugins::csrf {

class Csrf {
 public:
  struct Config {
    std::int64_t expires = 7200;
    std::string key;
    std::string name = "apisix-csrf-token";
  };
  static constexpr sdk::Traits kTraits{.name = "csrf", .priority = 2980};

  static const schema::Table<Config>& table();
  static std::string check(const Json& conf);
  static Result<Csrf> compile(Config config, sdk::CompileContext& context);

  sdk::Verdict access(sdk::RequestContext& ctx) const noexcept;
  void header_filter(sdk::RequestContext& ctx) const noexcept;

 private:
  std::string_view sign(sdk::Arena& arena, std::string_view random, std::string_view issued) const noexcept;
  bool genuine(sdk::RequestContext& ctx, std::string_view token) const noexcept;

  std::int64_t expires_ = 7200;
  std::string key_;
  std::string name_;
  sdk::Variable cookie_;
};

using Plugin = Csrf;

}  // namespace sluice::plugins::csrf
