// Reading of the node file: bytes -> document -> substitution -> sections -> checks. See node_config.hpp.
#include "conf/node_config.hpp"

#include <sys/stat.h>

#include <fstream>
#include <sstream>

#include "conf/environment.hpp"
#include "conf/node_reader.hpp"

namespace sluice::conf {
namespace {

constexpr YamlLimits kLimits{.max_bytes = 4u << 20, .max_depth = 32, .max_values = 100'000};

Result<std::string> read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  struct stat info {};
  if (!in || ::stat(path.c_str(), &info) != 0) return Error{Errc::io, path, "cannot be read", "config", false};
  if (!S_ISREG(info.st_mode)) return Error{Errc::io, path, "is not a regular file", "config", false};
  if (static_cast<std::uint64_t>(info.st_size) > kLimits.max_bytes)
    return Error{Errc::too_large, path, "is larger than 4 MiB", "config", false};
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::string profile_file(const std::string& folder, const std::string& stem, const Environment& env) {
  const auto profile = env("APISIX_PROFILE");
  return folder + "/" + stem + (profile && !profile->empty() ? "-" + *profile : "") + ".yaml";
}

Result<NodeConfig> from_document(const Json& document, const YamlLines& lines, const std::string& name,
                                 const Environment& env) {
  Reader in(document, lines, name);
  NodeConfig out;
  out.file = name;
  read_deployment(in, out, env);
  read_apisix(in, out);
  read_nginx_config(in, out, env);
  read_plugins(in, out);
  read_own(in, out);
  in.check_sections();
  check_ports(in, out);
  say_without_effect(in);
  if (in.failed()) return invalid(in.error());
  in.find_unknown();
  out.warnings = std::move(in.warnings());
  out.notices = std::move(in.notices());
  out.raw = schema::JsonCopy(document);
  return out;
}

}  // namespace

std::optional<int> NodeConfig::worker_processes() const {
  if (apisix.dev_mode) return 1;
  return sluice.worker_processes_given ? sluice.worker_processes : nginx.worker_processes;
}

std::uint64_t NodeConfig::shared_dict_size(const std::string& name, std::uint64_t fallback) const {
  for (const auto* sizes : {&sluice.shared_dict, &nginx.shared_dict})
    if (const auto it = sizes->find(name); it != sizes->end()) return it->second;
  return fallback;
}

Result<NodeConfig> parse_node_config(std::string_view yaml, std::string_view name, const Environment& env) {
  YamlLines lines;
  auto document = parse_yaml(yaml, kLimits, &lines);
  if (!document) return invalid("failed to parse the file: " + document.error().message(), std::string(name));
  if (document->IsNull()) document->SetObject();
  if (!document->IsObject())
    return invalid("failed to parse the file: expected sections such as `apisix:` at the top, found a single value",
                   std::string(name));
  if (auto done = substitute_values(*document, document->GetAllocator(), env); !done)
    return invalid("failed to handle configuration: " + done.error().message());
  return from_document(*document, lines, std::string(name), env);
}

Result<NodeConfig> load_node_config(const std::string& path, const Environment& env) {
  if (path.empty()) return parse_node_config("", "built-in defaults", env);
  std::string file = path;
  struct stat info {};
  if (::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) {
    file = profile_file(path, "config", env);
  } else if (const auto slash = path.rfind('/'); path.substr(slash + 1) == "config.yaml") {
    file = profile_file(slash == std::string::npos ? "." : path.substr(0, slash), "config", env);
  }
  auto text = read_file(file);
  if (!text) return text.error();
  return parse_node_config(*text, file, env);
}

}  // namespace sluice::conf
