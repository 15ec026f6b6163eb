// FileProvider: the configuration from a standalone file (apisix.yaml, apisix.json), read again when it changes.
//
// The caller asks once a second; the file's modification time decides. What cannot be parsed, or has no end flag,
// leaves the old content in force. An object that is not valid, or whose plugins are unknown, is left out and logged,
// the others stay. References are not checked: they are resolved per request. All of a file becomes visible at once.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "admin/api/checker.hpp"
#include "admin/store/image.hpp"
#include "conf/standalone.hpp"
#include "worker/live/change.hpp"

namespace sluice::admin {

struct FileSource {
  std::string path;
  std::string shown;  // what messages call it; empty: the path
  conf::StandaloneFormat format = conf::StandaloneFormat::yaml;
  conf::Environment environment;
};

class FileProvider {
 public:
  // `image` is filled here and read by the control API; `checker` looks at objects one by one.
  FileProvider(FileSource source, Image& image, Checker& checker)
      : source_(std::move(source)), image_(image), checker_(checker) {
    if (source_.shown.empty()) source_.shown = source_.path;
  }

  // Reads the file when its modification time differs from the last one seen. True: there is something new, all of
  // which is in everything().
  bool poll();

  const std::vector<live::Change>& everything() const noexcept { return everything_; }
  std::uint64_t revision() const noexcept { return revision_; }
  bool loaded() const noexcept { return loaded_; }

 private:
  bool load(std::int64_t modified_s);
  bool fits(const conf::StandaloneItem& item);
  void put_in_force(const conf::StandaloneDocument& document, std::uint64_t modified_s);

  FileSource source_;
  Image& image_;
  Checker& checker_;
  std::int64_t seen_ns_ = -1;
  bool absent_told_ = false;
  bool loaded_ = false;
  std::uint64_t revision_ = 0;
  std::vector<live::Change> everything_;
};

}  // namespace sluice::admin
