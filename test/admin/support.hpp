// What the tests of the admin room share: a temporary folder, a main thread to post to, a store in a file.
#pragma once

#include <stdlib.h>

#include <catch2/catch.hpp>
#include <condition_variable>
#include <deque>
#include <filesystem>
#include <functional>
#include <mutex>
#include <string>

#include "conf/base/result.hpp"

namespace Catch {
// A Result in an assertion is shown by its error.
template <class T>
struct StringMaker<boost::system::result<T, sluice::Error>> {
  static std::string convert(const boost::system::result<T, sluice::Error>& r) {
    return r.has_value() ? "a value" : "error: " + r.error().message();
  }
};
}  // namespace Catch

namespace sluice::admin::test {

class TempDir {
 public:
  TempDir() {
    char name[] = "/tmp/sluice-admin-XXXXXX";
    path_ = ::mkdtemp(name);
  }
  ~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

// Stands for the main thread's event loop: functions posted from any thread run when the test says so.
class Loop {
 public:
  std::function<void(std::function<void()>)> poster() {
    return [this](std::function<void()> f) {
      {
        std::lock_guard lock(mutex_);
        queue_.push_back(std::move(f));
      }
      wake_.notify_one();
    };
  }
  // Runs posted functions until `done` is true.
  void run_until(const std::function<bool()>& done) {
    while (!done()) {
      std::function<void()> f;
      {
        std::unique_lock lock(mutex_);
        wake_.wait(lock, [&] { return !queue_.empty(); });
        f = std::move(queue_.front());
        queue_.pop_front();
      }
      f();
    }
  }

 private:
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> queue_;
};

}  // namespace sluice::admin::test
