// Exchange: one request and its answer, from the parsed head to the log phase.
//
// serve() is the life of a request: facts, normal path, route, plugin phases, node, proxying, answer, log. It is made of
// straight-line coroutines; what does not wait is an ordinary function in one of the files below.
//
//   exchange.cpp        serve(), phases, local answers' decision, log
//   request_facts.cpp   addresses, forwarding fields, hop-by-hop fields
//   request_compose.cpp the head that goes to a node
//   proxy.cpp           attempts: pick, connect, send, retry
//   ask.cpp             sending one request and receiving the answer's head
//   answer.cpp          the answer's head and body to the client
//   tunnel.cpp          after a 101
//   local_answer.cpp    answers of the gateway's own
//
// Lives in the session's coroutine; whatever happens its end settles the node that was picked and runs the log phase.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "plugins/sdk/chain.hpp"
#include "plugins/sdk/request_context.hpp"
#include "worker/exchange/request_body.hpp"
#include "worker/exchange/session.hpp"
#include "worker/exchange/worker_context.hpp"
#include "worker/http1/chunked.hpp"
#include "worker/http1/request_head.hpp"
#include "worker/http1/response_head.hpp"
#include "worker/io/byte_string.hpp"
#include "worker/live/compiled_route.hpp"
#include "worker/live/upstream.hpp"
#include "worker/upstream/connection.hpp"

namespace sluice::worker {

class Exchange {
 public:
  static void* operator new(std::size_t n) { return FramePool::allocate(n); }
  static void operator delete(void* p, std::size_t n) noexcept { FramePool::release(p, n); }

  explicit Exchange(Session& session) noexcept;
  ~Exchange();  // log() has run, or no head was ever whole
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  // The head at the front of the session's buffer.
  HeadFault read_head(std::size_t fresh_from) noexcept {
    return parse_request_head(session_.buffered(), fresh_from, worker_.settings.head, ctx_.request_headers, head_);
  }
  Task<void> serve() noexcept;                                        // REQUIRES: read_head gave none
  Task<void> refuse(std::uint16_t status, std::string_view why) noexcept;  // a head that is none; the session ends

  bool keep_open() const noexcept { return keep_open_; }
  bool reset_client() const noexcept { return reset_client_; }        // an answer was cut: say so on the wire
  bool lingers() const noexcept { return linger_ || !body_.complete(); }
  const RequestHead& head() const noexcept { return head_; }

 private:
  // How an attempt to get an answer's head ended.
  enum class Asked : std::uint8_t {
    answered,        // answer_ is there
    failed,          // reset or closed before a head was complete (502)
    send_failed_clean,  // nothing of the request has left (502, may be sent again)
    timed_out,       // (504)
    malformed,       // (502, no other attempt)
    body_malformed,  // the client's body (400)
    body_too_large,  // (413)
    body_timeout,    // (408)
    client_gone,     // (499)
    cancelled,
  };
  // How far sending the request has come.
  enum class Sent : std::uint8_t { all, blocked, starved, busy, failed, body_malformed, body_too_large, client_gone };
  enum class Flow : std::uint8_t { going, done, cut };  // of an answer's body

  // ---- exchange.cpp
  Task<void> pipeline() noexcept;
  Task<bool> collect_body(std::uint64_t most) noexcept;   // false: the request has been answered
  bool body_needed_before_rewrite() const noexcept;
  std::uint64_t body_bound() const noexcept;
  void refresh_clock() noexcept {
    ctx_.now = worker_.reactor.now();
    ctx_.wall = worker_.reactor.wall();
  }
  struct Steps {
    std::span<const sdk::Step> left;
    bool global = false;
    bool watch_consumer = false;
  };
  sdk::Verdict advance(Steps& steps) noexcept;               // up to a pause, a reply or the end
  Task<bool> follow(sdk::Verdict verdict, Steps& steps) noexcept;  // pauses and goes on; true: status_ ends the request
  bool skipped_globally(const sdk::PluginInstance& instance) const noexcept;
  void run_heads(std::span<const sdk::HeadStep> global, std::span<const sdk::HeadStep> own) noexcept;
  void log() noexcept;
  void identify_consumer() noexcept;
  Task<void> drain_request() noexcept;
  bool built_in() noexcept;                 // /apisix/nginx_status
  bool ends_here() noexcept;                // OPTIONS with Max-Forwards: 0

  // ---- request_facts.cpp
  void learn_facts() noexcept;
  void apply_real_ip() noexcept;
  void sanitise_fields() noexcept;
  void set_forwarding_fields() noexcept;
  bool normalise() noexcept;

  // ---- request_compose.cpp
  bool compose_request() noexcept;          // into out_
  std::string_view host_to_send() noexcept;
  void take_body_at_hand() noexcept;

  // ---- proxy.cpp
  Task<void> proxy() noexcept;
  Task<Asked> attempt() noexcept;           // one node: connect (or reuse) and ask
  bool may_retry(Asked how) const noexcept;
  void begin_attempt() noexcept;
  void tell_of_node(std::string_view what) noexcept;   // into the error log, so many lines a second
  void end_attempt(Asked how) noexcept;
  void settle_node(bool failed, bool ignored) noexcept;
  sdk::Attempt& attempt_record() noexcept;
  void release_upstream(bool reusable) noexcept;

