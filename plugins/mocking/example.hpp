// Example: a JSON Schema compiled to a generator of example bodies.
//
// Where the schema gives an `example` it is taken (texts are templates); elsewhere values are drawn at random. The size
// of what one request can make is bounded, whatever the schema.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "conf/base/json.hpp"
#include "plugins/sdk/compile_context.hpp"
#include "plugins/sdk/request_context.hpp"
#include "plugins/sdk/template.hpp"

namespace sluice::plugins::mocking {

class Example {
 public:
  static Example compile(const Json& schema, sdk::CompileContext& context);

  std::string_view json(sdk::RequestContext& ctx) const noexcept;
  std::string_view xml(sdk::RequestContext& ctx, std::string_view root) const noexcept;

 private:
  enum class Kind : unsigned char { null, object, array, text, number, integer, boolean };
  class Writer;
  void write_json(Writer& out) const noexcept;
  void write_xml(Writer& out, std::string_view tag) const noexcept;
  void write_scalar(Writer& out, bool quoted) const noexcept;

  Kind kind_ = Kind::null;
  std::vector<std::pair<std::string, Example>> members_;  // of an object
  std::vector<Example> item_;                             // of an array: one, or none
  std::optional<sdk::Template> text_;                     // example of a text
  std::optional<std::string> fixed_;                      // example of a number or boolean, printed
};

}  // namespace sluice::plugins::mocking
