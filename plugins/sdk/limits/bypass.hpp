// `bypass` of a limiter: clients and consumers that are neither counted nor limited.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "conf/base/cidr.hpp"
#include "conf/base/result.hpp"
#include "conf/schema/table.hpp"
#include "plugins/sdk/request_context.hpp"

namespace sluice::sdk {

struct BypassConfig {
  std::vector<std::string> cidrs;
  std::vector<std::string> consumers;
  static const schema::Table<BypassConfig>& table();
};

class Bypass {
 public:
  Bypass() = default;
  static Result<Bypass> compile(std::optional<BypassConfig> config);   // invalid: an address that is none
  bool covers(const RequestContext& ctx) const noexcept { return any_ && covers_slow(ctx); }

 private:
  bool covers_slow(const RequestContext& ctx) const noexcept;
  bool any_ = false;
  CidrSet cidrs_;
  std::vector<std::string> consumers_;
};

}  // namespace sluice::sdk
