// CandidateList: the candidates of one group (same exact text, or same literal prefix), in the order they are tried.
//
// Nearly every list has one member and is that pointer; longer ones are a balanced tree, so that thousands of routes on
// one path cost O(log n) per edit. Owns nothing it points to.
#pragma once

#include <cstdint>
#include <set>
#include <utility>

#include "worker/router/route.hpp"

namespace sluice::router {

class CandidateList {
 public:
  CandidateList() = default;
  CandidateList(CandidateList&& other) noexcept : bits_(std::exchange(other.bits_, 0)) {}
  CandidateList& operator=(CandidateList&& other) noexcept {
    std::swap(bits_, other.bits_);
    return *this;
  }
  ~CandidateList() {
    if (many()) delete set();
  }

  bool empty() const noexcept { return bits_ == 0; }
  std::size_t size() const noexcept { return empty() ? 0 : many() ? set()->size() : 1; }

  void add(const Candidate& candidate) {
    if (empty()) {
      bits_ = reinterpret_cast<std::uintptr_t>(&candidate);
      return;
    }
    if (!many()) {
      auto* grown = new Set{one()};
      bits_ = reinterpret_cast<std::uintptr_t>(grown) | 1;
    }
    set()->insert(&candidate);
  }

  void remove(const Candidate& candidate) noexcept {
    if (!many()) {
      if (bits_ == reinterpret_cast<std::uintptr_t>(&candidate)) bits_ = 0;
      return;
    }
    Set* all = set();
    all->erase(&candidate);
    if (all->size() > 1) return;
    bits_ = all->empty() ? 0 : reinterpret_cast<std::uintptr_t>(*all->begin());
    delete all;
  }

  // Until visit returns true; whether one did.
  template <class Visit>
  bool any(Visit&& visit) const noexcept {
    if (empty()) return false;
    if (!many()) return visit(*one());
    for (const Candidate* candidate : *set())
      if (visit(*candidate)) return true;
    return false;
  }

 private:
  struct Before {
    bool operator()(const Candidate* a, const Candidate* b) const noexcept { return goes_before(*a, *b); }
  };
  using Set = std::set<const Candidate*, Before>;
  static_assert(alignof(Candidate) > 1);

  bool many() const noexcept { return bits_ & 1; }
  const Candidate* one() const noexcept { return reinterpret_cast<const Candidate*>(bits_); }
  Set* set() const noexcept { return reinterpret_cast<Set*>(bits_ & ~std::uintptr_t{1}); }

  std::uintptr_t bits_ = 0;
};

}  // namespace sluice::router
