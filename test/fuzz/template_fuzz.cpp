// Templates and expressions over a request whose fields come from the input too.
//
// A template without a reference gives its own text; expanding twice gives the same; an expression answers yes, no or
// error, and the same twice.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "conf/base/json.hpp"
#include "plugins/sdk/expression.hpp"
#include "plugins/sdk/request_context.hpp"
#include "plugins/sdk/template.hpp"

using namespace sluice;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const auto line = input.find('\n');
  const std::string_view text = input.substr(0, line);
  const std::string_view query = line == std::string_view::npos ? std::string_view() : input.substr(line + 1);
  sdk::RequestContext ctx;
  ctx.method = "GET";
  ctx.path = "/fuzz";
  ctx.target = "/fuzz";
  ctx.query = query;
  ctx.has_query = true;
  ctx.request_headers.add("Cookie", query);
  ctx.request_headers.add("X-Fuzz", query);
  ctx.request_body = query;

  const sdk::Template t = sdk::Template::compile(text);
  const auto once = t.expand(ctx);
  if (t.constant() && once.text != text) std::abort();
  if (once.resolved > once.references) std::abort();
  const std::string kept(once.text);
  if (t.expand(ctx).text != kept) std::abort();

  auto rule = parse_json(text);
  if (!rule) return 0;
  auto expression = sdk::Expression::compile(*rule);
  if (!expression) return 0;
  if (expression->evaluate(ctx) != expression->evaluate(ctx)) std::abort();
  return 0;
}
