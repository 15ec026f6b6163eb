// yaml-cpp behind yaml.hpp. yaml-cpp guards its own recursion; its graph shares aliased nodes, so the danger is in
// walking it, which is where depth and number of values are counted.
#include "conf/base/yaml.hpp"

#include <yaml-cpp/yaml.h>

#include <charconv>
#include <cmath>
#include <optional>

#include "conf/base/text.hpp"

namespace sluice {
namespace {

bool is_one_of(std::string_view s, std::initializer_list<std::string_view> words) noexcept {
  for (auto w : words)
    if (s == w) return true;
  return false;
}

std::optional<std::int64_t> integer_of(std::string_view s) noexcept {
  const bool negative = !s.empty() && s.front() == '-';
  if (!s.empty() && (s.front() == '-' || s.front() == '+')) s.remove_prefix(1);
  int base = 10;
  if (s.size() > 2 && s[0] == '0' && (s[1] == 'x' || s[1] == 'o')) {
    base = s[1] == 'x' ? 16 : 8;
    s.remove_prefix(2);
  }
  if (s.empty() || text::hex_value(s.front()) < 0) return std::nullopt;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), value, base);
  if (error != std::errc() || end != s.data() + s.size()) return std::nullopt;
  return negative ? -value : value;
}

std::optional<double> float_of(std::string_view s) noexcept {
  if (!s.empty() && s.front() == '+') s.remove_prefix(1);
  const std::string_view digits = !s.empty() && s.front() == '-' ? s.substr(1) : s;
  if (digits.empty() || !(text::is_digit(digits.front()) || digits.front() == '.')) return std::nullopt;
  const auto value = text::to_double(s);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

class Walker {
 public:
  Walker(const YamlLimits& limits, YamlLines* lines, JsonDoc::AllocatorType& alloc)
      : limits_(limits), lines_(lines), alloc_(alloc) {}

  // Empty on success.
  std::string walk(const YAML::Node& node, Json& out, const std::string& path, unsigned depth) {
    if (++values_ > limits_.max_values)
      return "more than " + std::to_string(limits_.max_values) + " values (aliases included)";
    if (depth > limits_.max_depth) return "nested deeper than " + std::to_string(limits_.max_depth) + " levels";
    switch (node.Type()) {
      case YAML::NodeType::Scalar:
        return scalar(node, out);
      case YAML::NodeType::Sequence:
        return sequence(node, out, path, depth);
      case YAML::NodeType::Map:
        return mapping(node, out, path, depth);
      default:
        out.SetNull();
        return {};
    }
  }

 private:
  std::string scalar(const YAML::Node& node, Json& out) {
    const std::string& s = node.Scalar();
    bytes_ += s.size();
    if (bytes_ > limits_.max_bytes) return "more text than allowed (aliases included)";
    const std::string& tag = node.Tag();
    const bool typed = tag == "?" || tag.empty();
    if (typed && is_one_of(s, {"", "~", "null", "Null", "NULL"})) {
      out.SetNull();
    } else if (typed && is_one_of(s, {"true", "True", "TRUE"})) {
      out.SetBool(true);
    } else if (typed && is_one_of(s, {"false", "False", "FALSE"})) {
      out.SetBool(false);
    } else if (const auto i = typed ? integer_of(s) : std::nullopt) {
      out.SetInt64(*i);
    } else if (const auto d = typed ? float_of(s) : std::nullopt) {
      out.SetDouble(*d);
    } else {
      out.SetString(s.data(), static_cast<rapidjson::SizeType>(s.size()), alloc_);
    }
    return {};
  }

  std::string sequence(const YAML::Node& node, Json& out, const std::string& path, unsigned depth) {
    out.SetArray();
    std::size_t index = 0;
    for (const auto& item : node) {
      const std::string at = child_path(path, std::to_string(index++));
      note(at, item.Mark());
      Json value;
      if (std::string error = walk(item, value, at, depth + 1); !error.empty()) return error;
      out.PushBack(value, alloc_);
    }
    return {};
  }

  std::string mapping(const YAML::Node& node, Json& out, const std::string& path, unsigned depth) {
    out.SetObject();
    for (const auto& member : node) {
      if (!member.first.IsScalar()) return "line " + line_text(member.first.Mark()) + ": a key must be a scalar";
      const std::string& key = member.first.Scalar();
      if (key == "<<" && member.first.Tag() == "?")
        return "line " + line_text(member.first.Mark()) + ": merge keys (<<) are not supported";
      bytes_ += key.size();
      const std::string at = child_path(path, key);
      note(at, member.first.Mark());
      Json value;
      if (std::string error = walk(member.second, value, at, depth + 1); !error.empty()) return error;
      out.AddMember(Json(key.data(), static_cast<rapidjson::SizeType>(key.size()), alloc_), value, alloc_);
    }
    return {};
  }

  std::string child_path(const std::string& path, const std::string& name) const {
    if (lines_ == nullptr) return {};
    return path.empty() ? name : path + "." + name;
  }
  void note(const std::string& path, const YAML::Mark& mark) {
    if (lines_ != nullptr) (*lines_)[path] = mark.line + 1;
  }
  static std::string line_text(const YAML::Mark& mark) { return std::to_string(mark.line + 1); }

  const YamlLimits& limits_;
  YamlLines* lines_;
  JsonDoc::AllocatorType& alloc_;
  std::size_t values_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace

Result<JsonDoc> parse_yaml(std::string_view text, const YamlLimits& limits, YamlLines* lines) {
  if (text.size() > limits.max_bytes)
    return Error{Errc::too_large,
                 {},
                 "YAML text of " + std::to_string(text.size()) + " bytes is over the limit of " +
                     std::to_string(limits.max_bytes),
                 "yaml",
                 false};
  if (!text::valid_utf8(text)) return invalid("the text is not valid UTF-8");
  try {
    const YAML::Node root = YAML::Load(std::string(text));
    JsonDoc doc;
    Walker walker(limits, lines, doc.GetAllocator());
    Json value;
    if (std::string error = walker.walk(root, value, "", 0); !error.empty()) return invalid(std::move(error));
    fold_duplicate_members(value, doc.GetAllocator());
    static_cast<Json&>(doc) = value;
    return doc;
  } catch (const YAML::Exception& e) {
    if (e.mark.is_null()) return invalid(e.msg);
    return invalid("line " + std::to_string(e.mark.line + 1) + ", column " + std::to_string(e.mark.column + 1) + ": " +
                   e.msg);
  } catch (const std::exception& e) {
    return invalid(e.what());
  }
}

}  // namespace sluice
