// Whose budget a request uses: the key of a limiter, compiled once and resolved per request, and the place of its record.
//
// A variable that does not exist, or a combination of which nothing resolves, falls back to the client's address. An
// existing empty value is a key like others. Two places never share a record: keys are hashed with the owner (plugin and
// resource) and the version of the configuration, so a changed configuration starts afresh.
#pragma once

#include <string>
#include <string_view>

#include "plugins/sdk/compile_context.hpp"
#include "plugins/sdk/request_context.hpp"
#include "shm/hash.hpp"
#include "shm/owner_table.hpp"

namespace sluice::sdk {

enum class LimitKeyKind : unsigned char { variable, combination, constant };
LimitKeyKind limit_key_kind(std::string_view key_type) noexcept;   // "var", "var_combination", "constant"

class LimitKey {
 public:
  LimitKey() = default;
  LimitKey(LimitKeyKind kind, std::string_view text, CompileContext& context);

  // In the request's arena, or a text of the request or of this key.
  std::string_view resolve(RequestContext& ctx) const noexcept;

 private:
  LimitKeyKind kind_ = LimitKeyKind::constant;
  std::string text_;
  Variable variable_;
  Template combination_;
};

// A configured limiter's place in shared memory.
class LimitPlace {
 public:
  LimitPlace() = default;
  // Owner "<plugin>|<resource key>" and version of the configuration; with a group, owner "<plugin>|group/<group>" and
  // no version. Interns the owner, but in a dry run.
  LimitPlace(std::string_view plugin, const CompileContext& context, std::string_view group = {});

  shm::Catalog& catalog() const noexcept { return *catalog_; }
  shm::OwnerId owner() const noexcept { return owner_; }
  int worker_slot() const noexcept { return worker_slot_; }
  // `salt` keeps records of different meaning apart (kind of window, rule of a workflow).
  shm::Key key(std::string_view raw, std::uint64_t salt = 0) const noexcept {
    return shm::KeyHasher(seed_).add(owner_.tag).add(version_).add(salt).add(raw).finish();
  }
  // "<resource key>:<version>:<raw>" or "<group>:<raw>", as logs show it.
  std::string_view full_key(RequestContext& ctx, std::string_view raw) const noexcept {
    return ctx.arena.concat({prefix_, raw});
  }

 private:
  shm::Catalog* catalog_ = nullptr;
  shm::OwnerId owner_;
  shm::Seed seed_;
  std::uint64_t version_ = 0;
  std::string prefix_;
  int worker_slot_ = -1;
};

}  // namespace sluice::sdk
