// Metrics: counters that every worker bumps in pages of its own, and one catalogue that says what they mean.
//
// A series = kind + text (name and labels, made by the caller) + one or more cells. Interned once, shared by all, never
// removed. Each worker slot has a page with every cell; only that worker writes it (plain relaxed stores, no locked
// instruction, no false sharing); the exporter sums the pages. When a worker is gone its counters are folded into the
// page `retired`, its gauges zeroed: cell by cell, each in a transaction, so that a death in the middle loses and
// doubles nothing, and folding again does nothing.
//
// Bounds: texts up to kMaxText bytes; a catalogue that is full gives the series `other` of the same kind, counted.
// Callers cache what intern() returned (a map of the process); it takes the catalogue's lock.
#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <string_view>

#include "shm/hash.hpp"
#include "shm/journal.hpp"
#include "shm/region.hpp"
#include "shm/robust_mutex.hpp"

namespace sluice::shm {

enum class SeriesKind : std::uint32_t {
  counter,       // integer, summed
  counter_real,  // double, summed (seconds, bytes as the spec has them)
  gauge,         // double, summed over the living workers; zero after death
  histogram,     // cells: count per bucket (not cumulative, the last is +Inf), then the sum as a double
};

// Where the cells of a series are. Process-independent, but valid for its region only.
struct Series {
  std::uint32_t id = 0;
  std::uint32_t first = 0;  // cell
  std::uint32_t cells = 1;
  SeriesKind kind = SeriesKind::counter;
};

// A worker's own page. One writer: the worker itself.
class CellPage {
 public:
  CellPage() noexcept = default;
  explicit CellPage(Word* cells) noexcept : cells_(cells) {}

  void add(const Series& s, std::uint64_t n = 1) const noexcept { add_word(cells_[s.first], n); }
  void add_real(const Series& s, double by) const noexcept { add_real_at(s.first, by); }
  void set(const Series& s, double value) const noexcept { store_word(cells_[s.first], std::bit_cast<Word>(value)); }
  // One observation in bucket `bucket` (0-based; clipped to the last).
  void observe(const Series& s, std::uint32_t bucket, double value) const noexcept {
    const std::uint32_t last = s.cells - 2;
    add_word(cells_[s.first + (bucket < last ? bucket : last)], 1);
    add_real_at(s.first + s.cells - 1, value);
  }
  explicit operator bool() const noexcept { return cells_ != nullptr; }

 private:
  void add_real_at(std::uint32_t cell, double by) const noexcept {
    store_word(cells_[cell], std::bit_cast<Word>(std::bit_cast<double>(load_word(cells_[cell])) + by));
  }
  Word* cells_ = nullptr;
};

// The totals of one series. counter: integers[0]; counter_real and gauge: real; histogram: integers, and real = sum.
struct SeriesTotal {
  SeriesKind kind = SeriesKind::counter;
  std::string_view text;
  std::span<const std::uint64_t> integers;
  double real = 0;
};

class Cells {
 public:
  static constexpr std::uint32_t kMaxText = 1024;
  static constexpr std::uint32_t kMaxBuckets = 40;
  static constexpr std::uint32_t kMaxPerHold = 64;

  struct Shape {
    std::uint64_t bytes = 16u << 20;  // catalogue and one page; the other pages come on top, when workers do
    std::uint32_t worker_slots = 0;
  };
  struct Usage {
    std::uint64_t bytes = 0, series = 0, series_max = 0, cells = 0, cells_max = 0, text_bytes = 0, text_max = 0;
    std::uint64_t overflows = 0;  // series that got `other` instead
    std::uint64_t lock_waits = 0, recoveries = 0;
  };

  static std::uint64_t footprint(const Shape& shape) noexcept;
  static Result<void> format(Region& region, std::uint64_t offset, const Shape& shape);
  Cells(const Region& region, std::uint64_t offset) noexcept;

  // The series of this kind and text. `buckets` counts a histogram's buckets, +Inf included (at most kMaxBuckets).
  Series intern(SeriesKind kind, std::string_view text, std::uint32_t buckets = 0) noexcept;

  // Gives the page of a worker slot its memory. Before the worker starts (the master, or the worker's own start).
  Result<void> prepare_worker(const Region& region, std::uint32_t worker) noexcept;
  CellPage page(std::uint32_t worker) const noexcept;

  // Sums all pages for up to kMaxPerHold series from `next` on; fn(const SeriesTotal&) is called outside the lock.
  // False when there are no more. Start with next = 0. Folding and summing exclude each other: nothing counts twice.
  template <class F>
  bool for_each_some(std::uint32_t& next, F&& fn) const {
    std::uint64_t integers[kMaxBuckets + 1];
    for (std::uint32_t i = 0; i < kMaxPerHold; ++i) {
      SeriesTotal total;
      if (!sum(next, total, integers)) return false;
      ++next;
      fn(static_cast<const SeriesTotal&>(total));
    }
    return true;
  }
  template <class F>
  void for_each(F&& fn) const {
    std::uint32_t next = 0;
    while (for_each_some(next, fn)) {
    }
  }

  // Total of one series: integers for counters (a histogram: its count), else use sum_real.
  std::uint64_t sum(const Series& series) const noexcept;
  double sum_real(const Series& series) const noexcept;

  // Supervisor: moves what a worker that has ended counted into `retired`, and zeroes its gauges. Idempotent.
  void fold_worker(std::uint32_t worker) noexcept;

  Usage usage() const noexcept;
  const Seed& seed() const noexcept { return seed_; }

 private:
  struct Head;
  struct Entry;
  struct Plan;

  static Plan plan(const Shape& shape) noexcept;
  bool sum(std::uint32_t id, SeriesTotal& total, std::uint64_t (&integers)[kMaxBuckets + 1]) const noexcept;
  std::uint32_t add_locked(SeriesKind kind, std::string_view text, std::uint32_t cells, const Key& key) noexcept;
  bool real_cell(const Entry& e, std::uint32_t i) const noexcept;
  Word sum_cell_locked(std::uint32_t cell, bool real) const noexcept;
  Word* page_cells(std::uint32_t page) const noexcept;  // page 0 = retired, worker w = w + 1
  void recover() const noexcept;

  std::byte* base_;
  Head* head_;
  std::uint32_t* buckets_;
  Entry* entries_;
  char* text_;
  std::uint64_t pages_at_;  // offset of page 0 in the region
  std::uint64_t page_bytes_;
  Seed seed_;
};

}  // namespace sluice::shm
