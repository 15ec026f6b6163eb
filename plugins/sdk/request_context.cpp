// Notes of plugins, and the request id.
#include "plugins/sdk/request_context.hpp"

#include <pthread.h>
#include <sys/random.h>

#include <cstdlib>

namespace sluice::sdk {

std::uint64_t* RequestContext::note(const void* owner, std::uint32_t tag) noexcept {
  for (PluginNote* n = notes_; n != nullptr; n = n->next)
    if (n->owner == owner && n->tag == tag) return &n->value;
  return nullptr;
}

std::uint64_t& RequestContext::note_or_add(const void* owner, std::uint32_t tag) noexcept {
  if (std::uint64_t* found = note(owner, tag)) return *found;
  notes_ = arena.make<PluginNote>(PluginNote{owner, tag, 0, notes_});
  return notes_->value;
}

namespace {
// xoshiro256**: fast, and enough for identifiers. Nothing secret is made from it. Seeded by the kernel at first use and
// again in every forked child, so that no two processes draw the same numbers.
class Generator {
 public:
  std::uint64_t next() noexcept {
    if (!seeded_) seed();
    const std::uint64_t result = rotate(s_[1] * 5, 7) * 9;
    const std::uint64_t t = s_[1] << 17;
    s_[2] ^= s_[0];
    s_[3] ^= s_[1];
    s_[1] ^= s_[2];
    s_[0] ^= s_[3];
    s_[2] ^= t;
    s_[3] = rotate(s_[3], 45);
    return result;
  }

 private:
  static std::uint64_t rotate(std::uint64_t x, int k) noexcept { return (x << k) | (x >> (64 - k)); }
  void seed() noexcept;
  std::uint64_t s_[4] = {};
  bool seeded_ = false;

  friend void forget_seed() noexcept;
};

Generator g_generator;

void forget_seed() noexcept { g_generator.seeded_ = false; }

void Generator::seed() noexcept {
  static const int registered = ::pthread_atfork(nullptr, nullptr, [] { forget_seed(); });
  (void)registered;
  std::size_t have = 0;
  auto* bytes = reinterpret_cast<char*>(s_);
  while (have < sizeof(s_)) {
    const ssize_t n = ::getrandom(bytes + have, sizeof(s_) - have, 0);
    if (n > 0) have += static_cast<std::size_t>(n);
  }
  s_[0] |= 1;  // never all zero
  seeded_ = true;
}
}  // namespace

std::uint64_t random_u64() noexcept { return g_generator.next(); }

std::string_view request_id_of(RequestContext& ctx) noexcept {
  if (!ctx.request_id.empty()) return ctx.request_id;
  static constexpr char kHex[] = "0123456789abcdef";
  char* out = static_cast<char*>(ctx.arena.allocate(32, 1));
  for (int half = 0; half < 2; ++half) {
    std::uint64_t word = g_generator.next();
    for (int i = 0; i < 16; ++i, word >>= 4) out[half * 16 + i] = kHex[word & 15];
  }
  ctx.request_id = {out, 32};
  return ctx.request_id;
}

}  // namespace sluice::sdk