  // ---- ask.cpp
  Task<Asked> ask() noexcept;
  Sent fill_body() noexcept;                // from the client; busy: something came
  Sent send_some() noexcept;
  Sent send_frame() noexcept;
  bool next_frame() noexcept;
  enum class Received : std::uint8_t { final_head, interim, incomplete, ended, malformed };
  Received receive_head() noexcept;
  Received parse_answer() noexcept;
  void drop_interim() noexcept;
  Task<bool> forward_interim() noexcept;    // 1xx; false: the client is gone
  bool say_continue() noexcept;

  // ---- answer.cpp
  Task<void> answer() noexcept;
  void take_answer_fields() noexcept;
  void add_upstream_status() noexcept;
  void choose_framing() noexcept;
  void settle_answer(bool whole) noexcept;
  bool has_body_filters() const noexcept;

  // ---- relay.cpp
  Task<bool> relay() noexcept;              // true: the answer is whole
  Task<Flow> gather(std::size_t most) noexcept;  // the whole answer's body into whole_body_; going: it is larger
  Flow take_octets(char* data, std::size_t n, bool eof) noexcept;  // payload into piece_
  void begin_client_out() noexcept;         // the composed head and what came with the answer's
  void frame_piece() noexcept;              // piece_ into client_out_
  void filter_piece(std::string_view octets, bool last) noexcept;  // into filtered_
  Task<bool> write_client(std::string_view octets) noexcept;
  Task<bool> relay_wait(bool& uploading) noexcept;
  bool upload(bool& uploading) noexcept;    // true: something moved

  // ---- answer_compose.cpp
  bool compose_answer(std::uint16_t status, std::string_view reason) noexcept;  // into relay_, relay_size_
  std::string_view with_charset(std::string_view type) noexcept;

  // ---- tunnel.cpp
  Task<void> tunnel() noexcept;

  // ---- local_answer.cpp
  Task<void> reply(std::uint16_t status, sdk::ResponseSource source) noexcept;
  Task<void> reply_text(std::uint16_t status, std::string_view body) noexcept;

  Session& session_;
  WorkerContext& worker_;
  sdk::RequestContext ctx_;
  RequestHead head_;
  RequestBody body_;
  ResponseHead answer_;
  sdk::HeaderList upstream_fields_;
  sdk::Ref<const live::CompiledRoute> route_;
  sdk::Ref<const live::Upstream> upstream_;
  sdk::Ref<const live::SharedChain> rules_; // the global rules that were in force at the beginning
  const sdk::Chain* global_ = nullptr;
  const sdk::Chain* chain_ = nullptr;       // the route's, or with the consumer's merged in
  const sdk::Consumer* known_consumer_ = nullptr;
  std::string_view match_path_;

  // the node in hand
  live::PickState pick_;
  const live::Node* node_ = nullptr;        // set: owes settle()
  UpstreamConnection* upstream_connection_ = nullptr;
  TimePoint attempt_start_{};

  // to the node
  Buffer out_;                              // composed heads; then the relay's buffer
  std::size_t out_sent_ = 0, out_size_ = 0;
  struct Frame {                            // one chunk of a chunked request body, on its way
    char prefix[20];
    std::uint8_t prefix_size = 0;
    std::string_view suffix;
    std::size_t payload = 0;
    std::size_t sent = 0;
    std::size_t size() const noexcept { return prefix_size + payload + suffix.size(); }
  } frame_;
  std::uint64_t request_sent_ = 0;          // octets of the request that may have reached the node
  bool end_sent_ = false;                   // the last chunk is on its way
  bool as_chunks_ = false;                  // how the body goes to the node

  // from the node
  Buffer in_;                               // the answer's head, pinned, and what came with it
  std::size_t in_size_ = 0, in_scanned_ = 0;
  std::uint64_t answer_left_ = 0;
  ChunkDecoder answer_chunks_;
  Buffer answer_trailer_;
  bool dirty_ = false;                      // octets came that belong to no answer
  unsigned interims_ = 0;

  // to the client
  Buffer relay_;
  std::size_t relay_size_ = 0;              // of the composed head
  std::string_view client_out_;             // what is to be written next
  std::string_view client_next_;            // and after that
  std::string_view piece_;                  // payload in hand
  bool gathered_ = false;                   // the body was read before the head went out
  Flow flow_ = Flow::going;
  bool pending_growth_ = false;             // a large body: the next reads get a larger buffer
  ByteString filtered_, whole_body_;
  std::uint64_t body_out_ = 0;
  bool client_chunked_ = false;
  bool client_counts_ = false;              // framing by Content-Length
  std::uint64_t client_length_ = 0;
  bool show_length_ = false;                // Content-Length on an answer without body
  bool bodiless_ = false;
  bool filters_ = false;

  bool keep_open_ = false;
  bool reset_client_ = false;
  bool answered_ = false;                   // some octet of a final answer has left
  bool whole_ = false;                      // the answer has been sent to its end
  bool continue_sent_ = false;
  bool client_gone_ = false;
  bool linger_ = false;                     // the client may still be sending
  bool asked_upgrade_ = false;
  bool logged_ = false;
  bool head_read_ = false;
  std::uint16_t status_ = 0;
};

// The reason phrase of a status; "Unknown" text for others.
std::string_view reason_of(std::uint16_t status) noexcept;
// The stock error page, in the arena.
std::string_view error_page(std::uint16_t status, sdk::Arena& arena) noexcept;
// "Mon, 30 Nov 2026 23:59:59 GMT", cached per second.
std::string_view http_date(WallTime now) noexcept;
bool idempotent(std::string_view method) noexcept;

}  // namespace sluice::worker
