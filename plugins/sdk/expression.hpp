// Expression: the condition language of `vars`, `_meta.filter` and plugin conditions, compiled to a flat program.
#pragma once

#include <memory>
#include <string>

#include "conf/base/json.hpp"
#include "conf/base/result.hpp"

namespace sluice::sdk {

class RequestContext;

class Expression {
 public:
  enum class Outcome : unsigned char { no, yes, error };

  Expression();                       // always true
  ~Expression();
  Expression(Expression&&) noexcept;
  Expression& operator=(Expression&&) noexcept;

  // rule: the JSON array. Error reason: the text after "failed to validate the 'vars' expression: ".
  static Result<Expression> compile(const Json& rule);

  Outcome evaluate(RequestContext& ctx) const noexcept;
  bool always() const noexcept;
  bool needs_request_body() const noexcept;
  // The first condition that does not hold, as text (for explain); empty when all do.
  std::string why_not(RequestContext& ctx) const;

 private:
  struct Program;
  std::unique_ptr<Program> program_;
};

}  // namespace sluice::sdk
