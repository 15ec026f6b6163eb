// PluginType, PluginInstance and the adapter that makes both from a plugin's class.
//
// A plugin is a class: an immutable value made once per configured place.
//
//   class Echo {
//    public:
//     struct Config { … };
//     static constexpr Traits kTraits{.name = "echo", .priority = 412};
//     static const schema::Table<Config>& table();                       // the field table
//     static Result<Echo> compile(Config, CompileContext&);              // binds dictionaries, variables, templates
//     Verdict rewrite(RequestContext&) const noexcept;                   // any of the phases; absent ones cost nothing
//     Verdict access(RequestContext&) const noexcept;
//     Verdict before_proxy(RequestContext&) const noexcept;
//     void header_filter(RequestContext&) const noexcept;
//     void body_filter(RequestContext&, const BodyChunk&, BodySink&) const noexcept;
//     void log(RequestContext&) const noexcept;
//     BodyNeeds body_needs() const noexcept;                             // optional
//     // optional, static:
//     static const schema::Node& metadata_schema();                      // plugin_metadata; absent: any object
//     static const schema::Node& consumer_schema();                      // authentication plugins
//     static std::string_view consumer_key_field();                      // "key" of key-auth: unique over consumers
//     static std::string check_consumer(const Json& conf);               // its cross-field rules: "" or the message
//     static Result<std::shared_ptr<const void>> compile_consumer(const Json& conf);  // becomes Identity::secret
//     static std::string check_first(const Json& conf);                  // rules that come before the schema: "" or message
//     static std::string check(const Json& conf);                        // cross-field rules after it: "" or the message
//     static std::span<const PublicApi> public_apis();
//   };
//
// The class lives in namespace sluice::plugins::<folder with underscores>, in plugins/<folder>/<folder with
// underscores>.hpp, and is known to the registry as `Plugin`:
//
//   namespace sluice::plugins::ip_restriction { class IpRestriction { … }; using Plugin = IpRestriction; }
//
// The request path sees only PluginInstance: function pointers and a const void*.
#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "conf/base/json.hpp"
#include "conf/base/result.hpp"
#include "conf/schema/schema.hpp"
#include "conf/schema/table.hpp"
#include "plugins/sdk/body.hpp"
#include "plugins/sdk/compile_context.hpp"
#include "plugins/sdk/expression.hpp"
#include "plugins/sdk/request_context.hpp"
#include "plugins/sdk/traits.hpp"
#include "plugins/sdk/verdict.hpp"

namespace sluice::sdk {

using RequestFn = Verdict (*)(const void*, RequestContext&) noexcept;
using HeadFn = void (*)(const void*, RequestContext&) noexcept;
using BodyFn = void (*)(const void*, RequestContext&, const BodyChunk&, BodySink&) noexcept;

// An HTTP endpoint that a plugin offers through public-api (and the metrics listener).
struct PublicApi {
  std::string_view method;
  std::string_view uri;
  Verdict (*handle)(RequestContext&) noexcept;
  // Where the address is a setting of the node file: asked instead of `uri`; empty: not offered.
  std::string_view (*uri_now)() noexcept = nullptr;
};

// `_meta` of one configured plugin, compiled.
struct Meta {
  bool disable = false;
  std::optional<int> priority;
  std::optional<Expression> filter;
  std::optional<std::string> error_response;    // ready to send
};

struct PluginType;

// One configured plugin, ready to run. Immutable; shared by every chain it is part of.
struct PluginInstance {
  const PluginType* type = nullptr;
  int priority = 0;                             // effective: `_meta.priority` or the type's
  std::string resource_key;                     // "/apisix/routes/1": where it is configured
  std::string conf_version;                     // decimal CRC-32 of its canonical configuration
  Meta meta;
  BodyNeeds needs;
  std::shared_ptr<const void> self;
  RequestFn rewrite = nullptr, access = nullptr, before_proxy = nullptr;
  HeadFn header_filter = nullptr, log = nullptr;
  BodyFn body_filter = nullptr;
};

struct PluginType {
  Traits traits;
  const schema::Node* schema = nullptr;
  const schema::Node* metadata_schema = nullptr;   // nullptr: none declared
  const schema::Node* consumer_schema = nullptr;   // nullptr: none
  std::string_view consumer_key_field;             // empty: none
  std::span<const PublicApi> public_apis;
  bool has_rewrite = false, has_access = false, has_before_proxy = false, has_header_filter = false,
       has_body_filter = false, has_log = false;

