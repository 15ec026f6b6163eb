// Expressions made to fit the grammar: the input chooses variables, operators and constants, so that evaluation is
// reached far more often than by random JSON. A rule and its negation never both hold.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "conf/base/json.hpp"
#include "plugins/sdk/expression.hpp"
#include "plugins/sdk/request_context.hpp"

using namespace sluice;

namespace {

class Choice {
 public:
  Choice(const std::uint8_t* data, std::size_t size) : data_(data), left_(size) {}
  unsigned next(unsigned bound) {
    if (left_ == 0) return 0;
    --left_;
    return *data_++ % bound;
  }
  bool more() const { return left_ > 0; }
  std::string text() {
    std::string out;
    for (unsigned n = next(12); n > 0 && left_ > 0; --n) out += static_cast<char>(32 + next(95));
    return out;
  }

 private:
  const std::uint8_t* data_;
  std::size_t left_;
};

std::string quoted(const std::string& text) {
  rapidjson::Value ref(rapidjson::StringRef(text.c_str(), static_cast<rapidjson::SizeType>(text.size())));
  return to_json(ref);
}

std::string constant(Choice& c) {
  switch (c.next(5)) {
    case 0: return std::to_string(c.next(200));
    case 1: return quoted(c.text());
    case 2: return "[" + quoted(c.text()) + "," + quoted(c.text()) + "]";
    case 3: return c.next(2) ? "true" : "null";
    default: return "\"10.0.0.0/8\"";
  }
}

std::string condition(Choice& c, bool negated) {
  static const char* kVariables[] = {"arg_a", "http_x_a", "uri", "cookie_c", "remote_addr", "nothing", "request_method"};
  static const char* kOperators[] = {"==", "~=", ">", ">=", "<", "<=", "~~", "~*", "in", "has", "ipmatch"};
  std::string out = "[\"" + std::string(kVariables[c.next(7)]) + "\",";
  if (negated) out += "\"!\",";
  return out + "\"" + kOperators[c.next(11)] + "\"," + constant(c) + "]";
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Choice choice(data, size);
  sdk::RequestContext ctx;
  ctx.method = "GET";
  ctx.path = "/a";
  ctx.client_text = "10.1.2.3";
  const std::string query = "a=" + choice.text();
  ctx.query = query;
  ctx.has_query = true;
  const std::string value = choice.text();
  ctx.request_headers.add("X-A", value);
  ctx.request_headers.add("Cookie", query);
  while (choice.more()) {
    Choice twin = choice;
    auto plain = parse_json("[" + condition(choice, false) + "]");
    auto opposite = parse_json("[" + condition(twin, true) + "]");
    if (!plain || !opposite) std::abort();
    auto a = sdk::Expression::compile(*plain);
    auto b = sdk::Expression::compile(*opposite);
    if (static_cast<bool>(a) != static_cast<bool>(b)) std::abort();
    if (!a) continue;
    using Outcome = sdk::Expression::Outcome;
    if (a->evaluate(ctx) == Outcome::yes && b->evaluate(ctx) == Outcome::yes) std::abort();
  }
  return 0;
}
