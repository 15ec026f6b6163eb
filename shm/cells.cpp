// Cells: catalogue, pages, sums, folding. See cells.hpp.
//
// Layout: | head | buckets | entries | texts | page `retired` | page of worker 0 | page of worker 1 | … (sparse) |
#include "shm/cells.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace sluice::shm {
namespace {

constexpr std::uint64_t kCellsPerSeries = 6;   // planned mix of single cells and histograms
constexpr std::uint64_t kTextPerSeries = 160;  // planned mean
constexpr std::array kKinds{SeriesKind::counter, SeriesKind::counter_real, SeriesKind::gauge, SeriesKind::histogram};

}  // namespace

struct Cells::Head {
  RobustMutex mutex;
  Journal journal;
  // Guarded by mutex; used counts only grow.
  Word series, cells, text, overflows;
  Word worker_pages;  // one past the highest worker slot that has a page
  // Fixed.
  std::uint32_t series_max, buckets;
  std::uint64_t cells_max, text_max, page_bytes;
  std::uint64_t buckets_at, entries_at, text_at, pages_at;  // from this head
  std::uint32_t worker_slots;
};

struct Cells::Entry {
  Word hi, lo;
  std::uint32_t next;  // in the bucket's chain, id + 1
  SeriesKind kind;
  std::uint32_t first;  // cell
  std::uint32_t cells;
  std::uint32_t text;  // offset
  std::uint32_t length;
};

struct Cells::Plan {
  Head head;
  std::uint64_t fixed;      // bytes in front of the pages
  std::uint64_t footprint;  // everything
};

Cells::Plan Cells::plan(const Shape& shape) noexcept {
  Plan p{};
  Head& h = p.head;
  const std::uint64_t per_series = sizeof(Entry) + 4 + kTextPerSeries + kCellsPerSeries * 8;
  const std::uint64_t series = std::max<std::uint64_t>(shape.bytes / per_series, 2 * kKinds.size());
  h.series_max = static_cast<std::uint32_t>(series);
  h.buckets = std::bit_floor(h.series_max);
  h.cells_max = series * kCellsPerSeries + kMaxBuckets;
  h.text_max = series * kTextPerSeries;
  h.worker_slots = shape.worker_slots;
  h.page_bytes = align_up(h.cells_max * 8, kPage);
  h.buckets_at = align_up(sizeof(Head), kCacheLine);
  h.entries_at = align_up(h.buckets_at + h.buckets * 4, kCacheLine);
  h.text_at = h.entries_at + series * sizeof(Entry);
  h.pages_at = align_up(h.text_at + h.text_max, kPage);
  p.fixed = h.pages_at;
  p.footprint = h.pages_at + (1 + std::uint64_t{h.worker_slots}) * h.page_bytes;
  return p;
}

std::uint64_t Cells::footprint(const Shape& shape) noexcept { return plan(shape).footprint; }

Result<void> Cells::format(Region& region, std::uint64_t offset, const Shape& shape) {
  const Plan p = plan(shape);
  if (auto ok = region.back(offset, p.fixed + p.head.page_bytes); !ok) return ok.error();
  Head& h = *region.at<Head>(offset);
  h = p.head;
  h.mutex.init();
  Cells cells(region, offset);
  // The first series of each kind take what finds no place.
  Guard guard(h.mutex, [&] { cells.recover(); });
  for (SeriesKind kind : kKinds) {
    const Key key = KeyHasher(region.seed()).add(static_cast<std::uint64_t>(kind)).add("other").finish();
    cells.add_locked(kind, "other", kind == SeriesKind::histogram ? kMaxBuckets + 1 : 1, key);
  }
  return {};
}

Cells::Cells(const Region& region, std::uint64_t offset) noexcept
    : base_(region.data()),
      head_(region.at<Head>(offset)),
      buckets_(region.at<std::uint32_t>(offset + head_->buckets_at)),
      entries_(region.at<Entry>(offset + head_->entries_at)),
      text_(region.at<char>(offset + head_->text_at)),
      pages_at_(offset + head_->pages_at),
      page_bytes_(head_->page_bytes),
      seed_(region.seed()) {}

void Cells::recover() const noexcept { head_->journal.roll_back(base_); }

Word* Cells::page_cells(std::uint32_t page) const noexcept {
  return reinterpret_cast<Word*>(base_ + pages_at_ + page * page_bytes_);
}

CellPage Cells::page(std::uint32_t worker) const noexcept {
  return worker < head_->worker_slots ? CellPage(page_cells(worker + 1)) : CellPage();
}

// Appends a series; its id. REQUIRES: there is room.
std::uint32_t Cells::add_locked(SeriesKind kind, std::string_view text, std::uint32_t cells, const Key& key) noexcept {
  Head& h = *head_;
  const auto id = static_cast<std::uint32_t>(h.series);
  std::uint32_t& bucket = buckets_[key.hi & (h.buckets - 1)];
  Entry& e = entries_[id];  // beyond the used ones: filled without the journal
  e.hi = key.hi;
  e.lo = key.lo;
  e.next = bucket;
  e.kind = kind;
  e.first = static_cast<std::uint32_t>(h.cells);
  e.cells = cells;
  e.text = static_cast<std::uint32_t>(h.text);
  e.length = static_cast<std::uint32_t>(text.size());
  std::memcpy(text_ + e.text, text.data(), text.size());
  Transaction tx(h.journal, base_);
  tx.set(h.cells, h.cells + cells);
  tx.set(h.text, h.text + text.size());
  tx.set_half(bucket, id + 1);
  tx.set(h.series, id + 1);
  tx.commit();
  return id;
}

