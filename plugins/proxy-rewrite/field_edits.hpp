// FieldEdits: the `headers` of proxy-rewrite, prepared. Add, then set, then remove.
//
// A value may refer to groups of the last `regex_uri` match (`$1`, `${1}`) and to variables. Groups are put in as they
// are: what a client sends is never read as a template.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "conf/base/json.hpp"
#include "conf/schema/schema.hpp"
#include "plugins/sdk/compile_context.hpp"
#include "plugins/sdk/request_context.hpp"
#include "plugins/sdk/template.hpp"

namespace sluice::plugins::proxy_rewrite {

class FieldEdits {
 public:
  static schema::Node node();
  // The rules that the schema cannot say; "" when fine.
  static std::string check(const Json& headers);
  static FieldEdits compile(const Json& headers, sdk::CompileContext& context);

  void apply(sdk::RequestContext& ctx) const noexcept;

 private:
  class Value {
   public:
    static Value compile(std::string_view text, sdk::CompileContext& context);
    std::string_view expand(sdk::RequestContext& ctx) const noexcept;

   private:
    struct Part {
      sdk::Template text;
      int group = -1;  // of the match; -1: none follows
    };
    std::vector<Part> parts_;
  };
  struct Edit {
    std::string name;
    std::vector<Value> values;
    bool list = false;  // given as an array: empty elements are kept
  };
  static std::vector<Edit> edits_of(const Json* object, sdk::CompileContext& context);

  std::vector<Edit> add_, set_;
  std::vector<std::string> remove_;
};

}  // namespace sluice::plugins::proxy_rewrite
