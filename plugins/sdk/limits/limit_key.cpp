#include "plugins/sdk/limits/limit_key.hpp"

#include "conf/base/text.hpp"
#include "shm/catalog.hpp"

namespace sluice::sdk {

LimitKeyKind limit_key_kind(std::string_view key_type) noexcept {
  if (key_type == "var_combination") return LimitKeyKind::combination;
  if (key_type == "constant") return LimitKeyKind::constant;
  return LimitKeyKind::variable;
}

LimitKey::LimitKey(LimitKeyKind kind, std::string_view text, CompileContext& context) : kind_(kind), text_(text) {
  if (kind_ == LimitKeyKind::variable) variable_ = context.variable(text);
  if (kind_ == LimitKeyKind::combination) combination_ = context.text(text);
}

std::string_view LimitKey::resolve(RequestContext& ctx) const noexcept {
  switch (kind_) {
    case LimitKeyKind::constant: return text_;
    case LimitKeyKind::variable: {
      const Value v = variable_.get(ctx);
      return v.exists() ? v.text : ctx.client_text;
    }
    case LimitKeyKind::combination: {
      const Template::Expansion e = combination_.expand(ctx);
      return e.resolved == 0 ? ctx.client_text : e.text;
    }
  }
  return ctx.client_text;
}

LimitPlace::LimitPlace(std::string_view plugin, const CompileContext& context, std::string_view group) {
  if (group.empty()) {
    version_ = text::to_int<std::uint64_t>(context.conf_version()).value_or(0);
    prefix_ = context.key_prefix();
  } else {
    prefix_ = std::string(group) + ":";
  }
  const PluginHost& host = context.host();
  worker_slot_ = host.worker_slot;
  catalog_ = host.catalog;
  if (host.dry_run || catalog_ == nullptr) return;
  seed_ = catalog_->seed();
  const std::string owner = std::string(plugin) + "|" +
                            (group.empty() ? context.resource_key() : "group/" + std::string(group));
  owner_ = catalog_->owners().intern(owner);
}

}  // namespace sluice::sdk
