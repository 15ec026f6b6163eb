// RequestContext: all that a plugin, a condition or a template may see and change of one request.
//
// It is the face of the worker's Exchange; the worker fills it, plugins read and edit it. It never shows a socket, a
// timer or a thread. Every view lives at least until the log phase has run: it points into the head buffer, into the
// request's arena, or into the compiled configuration that the exchange holds.
//
// Clocks: `now` is the monotonic time of this wake-up, `wall` the calendar time; the pipeline refreshes both when a
// request resumes. Nothing else reads a clock on the request path.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "conf/base/cidr.hpp"
#include "conf/base/clock.hpp"
#include "plugins/sdk/arena.hpp"
#include "plugins/sdk/consumer.hpp"
#include "plugins/sdk/headers.hpp"
#include "plugins/sdk/ref.hpp"
#include "plugins/sdk/verdict.hpp"

namespace sluice::sdk {

struct Chain;
struct PluginInstance;

// Who produced the answer: metrics label `response_source`.
enum class ResponseSource : std::uint8_t { none, apisix, proxy, upstream };

// Standing facts of the process, shared by all its requests.
struct ProcessInfo {
  std::string_view hostname;
  int worker_id = 0;
  int pid = 0;
};

// One try at an upstream node. Times are nanoseconds, -1 while unknown.
struct Attempt {
  std::string_view address;  // "127.0.0.1:1980", "[::1]:80", "unix:/run/x"
  std::string_view ip;       // "127.0.0.1", "[::1]"
  std::string_view host;     // as configured, before DNS
  std::uint16_t port = 0;
  std::uint16_t status = 0;  // of the answer; 502 and 504 for failures
  bool failed = false;
  std::int64_t connect_ns = -1;
  std::int64_t header_ns = -1;
  std::int64_t response_ns = -1;
  std::uint64_t bytes_sent = 0;
  std::uint64_t bytes_received = 0;
  std::uint64_t body_received = 0;
};

// The attempts of a request, by number. Slots are filled when an attempt begins; 2 KiB are not cleared for every request
// that makes one attempt, or none. REQUIRES of operator[]: the slot was assigned, or is assigned now.
class Attempts {
 public:
  static constexpr std::size_t kKept = 16;
  Attempts() noexcept {}
  Attempt& operator[](std::size_t i) noexcept { return slots_[i]; }
  const Attempt& operator[](std::size_t i) const noexcept { return slots_[i]; }

 private:
  union {
    std::array<Attempt, kKept> slots_;
  };
};

// The answer a plugin wants to give by itself. An empty body with status >= 300 becomes the stock error page.
struct ReplyBody {
  std::string_view body;
  std::string_view content_type;  // empty: the default of locally made bodies
  bool has_body = false;
};

// Captured path parameters (`uri_param_<name>`) and the like: few, linear.
struct NamedText {
  std::string_view name;
  std::string_view value;
};

class RequestContext {
 public:
  RequestContext() : request_headers(arena), response_headers(arena) {}
  RequestContext(const RequestContext&) = delete;
  RequestContext& operator=(const RequestContext&) = delete;

  // ---- memory and time
  Arena arena;
  TimePoint now{};
  WallTime wall{};
  TimePoint started{};       // first octet of the request
  WallTime started_wall{};
  const ProcessInfo* process = nullptr;

  // ---- connection
  IpAddress peer_address;    // who is connected
  std::uint16_t peer_port = 0;
  std::string_view peer_text;
  IpAddress client_address;  // after real-ip processing
  std::uint16_t client_port = 0;
  std::string_view client_text;  // `remote_addr`
  std::string_view server_address_text;
  std::uint16_t server_port = 0;
  std::string_view scheme = "http";
  std::uint64_t connection_id = 0;
  std::uint64_t connection_requests = 0;

  // ---- request
  std::string_view method;
  std::string_view target;        // raw request target
  std::string_view path;          // decoded and normalised, what routes match
  std::string_view query;         // raw, without '?'
  bool has_query = false;         // a '?' was there
  std::string_view authority;     // Host as sent (or absolute-form authority), port included
  std::string_view host;          // lower-cased, without port and trailing dot
  int version_minor = 1;          // HTTP/1.x
  HeaderList request_headers;     // what goes upstream, after the plugins' edits
  std::string_view request_line;  // as received
  std::uint64_t request_bytes = 0;   // head and body octets received
  std::string_view request_id;       // 32 hex digits, made on first use by the variables
  std::string_view apisix_request_id;  // as a plugin (request-id) wants it known; empty: request_id
  std::optional<std::string_view> request_body;  // only where something declared that it reads it
  // A plugin's own bound on the request body (client-control), octets; 0: none at all. Absent: the node's.
  std::optional<std::uint64_t> request_body_limit;
  bool request_body_too_large = false;           // longer than its readers take: it was not kept
  std::uint64_t request_body_size = 0;           // with either: as stated, or what came until then

