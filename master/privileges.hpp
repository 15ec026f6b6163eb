// Who the children run as. The master keeps its rights (it binds low ports, and at a reload new ones); workers and the
// admin process give theirs up before they touch anything from outside.
#pragma once

#include <sys/types.h>

#include <string>

#include "conf/base/result.hpp"

namespace sluice::master {

struct Account {
  bool switch_to = false;   // false: not root, or told to stay root
  uid_t uid = 0;
  gid_t gid = 0;
  std::string name;
};

// user empty: `sluice` when that account exists, else `nobody`. Not root: nothing to switch.
Result<Account> choose_account(const std::string& user, const std::string& group);
Result<void> drop_privileges(const Account& account);   // in the child; also forbids regaining any

// Whether the account can read the file. Error: why not; a file that is not there is no error.
Result<void> readable_for(const Account& account, const std::string& path);

// Raises the soft limit of open files to `wish`; a hard limit below it is what is got, with `warning` saying so.
void raise_open_files(unsigned long wish, std::string& warning);

}  // namespace sluice::master