  // Schema and cross-field rules only. Returns the reference's message, or empty. Fills defaults into `conf`.
  std::string (*check)(Json& conf, JsonDoc::AllocatorType& alloc) = nullptr;
  // From a configuration that passed check() (defaults filled in).
  Result<PluginInstance> (*compile)(const Json& conf, CompileContext& context) = nullptr;
  // The consumer's side; nullptr: nothing beyond the schema, nothing to compile.
  std::string (*check_consumer)(const Json& conf) = nullptr;
  Result<std::shared_ptr<const void>> (*compile_consumer)(const Json& conf) = nullptr;
};

namespace detail {
template <class P>
std::string check_plugin(Json& conf, JsonDoc::AllocatorType& alloc) {
  if constexpr (requires(const Json& j) { P::check_first(j); }) {
    if (std::string message = P::check_first(conf); !message.empty()) return message;
  }
  if (std::string message = schema::validate(P::table().node(), conf, alloc); !message.empty()) return message;
  if constexpr (requires(const Json& j) { P::check(j); }) return P::check(conf);
  return {};
}

template <class P>
Result<PluginInstance> compile_plugin(const Json& conf, CompileContext& context) {
  typename P::Config config;
  if (auto read = P::table().read(conf, config); !read) return read.error();
  context.set_conf(conf);
  Result<P> made = P::compile(std::move(config), context);
  if (!made) return made.error();
  auto self = std::make_shared<const P>(std::move(*made));
  PluginInstance instance;
  instance.self = self;
  if constexpr (requires(const P& p, RequestContext& c) { p.rewrite(c); })
    instance.rewrite = [](const void* p, RequestContext& c) noexcept { return static_cast<const P*>(p)->rewrite(c); };
  if constexpr (requires(const P& p, RequestContext& c) { p.access(c); })
    instance.access = [](const void* p, RequestContext& c) noexcept { return static_cast<const P*>(p)->access(c); };
  if constexpr (requires(const P& p, RequestContext& c) { p.before_proxy(c); })
    instance.before_proxy = [](const void* p, RequestContext& c) noexcept {
      return static_cast<const P*>(p)->before_proxy(c);
    };
  if constexpr (requires(const P& p, RequestContext& c) { p.header_filter(c); })
    instance.header_filter = [](const void* p, RequestContext& c) noexcept {
      static_cast<const P*>(p)->header_filter(c);
    };
  if constexpr (requires(const P& p, RequestContext& c, const BodyChunk& k, BodySink& s) { p.body_filter(c, k, s); })
    instance.body_filter = [](const void* p, RequestContext& c, const BodyChunk& k, BodySink& s) noexcept {
      static_cast<const P*>(p)->body_filter(c, k, s);
    };
  if constexpr (requires(const P& p, RequestContext& c) { p.log(c); })
    instance.log = [](const void* p, RequestContext& c) noexcept { static_cast<const P*>(p)->log(c); };
  instance.needs.alters_length = P::kTraits.alters_length;
  if constexpr (requires(const P& p) { p.body_needs(); }) instance.needs = self->body_needs();
  if (context.needs_request_body()) instance.needs.request_body = true;
  return instance;
}
}  // namespace detail

template <class P>
PluginType make_plugin_type() {
  PluginType t;
  t.traits = P::kTraits;
  t.schema = &P::table().node();
  if constexpr (requires { P::metadata_schema(); }) t.metadata_schema = &P::metadata_schema();
  if constexpr (requires { P::consumer_schema(); }) t.consumer_schema = &P::consumer_schema();
  if constexpr (requires { P::consumer_key_field(); }) t.consumer_key_field = P::consumer_key_field();
  if constexpr (requires(const Json& j) { P::check_consumer(j); }) t.check_consumer = &P::check_consumer;
  if constexpr (requires(const Json& j) { P::compile_consumer(j); }) t.compile_consumer = &P::compile_consumer;
  if constexpr (requires { P::public_apis(); }) t.public_apis = P::public_apis();
  t.has_rewrite = requires(const P& p, RequestContext& c) { p.rewrite(c); };
  t.has_access = requires(const P& p, RequestContext& c) { p.access(c); };
  t.has_before_proxy = requires(const P& p, RequestContext& c) { p.before_proxy(c); };
  t.has_header_filter = requires(const P& p, RequestContext& c) { p.header_filter(c); };
  t.has_body_filter = requires(const P& p, RequestContext& c, const BodyChunk& k, BodySink& s) {
    p.body_filter(c, k, s);
  };
  t.has_log = requires(const P& p, RequestContext& c) { p.log(c); };
  t.check = &detail::check_plugin<P>;
  t.compile = &detail::compile_plugin<P>;
  return t;
}

}  // namespace sluice::sdk
