// Process titles: what ps and top show (`sluice: master`, `sluice: worker 0`, `sluice: admin`).
#pragma once

#include <string_view>

namespace sluice::master {

// REQUIRES: called once at the start of main, before anything keeps a pointer into argv or environ.
void prepare_title(int argc, char** argv);
void set_title(std::string_view title) noexcept;   // cut to the room that argv and environ had

}  // namespace sluice::master