Series Cells::intern(SeriesKind kind, std::string_view text, std::uint32_t buckets) noexcept {
  const std::uint32_t cells = kind == SeriesKind::histogram ? std::clamp(buckets, 1u, kMaxBuckets) + 1 : 1;
  const Key key = KeyHasher(seed_).add(static_cast<std::uint64_t>(kind)).add(text).finish();
  Head& h = *head_;
  Guard guard(h.mutex, [this] { recover(); });
  std::uint32_t id = buckets_[key.hi & (h.buckets - 1)];
  while (id != 0 && (entries_[id - 1].lo != key.lo || entries_[id - 1].hi != key.hi)) id = entries_[id - 1].next;
  if (id != 0) {
    --id;
  } else if (text.size() > kMaxText || h.series >= h.series_max || h.cells + cells > h.cells_max ||
             h.text + text.size() > h.text_max) {
    add_word(h.overflows, 1);
    id = static_cast<std::uint32_t>(kind);  // `other` of the kind: interned first, in order of kind
  } else {
    id = add_locked(kind, text, cells, key);
  }
  const Entry& e = entries_[id];
  return Series{id, e.first, e.cells, e.kind};
}

Result<void> Cells::prepare_worker(const Region& region, std::uint32_t worker) noexcept {
  if (worker >= head_->worker_slots) return invalid("worker slot out of range", "shared memory");
  if (auto ok = region.back(pages_at_ + (worker + 1) * page_bytes_, page_bytes_); !ok) return ok.error();
  Guard guard(head_->mutex, [this] { recover(); });
  if (head_->worker_pages <= worker) store_word(head_->worker_pages, worker + 1);
  return {};
}

bool Cells::real_cell(const Entry& e, std::uint32_t i) const noexcept {
  return e.kind == SeriesKind::counter_real || e.kind == SeriesKind::gauge ||
         (e.kind == SeriesKind::histogram && i + 1 == e.cells);
}

Word Cells::sum_cell_locked(std::uint32_t cell, bool real) const noexcept {
  std::uint64_t integer = 0;
  double total = 0;
  for (std::uint32_t page = 0; page <= head_->worker_pages; ++page) {
    const Word w = load_word(page_cells(page)[cell]);
    if (real)
      total += std::bit_cast<double>(w);
    else
      integer += w;
  }
  return real ? std::bit_cast<Word>(total) : integer;
}

bool Cells::sum(std::uint32_t id, SeriesTotal& total, std::uint64_t (&integers)[kMaxBuckets + 1]) const noexcept {
  if (id >= load_word(head_->series)) return false;
  // One series per hold: the lock only keeps folding out, workers count on meanwhile.
  Guard guard(head_->mutex, [this] { recover(); });
  const Entry& e = entries_[id];
  total.kind = e.kind;
  total.text = {text_ + e.text, e.length};
  std::uint32_t n = 0;
  for (std::uint32_t i = 0; i < e.cells; ++i) {
    const bool real = real_cell(e, i);
    const Word w = sum_cell_locked(e.first + i, real);
    if (real)
      total.real = std::bit_cast<double>(w);
    else
      integers[n++] = w;
  }
  total.integers = {integers, n};
  return true;
}

std::uint64_t Cells::sum(const Series& series) const noexcept {
  SeriesTotal total;
  std::uint64_t integers[kMaxBuckets + 1];
  std::uint64_t all = 0;
  if (sum(series.id, total, integers))
    for (auto n : total.integers) all += n;
  return all;
}

double Cells::sum_real(const Series& series) const noexcept {
  SeriesTotal total;
  std::uint64_t integers[kMaxBuckets + 1];
  return sum(series.id, total, integers) ? total.real : 0;
}

void Cells::fold_worker(std::uint32_t worker) noexcept {
  if (worker >= head_->worker_slots || worker >= load_word(head_->worker_pages)) return;
  Word* retired = page_cells(0);
  Word* gone = page_cells(worker + 1);
  const auto series = static_cast<std::uint32_t>(load_word(head_->series));
  for (std::uint32_t from = 0; from < series; from += kMaxPerHold) {
    Guard guard(head_->mutex, [this] { recover(); });
    for (std::uint32_t id = from; id < std::min(series, from + kMaxPerHold); ++id) {
      const Entry& e = entries_[id];
      for (std::uint32_t i = 0; i < e.cells; ++i) {
        const std::uint32_t c = e.first + i;
        if (gone[c] == 0) continue;
        Transaction tx(head_->journal, base_);
        if (e.kind != SeriesKind::gauge)
          tx.set(retired[c], real_cell(e, i) ? std::bit_cast<Word>(std::bit_cast<double>(retired[c]) +
                                                                   std::bit_cast<double>(gone[c]))
                                             : retired[c] + gone[c]);
        tx.set(gone[c], 0);
        tx.commit();
      }
    }
  }
}

Cells::Usage Cells::usage() const noexcept {
  const Head& h = *head_;
  Usage u;
  u.bytes = h.pages_at + (1 + load_word(h.worker_pages)) * h.page_bytes;
  u.series = load_word(h.series);
  u.series_max = h.series_max;
  u.cells = load_word(h.cells);
  u.cells_max = h.cells_max;
  u.text_bytes = load_word(h.text);
  u.text_max = h.text_max;
  u.overflows = load_word(h.overflows);
  u.lock_waits = h.mutex.waits();
  u.recoveries = h.mutex.recoveries();
  return u;
}

}  // namespace sluice::shm
