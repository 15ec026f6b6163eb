// Reader: typed access to the parsed node file, with one voice for what is wrong.
//
// Each accessor looks a dotted path up, checks the type, leaves `out` alone when the path is absent or null, and
// remembers the path as known. The first mistake wins. Afterwards unknown() names every member that nobody asked for,
// with the nearest known name beside it. Messages never show values of the wrong type (they may be secrets).
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "conf/base/json.hpp"
#include "conf/base/yaml.hpp"
#include "conf/node_config.hpp"

namespace sluice::conf {

class Reader {
 public:
  Reader(const Json& document, const YamlLines& lines, std::string file)
      : document_(document), lines_(lines), file_(std::move(file)) {}

  // The value, or nullptr. The path becomes known; with `open`, everything below it too.
  const Json* value(const std::string& path, bool open = false);
  bool given(const std::string& path) { return value(path) != nullptr; }
  bool is_null(const std::string& path) {
    const Json* v = value(path);
    return v != nullptr && v->IsNull();
  }

  void boolean(const std::string& path, bool& out);
  void on_off(const std::string& path, bool& out);        // also "on" and "off"
  void text(const std::string& path, std::string& out);
  void text_or_number(const std::string& path, std::string& out);
  void number(const std::string& path, double& out, double least);
  void duration(const std::string& path, milliseconds& out);
  void size(const std::string& path, std::uint64_t& out);
  void texts(const std::string& path, std::vector<std::string>& out);   // null: becomes empty
  void choice(const std::string& path, std::string& out, const std::vector<std::string>& allowed);

  template <class Int>
  void integer(const std::string& path, Int& out, std::int64_t least, std::int64_t most) {
    std::int64_t wide = static_cast<std::int64_t>(out);
    integer_wide(path, wide, least, most);
    out = static_cast<Int>(wide);
  }

  // Known, without effect here.
  void accept(std::initializer_list<const char*> paths) {
    for (const char* p : paths) value(p, true);
  }
  // Members of an object with values that sizes can be read from.
  void sizes(const std::string& path, std::map<std::string, std::uint64_t>& out);

  void fail(const std::string& path, const std::string& expected_and_found);          // range, choice
  void fail_type(const std::string& path, const char* expected, const Json& found);   // type
  void fail_plain(std::string message);
  void warn(std::string message) { warnings_.push_back(std::move(message)); }
  void notice(std::string message) { notices_.push_back(std::move(message)); }

  bool failed() const noexcept { return !error_.empty(); }
  const std::string& error() const noexcept { return error_; }
  // "config.yaml line 12"
  std::string place(const std::string& path) const;

  void check_sections();  // a section that is no table is a mistake
  void find_unknown();    // appends to warnings()
  std::vector<std::string>& warnings() noexcept { return warnings_; }
  std::vector<std::string>& notices() noexcept { return notices_; }

 private:
  void integer_wide(const std::string& path, std::int64_t& out, std::int64_t least, std::int64_t most);
  void find_unknown_below(const Json& value, const std::string& path);

  const Json& document_;
  const YamlLines& lines_;
  std::string file_;
  std::set<std::string> known_;     // asked for, and every prefix of it
  std::set<std::string> sections_;  // prefixes: must be tables
  std::set<std::string> open_;
  std::string error_;
  std::vector<std::string> warnings_, notices_;
};

// The sections, each reading its part into the struct.
void read_deployment(Reader& in, NodeConfig& out, const Environment& env);
void read_apisix(Reader& in, NodeConfig& out);
void read_ssl(Reader& in, NodeConfig& out);
void read_stream_proxy(Reader& in, NodeConfig& out);
void read_proxy_cache(Reader& in, NodeConfig& out);
void read_nginx_config(Reader& in, NodeConfig& out, const Environment& env);
void read_own(Reader& in, NodeConfig& out);
void read_plugins(Reader& in, NodeConfig& out);
void check_ports(Reader& in, const NodeConfig& out);
void say_without_effect(Reader& in);

// Built-in values that are too long for an initialiser.
std::vector<std::string> default_plugins();
std::vector<std::string> default_stream_plugins();
const Json& default_plugin_attr();
std::string default_access_log_format();
std::string default_stream_access_log_format();
std::string default_ciphers();

// A listener from `{ip, port}`-like members; "127.0.0.1:9091" for addresses in one text.
bool parse_listen_address(std::string_view text, Listen& out);

}  // namespace sluice::conf
