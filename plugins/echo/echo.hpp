// echo: puts text before and after an answer's body, or in its place, and sets header fields. For demonstrations and
// tests of a set-up.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "conf/schema/table.hpp"
#include "plugins/sdk/body.hpp"
#include "plugins/sdk/compile_context.hpp"
#include "plugins/sdk/request_context.hpp"
#include "plugins/sdk/traits.hpp"

namespace sluice::plugins::echo {

class Echo {
 public:
  struct Config {
    std::string before_body;
    std::optional<std::string> body;
    std::string after_body;
    schema::JsonCopy headers;
  };
  static constexpr sdk::Traits kTraits{.name = "echo", .priority = 412, .alters_length = true};

  static const schema::Table<Config>& table();
  static std::string check(const Json& conf);
  static Result<Echo> compile(Config config, sdk::CompileContext& context);

  void header_filter(sdk::RequestContext& ctx) const noexcept;
  void body_filter(sdk::RequestContext& ctx, const sdk::BodyChunk& chunk, sdk::BodySink& sink) const noexcept;

 private:
  std::string before_, after_;
  std::optional<std::string> body_;
  std::vector<std::pair<std::string, std::string>> headers_;
};

using Plugin = Echo;

}  // namespace sluice::plugins::echo
