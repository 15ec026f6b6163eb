// The undo journal of a shard: what makes a critical section all or nothing though its process may die at any store.
//
// Before a word is changed, its place and old value are noted and the count of notes is raised; the count above zero is
// the armed state. Commit is one store: count = 0. Whoever finds the owner dead puts the noted words back, newest
// first, and then sets the count to zero; doing that twice, or half and again, gives the same memory.
//
// Store order (compiler and CPU): note, count, word; last word, count = 0. Release fences between them; on x86 they
// cost nothing. The dead owner's stores are visible to the next one because taking the lock synchronises with its
// death.
//
// A record that is read without the lock has a sequence word, odd while it is being written. The sequence is not
// journaled: going back to an old even value would let a reader accept a mix. The journal remembers which sequence is
// open, and both commit and roll-back end by moving it to the next even value.
#pragma once

#include <atomic>
#include <cassert>
#include <cstddef>
#include <cstdint>

#include "shm/fault.hpp"
#include "shm/word.hpp"

namespace sluice::shm {

// In shared memory, guarded by the shard's mutex. All zero is the disarmed state.
struct Journal {
  static constexpr std::uint32_t kCapacity = 39;

  struct Note {
    Word offset;  // of the word, from the region's base
    Word old;
  };

  Word count;     // notes in force
  Word open_seq;  // offset of the sequence word that is odd, 0 = none
  Note notes[kCapacity];

  // Undoes what a dead owner left. Idempotent, O(1). REQUIRES: the shard's mutex is held.
  // Returns true when there was something to undo.
  bool roll_back(std::byte* base) noexcept;
};
static_assert(sizeof(Journal) == 640);

// One all-or-nothing change, made under the shard's mutex. Not committed when destroyed: rolled back.
class Transaction {
 public:
  Transaction(Journal& journal, std::byte* base) noexcept : journal_(journal), base_(base) {}
  ~Transaction() {
    if (count_ != 0 || seq_ != nullptr) journal_.roll_back(base_);
  }
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;

  // word = value, undone if the process dies before commit(). No-op when it holds the value already.
  void set(Word& word, Word value) noexcept {
    const Word old = word;
    if (old == value) return;
    assert(count_ < Journal::kCapacity);
    Journal::Note& note = journal_.notes[count_];
    store_word(note.offset, offset_of(word));
    store_word(note.old, old);
    step_for_test();
    release_fence();
    store_word(journal_.count, ++count_);
    step_for_test();
    release_fence();
    store_word(word, value);
    step_for_test();
  }

  // The same for half a word. `half` must lie in memory whose other half is guarded by the same mutex.
  void set_half(std::uint32_t& half, std::uint32_t value) noexcept {
    const auto address = reinterpret_cast<std::uintptr_t>(&half);
    Word& word = *reinterpret_cast<Word*>(address & ~std::uintptr_t{7});
    set(word, (address & 4) != 0 ? with_high(word, value) : with_low(word, value));
  }

  // From here to commit() readers without the lock see `seq` odd and try again. At most one per transaction.
  void open_seq(Word& seq) noexcept {
    assert(seq_ == nullptr && count_ == 0);
    seq_ = &seq;
    store_word(journal_.open_seq, offset_of(seq));
    step_for_test();
    release_fence();
    store_word(seq, load_word(seq) | 1);
    step_for_test();
    release_fence();
  }

  void commit() noexcept {
    release_fence();
    if (count_ != 0) {
      store_word(journal_.count, 0);
      count_ = 0;
      step_for_test();
    }
    if (seq_ != nullptr) {
      release_fence();
      store_word(*seq_, load_word(*seq_) + 1);
      step_for_test();
      release_fence();
      store_word(journal_.open_seq, 0);
      seq_ = nullptr;
      step_for_test();
    }
  }

 private:
  Word offset_of(const Word& word) const noexcept {
    return static_cast<Word>(reinterpret_cast<const std::byte*>(&word) - base_);
  }

  Journal& journal_;
  std::byte* base_;
  Word* seq_ = nullptr;
  std::uint32_t count_ = 0;
};

}  // namespace sluice::shm
