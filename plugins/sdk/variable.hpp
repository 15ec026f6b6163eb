// Variables by name, resolved once: `remote_addr`, `http_x_user`, `arg_id`, `cookie_s`, `uri_param_x`, …
//
// A name is looked up when the configuration is compiled; per request only the function behind it runs. A name that
// does not exist compiles too and is absent for every request. The complete list is the table in variable.cpp.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace sluice::sdk {

class RequestContext;

struct Value {
  enum class Type : unsigned char { absent, text, number, boolean, list };
  Type type = Type::absent;
  bool boolean = false;
  double number = 0;
  std::string_view text;                      // text; also the printed form of the other types
  std::span<const std::string_view> list;

  bool exists() const noexcept { return type != Type::absent; }
  static Value of(std::string_view t) noexcept { return {Type::text, false, 0, t, {}}; }
  static Value of_boolean(bool b) noexcept { return {Type::boolean, b, 0, b ? "true" : "false", {}}; }
  static Value of_number(double n, std::string_view printed) noexcept { return {Type::number, false, n, printed, {}}; }
  // The text of a list is its items joined by commas.
  static Value of_list(std::span<const std::string_view> items, std::string_view joined) noexcept {
    return {Type::list, false, 0, joined, items};
  }
  static Value absent() noexcept { return {}; }
};

class Variable {
 public:
  using Getter = Value (*)(RequestContext&, std::string_view argument) noexcept;

  Variable() = default;
  static Variable compile(std::string_view name);

  Value get(RequestContext& ctx) const noexcept { return getter_ ? getter_(ctx, argument_) : Value::absent(); }
  const std::string& name() const noexcept { return name_; }
  bool known() const noexcept { return getter_ != nullptr; }
  bool needs_request_body() const noexcept { return needs_body_; }  // post_arg*, request_body, graphql_*

 private:
  std::string name_;
  std::string argument_;   // "x_user" of http_x_user, prepared for its getter
  Getter getter_ = nullptr;
  bool needs_body_ = false;
};

// Limits of the node file that getters obey.
struct VariableLimits {
  std::size_t max_post_args_bytes = 64u << 20;  // apisix.max_post_args_readable_size; 0 = unlimited
  std::size_t graphql_max_bytes = 1u << 20;     // graphql.max_size
};
void set_variable_limits(const VariableLimits& limits) noexcept;

}  // namespace sluice::sdk
