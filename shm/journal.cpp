// Roll-back. See journal.hpp for the order of stores that it relies on.
#include "shm/journal.hpp"

namespace sluice::shm {

bool Journal::roll_back(std::byte* base) noexcept {
  const auto word_at = [base](Word offset) -> Word& { return *reinterpret_cast<Word*>(base + offset); };
  const Word armed = load_word(count);
  const Word seq_offset = load_word(open_seq);
  if (armed == 0 && seq_offset == 0) return false;

#ifndef SLUICE_MUTATION_NO_ROLLBACK
  if (seq_offset != 0 && armed != 0) {
    // The words move once more: readers must not trust them meanwhile.
    store_word(word_at(seq_offset), load_word(word_at(seq_offset)) | 1);
    step_for_test();
    release_fence();
  }
  for (Word i = armed; i-- > 0;) {
    store_word(word_at(notes[i].offset), notes[i].old);
    step_for_test();
  }
#endif
  release_fence();
  store_word(count, 0);
  step_for_test();
  if (seq_offset != 0) {
    release_fence();
    Word& seq = word_at(seq_offset);
    if ((load_word(seq) & 1) != 0) store_word(seq, load_word(seq) + 1);
    step_for_test();
    release_fence();
    store_word(open_seq, 0);
    step_for_test();
  }
  return true;
}

}  // namespace sluice::shm
