#include "admin/store/file_provider.hpp"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <set>
#include <sstream>

#include "admin/store/configuration.hpp"
#include "conf/base/log.hpp"

namespace sluice::admin {

namespace {
std::string_view section_of(conf::Kind kind) {
  return conf::info(kind == conf::Kind::credential ? conf::Kind::consumer : kind).collection;
}
}  // namespace

bool FileProvider::poll() {
  struct stat status {};
  if (::stat(source_.path.c_str(), &status) != 0) {
    if (!absent_told_) log::error("cannot read " + source_.shown + ": " + std::strerror(errno));
    absent_told_ = true;
    return false;
  }
  absent_told_ = false;
  const std::int64_t modified = std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec;
  if (modified == seen_ns_) return false;
  const bool first = seen_ns_ < 0;
  seen_ns_ = modified;
  if (!load(status.st_mtim.tv_sec)) return false;
  if (!first) log::warn("config file " + source_.shown + " reloaded.");
  return true;
}

bool FileProvider::load(std::int64_t modified_s) {
  std::ifstream in(source_.path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  if (!in) {
    log::error("cannot read " + source_.shown + "; the content read before stays in force");
    return false;
  }
  conf::StandaloneOptions options;
  options.format = source_.format;
  options.needs_end_flag = source_.format == conf::StandaloneFormat::yaml;
  const auto document = conf::parse_standalone(text.str(), source_.shown, source_.environment, options);
  if (!document) {
    log::error(document.error().message() + "; the content read before stays in force");
    return false;
  }
  for (const std::string& name : document->unknown_sections) log::warn(source_.shown + ": unknown section " + name);
  for (const auto& e : document->errors)
    log::error(source_.shown + ": failed to check item data of [" + std::string(section_of(e.kind)) +
               "] err:" + e.message);
  put_in_force(*document, static_cast<std::uint64_t>(modified_s));
  loaded_ = true;
  return true;
}

bool FileProvider::fits(const conf::StandaloneItem& item) {
  const Subject subject{item.kind, item.id, conf::join_key(item.kind, item.id)};
  const auto good = checker_.check_alone(subject, item.value.get(), false);
  if (!good)
    log::error(source_.shown + ": failed to check item data of [" + std::string(section_of(item.kind)) +
               "] err:" + good.error().message + " (" + subject.key + ", item " + std::to_string(item.index + 1) +
               " of its section, is left out)");
  return good.has_value();
}

void FileProvider::put_in_force(const conf::StandaloneDocument& document, std::uint64_t modified_s) {
  std::set<std::string> kept;
  // Metadata first: what plugins are checked against.
  for (const bool metadata : {true, false})
    for (const auto& item : document.items) {
      if (item.kind == conf::Kind::plugins || (item.kind == conf::Kind::plugin_metadata) != metadata || !fits(item))
        continue;
      auto object = std::make_shared<Object>();
      object->key = conf::join_key(item.kind, item.id);
      object->plain = JsonBox(item.value.get());
      object->modified = item.modified.value_or(modified_s);
      object->created = object->modified;
      kept.insert(object->key);
      image_.load(std::move(object));
    }
  std::vector<std::string> gone;
  everything_.clear();
  image_.each_committed("", [&](const Object& object) {
    if (!kept.contains(object.key))
      gone.push_back(object.key);
    else
      everything_.push_back(change_of(object.key, &object));
    return true;
  });
  for (const std::string& key : gone) image_.erase(key);
  ++revision_;
}

}  // namespace sluice::admin
