// Plugin tests without a gateway: check and compile a configuration as the registry does, and drive its handlers over a
// request that the test describes. Header-only; a Kit owns the request and may be used for one request only.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "conf/base/text.hpp"
#include "plugins/sdk/plugin.hpp"

namespace sluice::test {

// What the reference's Admin API would say after "err: "; empty when the configuration is accepted.
template <class P>
std::string check_message(std::string_view json) {
  auto doc = parse_json(json);
  if (!doc) return "test: " + doc.error().reason;
  return sdk::make_plugin_type<P>().check(*doc, doc->GetAllocator());
}

template <class P>
Result<sdk::PluginInstance> configured(std::string_view json, const sdk::PluginHost& host = {},
                                       const std::string& resource = "/apisix/routes/1",
                                       const std::string& version = "1") {
  auto doc = parse_json(json);
  if (!doc) return doc.error();
  static const sdk::PluginType type = sdk::make_plugin_type<P>();
  if (std::string message = type.check(*doc, doc->GetAllocator()); !message.empty()) return invalid(message);
  sdk::CompileContext context(host, resource, version);
  auto made = type.compile(*doc, context);
  if (made) made->type = &type;
  return made;
}

// Collects what a body filter lets through.
class Collected : public sdk::BodySink {
 public:
  void write(std::string_view octets) noexcept override { text += octets; }
  std::string text;
};

// Consumers by plugin and key, as the live tables would know them.
class FakeConsumers : public sdk::ConsumerIndex {
 public:
  void add(const std::string& name, const std::string& plugin, const std::string& key,
           const std::string& credential = {}, std::shared_ptr<const void> secret = nullptr) {
    auto who = by_name(name);
    if (!who) {
      auto made = sdk::make_ref<sdk::Consumer>();
      made->name = name;
      names_[name] = made;
    }
    if (!plugin.empty()) identities_[plugin + "\n" + key] = sdk::Identity{names_[name], credential, std::move(secret)};
  }
  const sdk::Identity* find(std::string_view plugin, std::string_view key) const noexcept override {
    const auto at = identities_.find(std::string(plugin) + "\n" + std::string(key));
    return at == identities_.end() ? nullptr : &at->second;
  }
  sdk::Ref<const sdk::Consumer> by_name(std::string_view name) const noexcept override {
    const auto at = names_.find(std::string(name));
    return at == names_.end() ? sdk::Ref<const sdk::Consumer>() : at->second;
  }

 private:
  std::map<std::string, sdk::Ref<const sdk::Consumer>> names_;
  std::map<std::string, sdk::Identity> identities_;
};

// A request. `target` as on the request line; the path is decoded here, nothing else is normalised.
class Kit {
 public:
  explicit Kit(std::string_view target = "/hello", std::string_view method = "GET") {
    ctx.method = ctx.arena.copy(method);
    ctx.target = ctx.arena.copy(target);
    const auto mark = ctx.target.find('?');
    ctx.path = ctx.arena.copy(text::percent_decode(ctx.target.substr(0, mark)));
    ctx.has_query = mark != std::string_view::npos;
    if (ctx.has_query) ctx.query = ctx.target.substr(mark + 1);
    host("localhost");
    from("127.0.0.1");
  }
  Kit& header(std::string_view name, std::string_view value) {
    ctx.request_headers.add(ctx.arena.copy(name), ctx.arena.copy(value));
    return *this;
  }
  Kit& host(std::string_view authority) {
    ctx.authority = ctx.arena.copy(authority);
    ctx.host = ctx.authority.substr(0, ctx.authority.find(':'));
    return *this;
  }
  Kit& from(std::string_view ip) {
    ctx.client_text = ctx.arena.copy(ip);
    ctx.client_address = parse_ip(ip).value_or(IpAddress{});
    ctx.peer_text = ctx.client_text;
    ctx.peer_address = ctx.client_address;
    return *this;
  }
  Kit& answer(std::uint16_t status) {
    ctx.status = status;
    return *this;
  }
  Kit& answer_header(std::string_view name, std::string_view value) {
    ctx.response_headers.add(ctx.arena.copy(name), ctx.arena.copy(value));
    return *this;
  }

  // Views into a plugin stay good for as long as the kit lives, as the exchange sees to in the gateway.
  sdk::Verdict rewrite(const sdk::PluginInstance& p) { return p.rewrite(kept(p), ctx); }
  sdk::Verdict access(const sdk::PluginInstance& p) { return p.access(kept(p), ctx); }
  void header_filter(const sdk::PluginInstance& p) { p.header_filter(kept(p), ctx); }
  void log(const sdk::PluginInstance& p) { p.log(kept(p), ctx); }
  std::string body(const sdk::PluginInstance& p, const std::vector<std::string>& chunks) {
    Collected sink;
    for (std::size_t i = 0; i < chunks.size(); ++i)
      p.body_filter(kept(p), ctx, {chunks[i], i + 1 == chunks.size()}, sink);
    return sink.text;
  }

  // All values of a field, each followed by '|'; empty: not there.
  static std::string all(const sdk::HeaderList& list, std::string_view name) {
    std::string joined;
    for (const auto& f : list)
      if (sdk::same_field(f.name, name)) joined += std::string(f.value) + "|";
    return joined;
  }
  std::string sent_up(std::string_view name) const { return all(ctx.request_headers, name); }
  std::string sent_down(std::string_view name) const { return all(ctx.response_headers, name); }
  std::string reply() const { return ctx.reply.has_body ? std::string(ctx.reply.body) : "(none)"; }

  sdk::RequestContext ctx;

 private:
  const void* kept(const sdk::PluginInstance& p) {
    plugins_.push_back(p.self);
    return p.self.get();
  }
  std::vector<std::shared_ptr<const void>> plugins_;
};

}  // namespace sluice::test
