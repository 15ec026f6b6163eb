#include "worker/balancer/ewma.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "plugins/sdk/request_context.hpp"

namespace sluice::balancer {
namespace ewma {

namespace {
constexpr double kNs = 1e9;
double decay(std::int64_t age_ns) noexcept {
  return std::exp(-static_cast<double>(std::max<std::int64_t>(age_ns, 0)) / kNs / kDecaySeconds);
}
}  // namespace

bool failed(const shm::EwmaScore& record) noexcept { return std::signbit(record.score); }

double score_at(const shm::EwmaScore& record, std::int64_t now_ns) noexcept {
  const std::int64_t age = now_ns - record.last_ns;
  if (age > kForgetNs) return kUnknown;
  if (!failed(record)) return record.score * decay(age);
  return age <= kHoldNs ? -record.score : -record.score * decay(age - kHoldNs);
}

void add_success(shm::EwmaScore& record, bool fresh, double seconds, std::int64_t now_ns) noexcept {
  const std::int64_t age = now_ns - record.last_ns;
  if (!fresh && failed(record) && age <= kHoldNs) return;  // an answer that was under way when the node failed
  if (fresh || failed(record) || age > kForgetNs) {
    record.score = seconds;
  } else {
    const double w = decay(age);
    record.score = record.score * w + seconds * (1 - w);
  }
  record.last_ns = std::max(record.last_ns, now_ns);
}

void add_bad_answer(shm::EwmaScore& record, bool fresh, double seconds, double floor, std::int64_t now_ns) noexcept {
  const bool known = !fresh && now_ns - record.last_ns <= kForgetNs;
  if (known && failed(record)) return;
  const double before = known ? std::max(record.score, floor) : floor;
  add_success(record, fresh, seconds, now_ns);
  record.score = std::max(record.score, before);
}

void add_failure(shm::EwmaScore& record, bool fresh, double seconds, double median, std::int64_t now_ns) noexcept {
  double score = std::max({seconds, 10.0, 10 * median});
  if (!fresh && now_ns - record.last_ns <= kForgetNs) score = std::max(score, std::fabs(record.score));
  record.score = -score;
  record.last_ns = std::max(record.last_ns, now_ns);
}

}  // namespace ewma

Ewma::Ewma(std::span<const Peer> peers, const shm::EwmaTable* table, std::uint64_t seed, TimePoint now)
    : table_(table), random_(seed) {
  for (const Peer& peer : peers) addresses_.push_back(peer.address);
  if (table_ == nullptr) {
    local_.resize(peers.size());
    return;
  }
  for (const Peer& peer : peers) slots_.push_back(table_->intern(peer.address, now));
}

bool Ewma::read(std::uint32_t node, shm::EwmaScore& record) const noexcept {
  if (table_ != nullptr) return table_->read(slots_[node], record) == shm::ReadState::ok;
  record = local_[node].record;
  return local_[node].written;
}

template <class F>
void Ewma::update(std::uint32_t node, TimePoint now, F&& fn) noexcept {
  if (table_ == nullptr) {
    fn(local_[node].record, !local_[node].written);
    local_[node].written = true;
    return;
  }
  if (table_->update(slots_[node], now, fn)) return;
  slots_[node] = table_->intern(addresses_[node], now);  // the slot had changed hands
  table_->update(slots_[node], now, fn);
}

double Ewma::known_score(std::uint32_t node, std::int64_t now_ns) const noexcept {
  shm::EwmaScore record;
  return read(node, record) ? ewma::score_at(record, now_ns) : ewma::kUnknown;
}

double Ewma::score(std::uint32_t node, std::int64_t now_ns) noexcept {
  const double known = known_score(node, now_ns);
  return known >= 0 ? known : mean_of_peers(now_ns);
}

// Of the nodes that answer; at most every 10 ms anew, over a sample when there are many.
double Ewma::mean_of_peers(std::int64_t now_ns) noexcept {
  if (mean_at_ns_ != 0 && now_ns >= mean_at_ns_ && now_ns - mean_at_ns_ < 10'000'000) return mean_;
  const auto n = static_cast<std::uint32_t>(addresses_.size());
  const std::uint32_t looks = std::min(n, kSample), start = random_.below(n);
  double sum = 0;
  std::uint32_t known = 0;
  for (std::uint32_t i = 0; i < looks; ++i) {
    shm::EwmaScore record;
    if (!read((start + i) % n, record) || ewma::failed(record)) continue;
    const double score = ewma::score_at(record, now_ns);
    if (score < 0) continue;
    sum += score;
    ++known;
  }
  mean_ = known > 0 ? sum / known : 0;
  mean_at_ns_ = now_ns;
  return mean_;
}

double Ewma::median_of_peers(std::uint32_t except, std::int64_t now_ns) noexcept {
  const auto n = static_cast<std::uint32_t>(addresses_.size());
  const std::uint32_t looks = std::min(n, kSample), start = random_.below(n);
  std::array<double, kSample> scores;
  std::uint32_t known = 0;
  for (std::uint32_t i = 0; i < looks; ++i) {
    const std::uint32_t node = (start + i) % n;
    shm::EwmaScore record;
    if (node == except || !read(node, record) || ewma::failed(record)) continue;
    if (const double score = ewma::score_at(record, now_ns); score >= 0) scores[known++] = score;
  }
  if (known == 0) return 0;
  std::nth_element(scores.begin(), scores.begin() + known / 2, scores.begin() + known);
  return scores[known / 2];
}

// A node not yet tried and not `except`, evenly at random: by trial while few are out, then by walking on.
std::uint32_t Ewma::draw(const TriedSet& tried, std::uint32_t except) noexcept {
  const auto n = static_cast<std::uint32_t>(addresses_.size());
  std::uint32_t node = 0;
  for (int i = 0; i < 8; ++i) {
    node = random_.below(n);
    if (node != except && !tried.test(node)) return node;
  }
  for (std::uint32_t i = 0; i < n; ++i) {
    node = node + 1 == n ? 0 : node + 1;
    if (node != except && !tried.test(node)) return node;
  }
  return kNoPeer;
}

std::uint32_t Ewma::pick(Walk& walk) noexcept {
  const auto n = static_cast<std::uint32_t>(addresses_.size());
  if (n == 0 || walk.tried.count() >= n) return kNoPeer;
  const std::uint32_t first = draw(walk.tried, kNoPeer);
  if (n - walk.tried.count() == 1) return first;
  const std::uint32_t second = draw(walk.tried, first);
  if (second == kNoPeer) return first;
  const std::int64_t now_ns = to_ns(walk.request.now);
  return score(second, now_ns) < score(first, now_ns) ? second : first;
}

void Ewma::settle(std::uint32_t node, const Outcome& outcome, TimePoint now) noexcept {
  if (outcome.ignored) return;
  const double seconds = static_cast<double>(std::max<std::int64_t>(outcome.elapsed_ns, 0)) / 1e9;
  const std::int64_t now_ns = to_ns(now);
  if (outcome.failed) {
    const double median = median_of_peers(node, now_ns);
    update(node, now, [=](shm::EwmaScore& r, bool fresh) noexcept { ewma::add_failure(r, fresh, seconds, median, now_ns); });
  } else if (outcome.bad_answer) {
    const double floor = mean_of_peers(now_ns);
    update(node, now, [=](shm::EwmaScore& r, bool fresh) noexcept { ewma::add_bad_answer(r, fresh, seconds, floor, now_ns); });
  } else {
    update(node, now, [=](shm::EwmaScore& r, bool fresh) noexcept { ewma::add_success(r, fresh, seconds, now_ns); });
  }
}

}  // namespace sluice::balancer
