// The engine under every table of records: shards, hash index, LRU chain, fixed slots, undo journal. Knows values only
// as words. Dict<V>, LeaseDict and SlotTable<V> are thin typed faces of it; requests never use it directly.
//
// A table is cut into shards. A shard = robust mutex on its own line, lists and counts, journal, bucket array, slots:
//
//   | mutex | lists, counts | statistics | journal | worker heads | buckets ... | leases ... | slots ......(reserve) |
//
// A slot = 64-byte header (key, expiry, limit, owner, links, sequence), value words, key text for inspection. Links are
// 32-bit slot numbers, 1-based: zeroed memory is an empty table. All of it is guarded by the shard's mutex, except that
// the words of a record may be read without it under the record's sequence word (seqlock.hpp).
//
// Every change runs in a Transaction: it is complete or undone, whenever the process dies. A slot that is not linked
// anywhere is filled without the journal; only the stores that link it are noted.
//
// The shard of a key is computed in one place: shard_of(). No function takes two locks.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "conf/base/clock.hpp"
#include "shm/hash.hpp"
#include "shm/journal.hpp"
#include "shm/owner_table.hpp"
#include "shm/region.hpp"
#include "shm/robust_mutex.hpp"
#include "shm/stats.hpp"

namespace sluice::shm {

// What a table is made of. Fixed when it is formatted, but for `bytes` (DictCore::resize).
struct DictShape {
  std::uint64_t bytes = 10u << 20;  // memory for records and their index
  std::uint32_t value_words = 8;    // 64-bit words per value, up to 8
  std::uint32_t shards = 0;         // power of two; 0 = by capacity
  bool leases = false;              // room for the lease ledger
  std::uint32_t worker_slots = 0;   // of the ledger
  std::uint32_t growth = 8;         // resize() may go up to growth × bytes (address space only)
};

// What a record carries beside its value.
struct RecordMeta {
  TimePoint expires{};      // zero = never
  std::uint64_t limit = 0;  // the limit in force when it was last written, for inspection
  bool discarded = false;

  // The update shall write nothing; its record only becomes the most recently used.
  void discard() noexcept { discarded = true; }
};

class DictCore {
 public:
  static constexpr std::uint32_t kMaxValueWords = 8;
  static constexpr std::uint32_t kMinTextBytes = 40;
  static constexpr std::uint32_t kMaxPerHold = 64;  // slots that inspection copies per lock hold

  struct Slot {
    Word hi, lo;  // key
    Word expiry;  // ns, 0 = never; slot tables: when it was last updated
    Word limit;
    Word owner;  // id | epoch << 32
    Word lru;    // towards head | towards tail << 32
    Word chain;  // next in bucket or free list | (text length, kLive) << 32
    Word seq;    // odd while words are being written (records read without the lock)
    Word value[1];
  };
  static constexpr std::uint32_t kLive = 1u << 31;  // in the high half of chain: the slot is linked in its bucket

  // One unit of the ledger: how much of a record's total is in flight in one worker. See ledger.hpp.
  struct Lease {
    Word slot_count;   // slot | count << 32
    Word next_worker;  // next lease of the same record, or next free | worker slot << 32
    Word links;        // neighbours in the worker's chain of this shard: previous | next << 32
  };

  struct Shard {
    RobustMutex mutex;
    // All below: guarded by mutex.
    Word lru;         // head | tail << 32
    Word free;        // first free slot | high water (slots ever used) << 32
    Word counts;      // entries | pinned << 32
    Word lease_free;  // first free lease | high water << 32
    Word backed;      // slots with memory | leases with memory << 32
    Word allowance;   // entries that the size allows
    Word clearing;    // 1 while an emptying that may be interrupted is under way
    Word cleared;
    Word hits, misses, evictions, expired, refused;  // statistics: not journaled, off by one after a death at most
    Word spare[3];
    Journal journal;
  };
  static_assert(sizeof(Shard) % kCacheLine == 0);

  static std::uint64_t footprint(const DictShape& shape) noexcept;
  static Result<void> format(Region& region, std::uint64_t offset, const DictShape& shape);

  // A process's view of a formatted table. `owners` may be null (then epochs are not looked at).
  DictCore(const Region& region, std::uint64_t offset, const OwnerTable* owners) noexcept;

  std::uint32_t value_words() const noexcept { return value_words_; }
  std::uint32_t text_bytes() const noexcept { return text_bytes_; }
  std::uint32_t shards() const noexcept { return shards_; }
  const Seed& seed() const noexcept { return seed_; }
  const OwnerTable* owners() const noexcept { return owners_; }

  std::uint32_t shard_of(const Key& key) const noexcept {
    return static_cast<std::uint32_t>((key.hi >> 32) & (shards_ - 1));
  }

  // Holds a shard's lock; what happens inside must be short, and must not take another lock.
  class Section {
   public:
    Section(const DictCore& core, std::uint32_t shard) noexcept
        : core_(core), number_(shard), shard_(core.shard(shard)) {
      shard_.mutex.lock([&] { core_.recover_locked(shard); });
    }
    Section(const DictCore& core, const Key& key) noexcept : Section(core, core.shard_of(key)) {}
    ~Section() { shard_.mutex.unlock(); }
    Section(const Section&) = delete;
    Section& operator=(const Section&) = delete;

    Shard& shard() const noexcept { return shard_; }
    std::uint32_t number() const noexcept { return number_; }
    Transaction begin() const noexcept { return Transaction(shard_.journal, core_.base_); }
    Slot& slot(std::uint32_t i) const noexcept { return core_.slot(number_, i); }

