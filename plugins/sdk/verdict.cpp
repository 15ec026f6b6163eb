#include "plugins/sdk/verdict.hpp"

namespace sluice::sdk {

const char* phase_name(Phase phase) noexcept {
  switch (phase) {
    case Phase::rewrite: return "rewrite";
    case Phase::access: return "access";
    case Phase::before_proxy: return "before_proxy";
    case Phase::header_filter: return "header_filter";
    case Phase::body_filter: return "body_filter";
    case Phase::log: return "log";
  }
  return "";
}

}  // namespace sluice::sdk
