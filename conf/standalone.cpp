// Reading of the standalone document: see standalone.hpp.
#include "conf/standalone.hpp"

#include <algorithm>
#include <unordered_map>

#include "conf/base/text.hpp"
#include "conf/base/yaml.hpp"
#include "conf/environment.hpp"

namespace sluice::conf {
namespace {

constexpr std::string_view kEndFlag = "#END";

// The flag, followed by nothing but blanks, within the last ten bytes.
bool has_end_flag(std::string_view text) noexcept {
  const std::string_view tail = text.substr(text.size() > 10 ? text.size() - 10 : 0);
  const auto at = tail.rfind(kEndFlag);
  return at != std::string_view::npos && text::trim(tail.substr(at + kEndFlag.size())).empty();
}

bool id_required(Kind kind) noexcept {
  return kind == Kind::global_rule || kind == Kind::plugin_config || kind == Kind::consumer_group ||
         kind == Kind::plugin_metadata || kind == Kind::secret;
}

class Collector {
 public:
  explicit Collector(StandaloneDocument& out) : out_(out) {}

  void section(Kind kind, const Json& list) {
    if (list.IsNull()) return;
    if (!list.IsArray()) {
      out_.errors.push_back({kind, "", 0, "expected a list, found " + std::string(type_name(list))});
      return;
    }
    for (rapidjson::SizeType i = 0; i < list.Size(); ++i) item(kind, list[i], i);
  }

  // Of items with one id only the last stays.
  void finish() {
    std::erase_if(out_.items, [](const StandaloneItem& i) { return !i.value; });
  }

 private:
  void item(Kind kind, const Json& value, std::size_t index) {
    if (!value.IsObject()) {
      out_.errors.push_back({kind, "", index, "expected an object, found " + std::string(type_name(value))});
      return;
    }
    StandaloneItem item;
    item.kind = kind;
    item.index = index;
    item.id = id_of(kind, value, index);
    if (item.id.empty()) {
      out_.errors.push_back({kind, "", index, "property \"id\" is required"});
      return;
    }
    if (kind == Kind::consumer && item.id.find("/credentials/") != std::string::npos) item.kind = Kind::credential;
    if (const Json* modified = find(value, "modifiedIndex"); modified != nullptr && modified->IsUint64())
      item.modified = modified->GetUint64();
    item.value = without_index(value);
    keep(std::move(item));
  }

  static std::string id_of(Kind kind, const Json& value, std::size_t index) {
    std::string id, username;
    if (const Json* v = find(value, "id")) id = id_text(*v);
    if (const Json* v = find(value, "username")) username = id_text(*v);
    // A consumer is known by its name; an item of `consumers` with a nested id is a credential.
    if (kind == Kind::consumer && !username.empty() && id.find("/credentials/") == std::string::npos) return username;
    if (!id.empty()) return id;
    if (!username.empty()) return username;
    return id_required(kind) ? std::string() : "arr_" + std::to_string(index + 1);
  }

  static schema::JsonCopy without_index(const Json& value) {
    if (find(value, "modifiedIndex") == nullptr) return schema::JsonCopy(value);
    JsonDoc copy;
    static_cast<Json&>(copy) = copy_json(value, copy.GetAllocator());
    copy.RemoveMember("modifiedIndex");
    return schema::JsonCopy(copy);
  }

  void keep(StandaloneItem item) {
    const std::string key = join_key(item.kind, item.id);
    const auto [place, fresh] = places_.emplace(key, out_.items.size());
    if (!fresh) {
      StandaloneItem& old = out_.items[place->second];
      out_.errors.push_back({item.kind, item.id, old.index,
                             "found duplicate id " + item.id + " in " + std::string(info(item.kind).collection) +
                                 "; the later one is in force"});
      old.value = {};
      place->second = out_.items.size();
    }
    out_.items.push_back(std::move(item));
  }

  StandaloneDocument& out_;
  std::unordered_map<std::string, std::size_t> places_;
};

void read_plugin_section(const Json& list, StandaloneDocument& out) {
  out.has_plugins = true;
  if (!list.IsArray()) {
    out.errors.push_back({Kind::plugins, "", 0, "expected a list, found " + std::string(type_name(list))});
    return;
  }
  for (rapidjson::SizeType i = 0; i < list.Size(); ++i) {
    const Json* name = find(list[i], "name");
    const Json* stream = find(list[i], "stream");
    if (name == nullptr || text_of(*name).empty())
      out.errors.push_back({Kind::plugins, "", i, "property \"name\" is required"});
    else
      out.plugins.emplace_back(std::string(text_of(*name)), stream != nullptr && stream->IsTrue());
  }
}

}  // namespace

Result<StandaloneDocument> read_standalone(const Json& document) {
  StandaloneDocument out;
  if (document.IsNull()) return out;
  if (!document.IsObject())
    return invalid("expected sections such as `routes:` at the top, found " + std::string(type_name(document)));
  Collector collector(out);
  for (const auto& m : document.GetObject()) {
    const std::string_view name = text_of(m.name);
    const auto kind = kind_of_collection(name);
    if (kind == Kind::plugins) {
      if (!m.value.IsNull()) read_plugin_section(m.value, out);
    } else if (kind && info(*kind).in_standalone) {
      collector.section(*kind, m.value);
    } else if (!name.ends_with("_conf_version")) {
      out.unknown_sections.emplace_back(name);
    }
  }
  collector.finish();
  return out;
}

Result<StandaloneDocument> parse_standalone(std::string_view text, std::string_view path, const Environment& env,
                                            const StandaloneOptions& options) {
  const bool yaml = options.format == StandaloneFormat::yaml;
  if (yaml && options.needs_end_flag && !has_end_flag(text))
    return invalid("missing valid end flag in file " + std::string(path));
  std::string replaced;
  if (yaml && options.substitute) {
    auto done = substitute_text(text, env);
    if (!done) return invalid("failed to handle configuration: " + done.error().message(), std::string(path));
    replaced = std::move(*done);
    text = replaced;
  }
  auto document = yaml ? parse_yaml(text) : parse_json(text);
  if (!document)
    return invalid("failed to parse the content of file " + std::string(path) + ": " + document.error().message());
  if (!yaml && options.substitute)
    if (auto done = substitute_values(*document, document->GetAllocator(), env); !done)
      return invalid("failed to handle configuration: " + done.error().message(), std::string(path));
  return read_standalone(*document);
}

}  // namespace sluice::conf
