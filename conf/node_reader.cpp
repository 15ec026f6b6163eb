// Typed access to the node file: see node_reader.hpp.
#include "conf/node_reader.hpp"

#include <cmath>
#include <limits>

#include "conf/base/text.hpp"

namespace sluice::conf {
namespace {

const char* lua_type(const Json& v) {
  if (v.IsObject() || v.IsArray()) return "table";
  if (v.IsNull()) return "nil";
  return type_name(v);
}

std::string arrows(const std::string& path) {
  std::string out;
  for (auto part : text::split(path, '.')) out += (out.empty() ? "" : "->") + std::string(part);
  return out;
}

bool is_integer(const Json& v, std::int64_t& out) {
  if (v.IsInt64()) {
    out = v.GetInt64();
    return true;
  }
  if (!v.IsDouble() || std::floor(v.GetDouble()) != v.GetDouble() || std::abs(v.GetDouble()) > 9e15) return false;
  out = static_cast<std::int64_t>(v.GetDouble());
  return true;
}

}  // namespace

const Json* Reader::value(const std::string& path, bool open) {
  for (std::size_t at = path.find('.'); at != std::string::npos; at = path.find('.', at + 1)) {
    known_.insert(path.substr(0, at));
    sections_.insert(path.substr(0, at));
  }
  known_.insert(path);
  if (open) open_.insert(path);
  const Json* v = &document_;
  for (auto part : text::split(path, '.')) {
    v = find(*v, part);
    if (v == nullptr) return nullptr;
  }
  return v;
}

std::string Reader::place(const std::string& path) const {
  const auto line = lines_.find(path);
  return line == lines_.end() ? file_ : file_ + " line " + std::to_string(line->second);
}

void Reader::fail_plain(std::string message) {
  if (error_.empty()) error_ = std::move(message);
}

void Reader::fail(const std::string& path, const std::string& expected_and_found) {
  fail_plain("failed to validate config: " + path + ": " + expected_and_found + " (" + place(path) + ")");
}

void Reader::fail_type(const std::string& path, const char* expected, const Json& found) {
  fail_plain("failed to merge, path[" + arrows(path) + "] expect: " + expected + ", but got: " + lua_type(found) +
             " (" + place(path) + ")");
}

void Reader::boolean(const std::string& path, bool& out) {
  const Json* v = value(path);
  if (v == nullptr || v->IsNull()) return;
  if (!v->IsBool()) return fail_type(path, "boolean", *v);
  out = v->GetBool();
}

void Reader::on_off(const std::string& path, bool& out) {
  const Json* v = value(path);
  if (v == nullptr || v->IsNull()) return;
  if (v->IsBool()) {
    out = v->GetBool();
  } else if (text_of(*v) == "on" || text_of(*v) == "off") {
    out = text_of(*v) == "on";
  } else {
    fail(path, "expected \"on\" or \"off\"");
  }
}

void Reader::text(const std::string& path, std::string& out) {
  const Json* v = value(path);
  if (v == nullptr || v->IsNull()) return;
  if (!v->IsString()) return fail_type(path, "string", *v);
  out = text_of(*v);
}

void Reader::text_or_number(const std::string& path, std::string& out) {
  const Json* v = value(path);
  if (v == nullptr || v->IsNull()) return;
  if (v->IsNumber())
    out = to_json(*v);
  else
    text(path, out);
}

void Reader::number(const std::string& path, double& out, double least) {
  const Json* v = value(path);
  if (v == nullptr || v->IsNull()) return;
  if (!v->IsNumber()) return fail_type(path, "number", *v);
  if (v->GetDouble() < least) return fail(path, "expected at least " + number_text(least) + ", found " + to_json(*v));
  out = v->GetDouble();
}

void Reader::integer_wide(const std::string& path, std::int64_t& out, std::int64_t least, std::int64_t most) {
  const Json* v = value(path);
  if (v == nullptr || v->IsNull()) return;
  if (!v->IsNumber()) return fail_type(path, "number", *v);
  std::int64_t n = 0;
  if (!is_integer(*v, n) || n < least || n > most)
    return fail(path, "expected an integer from " + std::to_string(least) + " to " + std::to_string(most) + ", found " +
                          to_json(*v));
  out = n;
}

void Reader::duration(const std::string& path, milliseconds& out) {
  const Json* v = value(path);
  if (v == nullptr || v->IsNull()) return;
  if (!v->IsNumber() && !v->IsString()) return fail_type(path, "string", *v);
  const auto parsed = parse_duration(v->IsNumber() ? to_json(*v) : std::string(text_of(*v)));
  if (!parsed) return fail(path, parsed.error().reason);
  out = *parsed;
}

void Reader::size(const std::string& path, std::uint64_t& out) {
  const Json* v = value(path);
  if (v == nullptr || v->IsNull()) return;
  if (!v->IsNumber() && !v->IsString()) return fail_type(path, "string", *v);
  const auto parsed = parse_size(v->IsNumber() ? to_json(*v) : std::string(text_of(*v)));
  if (!parsed) return fail(path, parsed.error().reason);
  out = *parsed;
}

void Reader::sizes(const std::string& path, std::map<std::string, std::uint64_t>& out) {
  const Json* v = value(path, true);
  if (v == nullptr || v->IsNull()) return;
  if (!v->IsObject()) return fail_type(path, "table", *v);
  for (const auto& m : v->GetObject()) {
    const std::string name(text_of(m.name));
    std::uint64_t bytes = 0;
    const auto parsed = m.value.IsNumber()   ? parse_size(to_json(m.value))
                        : m.value.IsString() ? parse_size(text_of(m.value))
                                             : Result<std::uint64_t>(invalid("expected a size such as 10m"));
    if (!parsed) return fail(path + "." + name, parsed.error().reason);
    bytes = *parsed;
    if (bytes == 0) return fail(path + "." + name, "expected a size above 0");
    out[name] = bytes;
  }
}

void Reader::texts(const std::string& path, std::vector<std::string>& out) {
  const Json* v = value(path);
  if (v == nullptr) return;
  if (v->IsNull()) return out.clear();
  if (!v->IsArray()) return fail_type(path, "table", *v);
  out.clear();
  for (rapidjson::SizeType i = 0; i < v->Size(); ++i) {
    const Json& item = (*v)[i];
    if (item.IsNumber()) {
      out.push_back(to_json(item));
    } else if (item.IsString()) {
      out.emplace_back(text_of(item));
    } else {
      return fail_type(path + "." + std::to_string(i), "string", item);
    }
  }
}

void Reader::choice(const std::string& path, std::string& out, const std::vector<std::string>& allowed) {
  std::string given;
  text(path, given);
  if (given.empty()) return;
  for (const auto& a : allowed) {
    if (a != given) continue;
    out = given;
    return;
  }
  std::string list;
  for (const auto& a : allowed) list += (list.empty() ? "\"" : ", \"") + a + "\"";
  const auto near = text::nearest(given, allowed);
  fail(path, "expected one of " + list + ", found \"" + given + "\"" +
                 (near.empty() ? "" : "; did you mean \"" + std::string(near) + "\"?"));
}

void Reader::check_sections() {
  const std::set<std::string> sections = sections_;
  for (const auto& path : sections)
    if (const Json* v = value(path); v != nullptr && !v->IsNull() && !v->IsObject() && !(v->IsArray() && v->Empty()))
      fail_type(path, "table", *v);
}

void Reader::find_unknown() { find_unknown_below(document_, ""); }

void Reader::find_unknown_below(const Json& object, const std::string& path) {
  if (!object.IsObject()) return;
  for (const auto& m : object.GetObject()) {
    const std::string name(text_of(m.name));
    const std::string at = path.empty() ? name : path + "." + name;
    if (open_.count(at) != 0) continue;
    if (known_.count(at) != 0) {
      find_unknown_below(m.value, at);
      continue;
    }
    std::vector<std::string> siblings;
    const std::string prefix = path.empty() ? path : path + ".";
    for (auto it = known_.lower_bound(prefix); it != known_.end() && it->compare(0, prefix.size(), prefix) == 0; ++it)
      if (it->find('.', prefix.size()) == std::string::npos) siblings.push_back(it->substr(prefix.size()));
    std::string message = "unknown key " + at + " (" + place(at) + ") is ignored";
    if (const auto near = text::nearest(name, siblings); !near.empty())
      message += "; did you mean " + prefix + std::string(near) + "?";
    warn(std::move(message));
  }
}

bool parse_listen_address(std::string_view text, Listen& out) {
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos) return false;
  std::string_view ip = text.substr(0, colon);
  const auto port = text::to_int<std::uint16_t>(text.substr(colon + 1));
  if (!port || *port == 0 || !parse_ip(ip)) return false;
  if (ip.front() == '[') ip = ip.substr(1, ip.size() - 2);
  out.ip = std::string(ip);
  out.port = *port;
  return true;
}

}  // namespace sluice::conf
