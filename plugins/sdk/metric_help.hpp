// Help texts of the metrics, by name without prefix.
#pragma once

#include <string_view>

namespace sluice::sdk {

std::string_view metric_help(std::string_view metric) noexcept;   // empty: none

}  // namespace sluice::sdk
