// The standalone document: all resources in one YAML or JSON text (apisix.yaml, apisix.json, `configs` of the Admin API).
//
// Parsing gives a flat list of items; what an item means is decided by the model and the plugins. An item that is broken
// in itself (no object, no id where one is needed) is reported and left out, the others stay.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "conf/base/json.hpp"
#include "conf/base/result.hpp"
#include "conf/model/kinds.hpp"
#include "conf/node_config.hpp"
#include "conf/schema/json_copy.hpp"

namespace sluice::conf {

struct StandaloneItem {
  Kind kind = Kind::route;
  std::string id;                             // "1"; "jack/credentials/a"; "vault/1"; plugin name
  schema::JsonCopy value;                     // an object
  std::size_t index = 0;                      // place in its section, from 0
  std::optional<std::uint64_t> modified;      // modifiedIndex of its own
};

struct StandaloneError {
  Kind kind = Kind::route;
  std::string id;                             // empty: none
  std::size_t index = 0;
  std::string message;
};

struct StandaloneDocument {
  std::vector<StandaloneItem> items;          // in document order; of equal (kind, id) only the last
  std::vector<StandaloneError> errors;        // also: "found duplicate id …" for the ones that lost (kept as warnings)
  std::vector<std::string> unknown_sections;
  bool has_plugins = false;                   // a `plugins` section is there
  std::vector<std::pair<std::string, bool>> plugins;  // name, stream
};

enum class StandaloneFormat : std::uint8_t { yaml, json };

struct StandaloneOptions {
  StandaloneFormat format = StandaloneFormat::yaml;
  bool needs_end_flag = true;                 // YAML files must end with #END
  bool substitute = true;                     // ${{NAME}}
};

// Error: unparsable, `missing valid end flag in file <path>`, an unset variable.
Result<StandaloneDocument> parse_standalone(std::string_view text, std::string_view path, const Environment& env,
                                            const StandaloneOptions& options);
Result<StandaloneDocument> read_standalone(const Json& document);

}  // namespace sluice::conf
