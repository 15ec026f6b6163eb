// The slow paths of RobustMutex.
#include "shm/robust_mutex.hpp"

#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "shm/fault.hpp"

namespace sluice::shm {

void RobustMutex::init() noexcept {
  pthread_mutexattr_t attr;
  ::pthread_mutexattr_init(&attr);
  ::pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
  ::pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
  if (int rc = ::pthread_mutex_init(&mutex_, &attr); rc != 0) broken(rc);
  ::pthread_mutexattr_destroy(&attr);
  store_word(waits_, 0);
  store_word(recoveries_, 0);
}

int RobustMutex::wait() noexcept {
  const int rc = ::pthread_mutex_lock(&mutex_);
  if (rc == 0 || rc == EOWNERDEAD) add_word(waits_, 1);
  return rc;
}

void RobustMutex::consistent() noexcept {
  add_word(recoveries_, 1);
  if (int rc = ::pthread_mutex_consistent(&mutex_); rc != 0) broken(rc);
}

// A lock that cannot be taken is a broken invariant: die, the supervisor restarts us.
void RobustMutex::broken(int rc) noexcept {
  std::fprintf(stderr, "shared mutex unusable (error %d)\n", rc);
  std::abort();
}

void die_for_test() noexcept {
  ::kill(::getpid(), SIGKILL);
  for (;;) ::pause();
}

}  // namespace sluice::shm
