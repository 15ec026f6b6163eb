// The pool behind Arena: fixed blocks in a free list per thread, so that the steady path never reaches malloc.
//
// What is larger than a block comes from malloc and goes back there. The free list is bounded; under a sanitizer there
// is none, so that a view that outlives its request is found.
#include "plugins/sdk/arena.hpp"

#include <algorithm>
#include <cstdlib>
#include <initializer_list>

namespace sluice::sdk {

struct alignas(std::max_align_t) Arena::Block {
  Block* next;
  std::size_t bytes;  // whole block, this head included
};

namespace {
#ifdef SLUICE_SANITIZED
constexpr std::size_t kPoolBlocks = 0;
#else
constexpr std::size_t kPoolBlocks = 2048;  // 16 MiB per thread at most
#endif

struct FreeBlock {
  FreeBlock* next;
};
thread_local FreeBlock* t_free = nullptr;
thread_local std::size_t t_free_count = 0;

void* take_block() noexcept {
  if (t_free != nullptr) {
    FreeBlock* block = t_free;
    t_free = block->next;
    --t_free_count;
    return block;
  }
  return std::malloc(Arena::kBlockBytes);
}

void give_block(void* memory, std::size_t bytes) noexcept {
  if (bytes != Arena::kBlockBytes || t_free_count >= kPoolBlocks) {
    std::free(memory);
    return;
  }
  t_free = new (memory) FreeBlock{t_free};
  ++t_free_count;
}
}  // namespace

void* Arena::allocate_slow(std::size_t bytes, std::size_t align) noexcept {
  const std::size_t need = sizeof(Block) + bytes + align;
  if (need < bytes) std::abort();
  const bool own = need > kBlockBytes / 2;
  const std::size_t size = own ? std::max(need, kBlockBytes) : kBlockBytes;
  void* memory = size == kBlockBytes ? take_block() : std::malloc(size);
  if (memory == nullptr) std::abort();  // out of memory: the supervisor starts a new worker
  bytes_ += size;
  auto* block = new (memory) Block{nullptr, size};
  char* begin = static_cast<char*>(memory) + sizeof(Block);
  if (size > kBlockBytes && blocks_ != nullptr) {
    // A large one: what is left of the current block stays in use.
    block->next = blocks_->next;
    blocks_->next = block;
    const auto at = (reinterpret_cast<std::size_t>(begin) + align - 1) & ~(align - 1);
    return reinterpret_cast<void*>(at);
  }
  block->next = blocks_;
  blocks_ = block;
  cursor_ = begin;
  end_ = static_cast<char*>(memory) + size;
  const auto at = (reinterpret_cast<std::size_t>(cursor_) + align - 1) & ~(align - 1);
  cursor_ = reinterpret_cast<char*>(at) + bytes;
  return reinterpret_cast<void*>(at);
}

std::string_view Arena::concat(std::initializer_list<std::string_view> parts) noexcept {
  std::size_t total = 0;
  for (auto part : parts) total += part.size();
  if (total == 0) return {"", 0};
  char* const begin = static_cast<char*>(allocate(total, 1));
  char* out = begin;
  for (auto part : parts) {
    if (!part.empty()) std::memcpy(out, part.data(), part.size());
    out += part.size();
  }
  return {begin, total};
}

void Arena::reset() noexcept {
  for (Block* block = blocks_; block != nullptr;) {
    Block* next = block->next;
    give_block(block, block->bytes);
    block = next;
  }
  blocks_ = nullptr;
  cursor_ = end_ = nullptr;
  bytes_ = 0;
}

}  // namespace sluice::sdk
