// mocking: answers in place of an upstream, with a given example or with one made from a JSON Schema.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "conf/schema/table.hpp"
#include "plugins/mocking/example.hpp"
#include "plugins/sdk/compile_context.hpp"
#include "plugins/sdk/field_text.hpp"
#include "plugins/sdk/request_context.hpp"
#include "plugins/sdk/traits.hpp"

namespace sluice::plugins::mocking {

class Mocking {
 public:
  struct Config {
    std::int64_t delay = 0;
    int response_status = 200;
    std::string content_type = "application/json;charset=utf8";
    std::optional<std::string> response_example;
    schema::JsonCopy response_schema;
    bool with_mock_header = true;
    schema::JsonCopy response_headers;
  };
  static constexpr sdk::Traits kTraits{.name = "mocking", .priority = 10900};

  static const schema::Table<Config>& table();
  static std::string check(const Json& conf);
  static Result<Mocking> compile(Config config, sdk::CompileContext& context);

  sdk::Verdict access(sdk::RequestContext& ctx) const noexcept;

 private:
  enum class Source : std::uint8_t { nothing, text, json, xml };
  Source source_ = Source::nothing;
  sdk::Template example_;
  Example generated_;
  std::string content_type_;
  std::uint16_t status_ = 200;
  std::chrono::nanoseconds delay_{0};
  bool mock_header_ = true;
  std::vector<sdk::FieldTemplate> headers_;
};

using Plugin = Mocking;

}  // namespace sluice::plugins::mocking
