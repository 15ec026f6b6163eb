// Every plugin's page and cases, checked against its code: the attribute table of README.md names the members of the
// schema with their defaults, the page's JSON examples are valid configurations, and cases.json has the messages.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "conf/base/text.hpp"
#include "plugins/sdk/registry.hpp"

using namespace sluice;

namespace {

std::string folder_of(const sdk::PluginType& type) {
  return std::string(SLUICE_SOURCE_DIR) + "/plugins/" + std::string(type.traits.name);
}

std::string read_file(const std::string& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

struct Attribute {
  bool required = false;
  std::string default_text;
  friend bool operator==(const Attribute&, const Attribute&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Attribute& a) {
    return out << (a.required ? "required" : "optional") << " default '" << a.default_text << "'";
  }
};
using Attributes = std::map<std::string, Attribute>;

// Members of the published schema, those of inner objects as `a.b`, of arrays' items as `a[].b`.
void collect(const Json& node, const std::string& prefix, Attributes& out) {
  const Json* properties = find(node, "properties");
  if (properties == nullptr) return;
  for (const auto& m : properties->GetObject()) {
    const std::string name = prefix + std::string(text_of(m.name));
    Attribute a;
    if (const Json* required = find(node, "required"))
      for (const auto& r : required->GetArray()) a.required |= text_of(r) == text_of(m.name);
    if (const Json* value = find(m.value, "default"))
      a.default_text = value->IsString() ? text_of(*value) : to_json(*value);
    out[name] = a;
    collect(m.value, name + ".", out);
    if (const Json* items = find(m.value, "items")) collect(*items, name + "[].", out);
  }
}

// A row's cells; `\|` stays inside a cell.
std::vector<std::string> cells(std::string_view line) {
  std::vector<std::string> out(1);
  for (std::size_t i = 1; i < line.size(); ++i) {
    if (line[i] == '|' && line[i - 1] != '\\')
      out.emplace_back();
    else
      out.back().push_back(line[i]);
  }
  for (auto& cell : out) {
    std::string_view text = text::trim(cell);
    if (text.size() >= 2 && text.front() == '`' && text.back() == '`') text = text.substr(1, text.size() - 2);
    cell = std::string(text);
  }
  return out;
}

// The first table below "## Attributes".
Attributes documented(const std::string& page) {
  Attributes out;
  std::istringstream lines(page.substr(std::min(page.size(), page.find("## Attributes"))));
  std::map<std::string, std::size_t> column;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("|")) {
      if (!out.empty()) break;
      continue;
    }
    const auto row = cells(line);
    if (column.empty()) {
      for (std::size_t i = 0; i < row.size(); ++i) column[text::to_lower(row[i])] = i;
    } else if (!row[0].starts_with("---")) {
      Attribute a;
      a.required = column.contains("required") && row[column["required"]] == "yes";
      if (column.contains("default")) a.default_text = row[column["default"]];
      out[row[column["name"]]] = a;
    }
  }
  return out;
}

std::vector<std::string> json_examples(const std::string& page) {
  std::vector<std::string> out;
  for (std::size_t at = 0; (at = page.find("```json\n", at)) != std::string::npos;) {
    at += 8;
    const auto end = page.find("```", at);
    out.push_back(page.substr(at, end - at));
    at = end;
  }
  return out;
}

std::string message_for(const sdk::PluginType& type, const Json& conf) {
  JsonDoc copy;
  copy.CopyFrom(conf, copy.GetAllocator());
  return type.check(copy, copy.GetAllocator());
}

}  // namespace

TEST_CASE("each plugin's page names its attributes as the schema has them", "[plugins][pages]") {
  for (const auto& type : sdk::all_plugins()) {
    INFO("plugin " << type.traits.name);
    const std::string page = read_file(folder_of(type) + "/README.md");
    REQUIRE_FALSE(page.empty());
    Attributes expected;
    collect(schema::to_json_schema(*type.schema), "", expected);
    const Attributes found = documented(page);
    for (const auto& [name, attribute] : expected) {
      INFO("attribute " << name);
      REQUIRE(found.contains(name));
      CHECK(found.at(name) == attribute);
    }
    for (const auto& [name, attribute] : found) {
      INFO("documented " << name);
      CHECK(expected.contains(name));
    }
  }
}

TEST_CASE("each plugin's examples are valid configurations", "[plugins][pages]") {
  for (const auto& type : sdk::all_plugins()) {
    for (const std::string& example : json_examples(read_file(folder_of(type) + "/README.md"))) {
      INFO("plugin " << type.traits.name << ": " << example);
      auto conf = parse_json(example);
      REQUIRE(conf.has_value());
      CHECK(message_for(type, *conf) == "");
    }
  }
}

TEST_CASE("each plugin's cases give their messages", "[plugins][pages]") {
  for (const auto& type : sdk::all_plugins()) {
    INFO("plugin " << type.traits.name);
    auto cases = parse_json(read_file(folder_of(type) + "/cases.json"));
    REQUIRE(cases.has_value());
    for (const auto& one : cases->GetArray()) {
      const Json* conf = find(one, "conf");
      const Json* error = find(one, "error");
      INFO(to_json(one));
      REQUIRE(conf != nullptr);
      CHECK(message_for(type, *conf) == (error == nullptr ? std::string() : std::string(text_of(*error))));
    }
  }
}