   private:
    const DictCore& core_;
    std::uint32_t number_;
    Shard& shard_;
  };

  // ---- under the lock of the section ----

  // Slot of the key, 0 when there is none; expired records are found too.
  std::uint32_t find_locked(const Section& s, const Key& key) const noexcept;

  // Whether a found record counts: not expired, of its owner's present epoch.
  bool alive_locked(const Slot& r, TimePoint now) const noexcept {
    if (r.expiry != 0 && static_cast<std::int64_t>(r.expiry) <= to_ns(now)) return false;
    return owners_ == nullptr || owners_->epoch(low_half(r.owner)) == high_half(r.owner);
  }

  // A new record. `values` covers the whole value, or its front (the rest is zero).
  struct Fresh {
    Key key;
    OwnerId owner;
    std::string_view text;
    std::span<const Word> value;
    RecordMeta meta;
    bool pinned = false;  // outside of the LRU chain, and announced to readers without the lock
  };
  // Its slot, most recently used; evicts if it must. 0 when nothing can be evicted.
  std::uint32_t insert_locked(const Section& s, const Fresh& record, TimePoint now) const noexcept;

  // Writes the front of the value, and meta, in one transaction, and makes the record the most recently used.
  void write_locked(const Section& s, std::uint32_t slot, OwnerId owner, std::span<const Word> value,
                    const RecordMeta& meta) const noexcept;
  void touch_locked(const Section& s, std::uint32_t slot) const noexcept;
  void remove_locked(const Section& s, std::uint32_t slot) const noexcept;

  // Out of and into the LRU chain; a record outside of it is pinned. Part of the caller's transaction.
  void lru_unlink_locked(const Section& s, Transaction& tx, std::uint32_t slot) const noexcept;
  void lru_push_locked(const Section& s, Transaction& tx, std::uint32_t slot) const noexcept;

  // ---- whole table ----

  // A position of the inspection, opaque; start with {}.
  struct Cursor {
    std::uint32_t shard = 0;
    std::uint32_t slot = 1;
  };
  // Copies the headers, values and texts of up to kMaxPerHold slots (raw, one stride each, living records only) to
  // `out`; moves the cursor. Returns how many; *done when the table's end was reached.
  std::uint32_t copy_some(Cursor& cursor, std::byte* out, bool* done) const noexcept;
  std::uint32_t stride() const noexcept { return stride_; }

  Stats stats() const noexcept;

  // New size. Growing backs more memory within the reserve (at most growth × the first size); shrinking lowers the
  // allowance, and later updates evict what is over it. REQUIRES: `region` is the one it lives in.
  Result<void> resize(const Region& region, std::uint64_t bytes) noexcept;

  Shard& shard(std::uint32_t n) const noexcept {
    return *reinterpret_cast<Shard*>(base_ + shards_at_ + n * shard_stride_);
  }
  Slot& slot(std::uint32_t shard, std::uint32_t i) const noexcept {
    return *reinterpret_cast<Slot*>(base_ + shards_at_ + shard * shard_stride_ + slots_at_ +
                                    std::uint64_t{i - 1} * stride_);
  }
  Lease& lease(std::uint32_t shard, std::uint32_t i) const noexcept {
    return *reinterpret_cast<Lease*>(base_ + shards_at_ + shard * shard_stride_ + leases_at_ +
                                     std::uint64_t{i - 1} * sizeof(Lease));
  }
  // First lease of a worker in the shard.
  std::uint32_t& worker_head(std::uint32_t shard, std::uint32_t worker) const noexcept {
    return *reinterpret_cast<std::uint32_t*>(base_ + shards_at_ + shard * shard_stride_ + sizeof(Shard) +
                                             std::uint64_t{worker} * 4);
  }
  std::uint32_t worker_slots() const noexcept { return worker_slots_; }

  std::string_view text_of(const Slot& r) const noexcept {
    return {reinterpret_cast<const char*>(&r) + 64 + value_words_ * 8, high_half(r.chain) & ~kLive};
  }

 private:
  struct Head;
  struct Plan;
  friend class Section;

  static Plan plan(const DictShape& shape) noexcept;
  std::uint32_t& bucket(std::uint32_t shard, const Key& key) const noexcept {
    return *reinterpret_cast<std::uint32_t*>(base_ + shards_at_ + shard * shard_stride_ + buckets_at_ +
                                             (key.lo & bucket_mask_) * 4);
  }
  void recover_locked(std::uint32_t shard) const noexcept;
  bool check_locked(std::uint32_t shard) const noexcept;
  void clear_locked(std::uint32_t shard) const noexcept;
  bool make_room_locked(const Section& s, TimePoint now) const noexcept;
  bool has_room_locked(const Section& s) const noexcept;

  std::byte* base_;
  Head* head_;
  const OwnerTable* owners_;
  std::uint64_t shards_at_;  // offset of shard 0 from base_
  std::uint64_t shard_stride_;
  std::uint64_t buckets_at_, leases_at_, slots_at_;  // from the shard's start
  std::uint64_t bucket_mask_;
  std::uint32_t shards_;
  std::uint32_t stride_;
  std::uint32_t value_words_;
  std::uint32_t text_bytes_;
  std::uint32_t slots_max_;
  std::uint32_t worker_slots_;
  Seed seed_;
};

}  // namespace sluice::shm
