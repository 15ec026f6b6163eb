// request-id: gives every request an identifier, or keeps the one it came with, and shows it upstream, in the answer
// and as the variable `apisix_request_id`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "conf/schema/table.hpp"
#include "plugins/sdk/compile_context.hpp"
#include "plugins/sdk/headers.hpp"
#include "plugins/sdk/request_context.hpp"
#include "plugins/sdk/traits.hpp"

namespace sluice::plugins::request_id {

class RequestId {
 public:
  struct RangeConfig {
    std::uint32_t length = 16;
    std::string char_set = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
  };
  struct Config {
    std::string header_name = "X-Request-Id";
    bool include_in_response = true;
    std::string algorithm = "uuid";
    RangeConfig range_id;
  };
  static constexpr sdk::Traits kTraits{.name = "request-id", .priority = 12015};

  static const schema::Table<Config>& table();
  static std::string check(const Json& conf);
  static Result<RequestId> compile(Config config, sdk::CompileContext& context);

  sdk::Verdict rewrite(sdk::RequestContext& ctx) const noexcept;
  void header_filter(sdk::RequestContext& ctx) const noexcept;

 private:
  std::string header_;
  bool in_response_ = true;
  std::string_view (*make_)(const RequestId&, sdk::RequestContext&) noexcept = nullptr;
  std::uint32_t range_length_ = 0;
  std::string range_set_;

  static std::string_view make_range(const RequestId& self, sdk::RequestContext& ctx) noexcept;
};

using Plugin = RequestId;

}  // namespace sluice::plugins::request_id
