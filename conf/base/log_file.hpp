// Opening a file that log lines are appended to, from processes of different rights.
//
// The folder of the logs belongs to the account of the workers, and the master, as root, opens files in it: a symbolic
// link that the account could have put there must not lead root elsewhere. A link that root (or the process's own
// account) made is an administrator's choice and is followed, one step: container images link access.log to /dev/stdout.
#pragma once

#include <string>

namespace sluice {

// A descriptor for appending; the file is made with mode 0640. "stderr", /dev/stderr and /dev/stdout are the process's
// own streams, under a descriptor of their own. -1 with errno: ELOOP for a link of somebody else's. Never waits.
int open_log_file(const std::string& path) noexcept;

}  // namespace sluice
