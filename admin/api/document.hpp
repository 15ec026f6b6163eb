// A whole configuration in one document: is it valid, and what in it looks like a mistake?
#pragma once

#include <string>
#include <string_view>

#include "admin/api/answers.hpp"
#include "admin/api/checker.hpp"
#include "conf/standalone.hpp"

namespace sluice::admin {

struct DocumentReport {
  bool valid = false;
  std::string json;  // the answer's body
  conf::StandaloneDocument document;
};

// Refusal: the text is no document at all. Nothing is stored; references are not checked (dangling ones are warnings).
Outcome<DocumentReport> validate_document(Checker& checker, std::string_view text, bool yaml);

}  // namespace sluice::admin