  // What the client had sent in forwarding fields, before the gateway set its own.
  std::string_view original_forwarded_for, original_forwarded_proto, original_forwarded_host, original_forwarded_port,
      original_forwarded;
  bool forwarded_for_set = false, forwarded_proto_set = false, forwarded_host_set = false, forwarded_port_set = false;

  // ---- route (texts of the matched, merged configuration; empty when nothing matched)
  std::string_view route_id, route_name, service_id, service_name;
  std::string_view matched_uri, matched_host;
  std::span<const NamedText> uri_params;
  bool route_matched = false;

  // ---- identity
  const ConsumerIndex* consumers = nullptr;
  Ref<const Consumer> consumer;            // set by authentication plugins through attach_consumer
  std::string_view credential_id;

  // ---- upstream request, as plugins want it
  std::string_view upstream_uri;           // path and query to send; empty: the client's target unchanged
  std::string_view upstream_host;          // Host to send; empty: by pass_host
  std::string_view upstream_method;        // empty: the client's
  std::string_view upstream_scheme = "http";
  std::span<const std::string_view> regex_captures;  // of proxy-rewrite's regex_uri

  // ---- answer
  std::uint16_t status = 0;
  HeaderList response_headers;             // what goes to the client
  const HeaderList* upstream_headers = nullptr;  // as the node sent them (`upstream_http_*`); nullptr: none kept
  ResponseSource source = ResponseSource::none;
  ReplyBody reply;
  std::uint64_t bytes_sent = 0;            // head and body octets sent to the client
  std::uint64_t body_bytes_sent = 0;
  bool response_body_replaced = false;     // header_filter plugins: the length is no longer the upstream's
  std::string_view upstream_cache_status;

  // ---- upstream side, as it went
  static constexpr std::size_t kMaxAttemptsKept = Attempts::kKept;
  Attempts attempts;
  std::uint32_t attempt_count = 0;         // may exceed what is kept; the last slot then holds the newest
  const Attempt* last_attempt() const noexcept {
    return attempt_count == 0 ? nullptr : &attempts[std::min<std::size_t>(attempt_count, kMaxAttemptsKept) - 1];
  }

  // ---- what limiters leave for logs
  std::string_view rate_limiting_info;
  std::string_view limit_plugin, limit_key, limit_verdict;
  std::int64_t limit_remaining = -1;

  // ---- actions
  // Ends the request with this body (text as it stands, JSON texts end with a newline). Views must live in the arena or
  // in the plugin. An empty content type means the default for locally generated bodies.
  Verdict respond(std::uint16_t status_code, std::string_view body, std::string_view content_type = {}) noexcept {
    reply = {body, content_type, true};
    return Verdict::reply(status_code);
  }
  // Ends the request with the stock page of the status (or no body below 300).
  Verdict respond(std::uint16_t status_code) noexcept {
    reply = {};
    return Verdict::reply(status_code);
  }
  void attach_consumer(Ref<const Consumer> who, std::string_view credential) noexcept {
    consumer = std::move(who);
    credential_id = credential;
  }

  // ---- per-request memory of plugins: keyed by instance and a small tag
  struct PluginNote {
    const void* owner;
    std::uint32_t tag;
    std::uint64_t value;
    PluginNote* next;
  };
  // From now on no plugin of that name runs for this request (workflow has run it). At most two; `name` outlives it.
  void skip_plugin(std::string_view name) noexcept {
    if (skipped_count_ < std::size(skipped_)) skipped_[skipped_count_++] = name;
  }
  bool skips_plugins() const noexcept { return skipped_count_ != 0; }
  bool skips_plugin(std::string_view name) const noexcept {
    for (std::size_t i = 0; i < skipped_count_; ++i)
      if (skipped_[i] == name) return true;
    return false;
  }

  std::uint64_t* note(const void* owner, std::uint32_t tag) noexcept;          // nullptr when absent
  std::uint64_t& note_or_add(const void* owner, std::uint32_t tag) noexcept;   // zero when new

  // Values computed once per request by the variables (request body parsed, query parsed, …).
  struct VariableCache* variable_cache = nullptr;

 private:
  PluginNote* notes_ = nullptr;
  std::size_t skipped_count_ = 0;
  std::string_view skipped_[2];
};

// 32 lower-case hex digits from a per-process generator; stable for the request once made.
std::string_view request_id_of(RequestContext& ctx) noexcept;
// From the same generator: fast, different in every process, not secret.
std::uint64_t random_u64() noexcept;

}  // namespace sluice::sdk
