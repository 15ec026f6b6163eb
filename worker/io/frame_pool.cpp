#include "worker/io/frame_pool.hpp"

#include <cstdlib>

namespace sluice::worker {
namespace {

struct Free {
  Free* next;
};

struct Lists {
  Free* heads[129] = {};
  std::size_t fresh = 0;
};

thread_local constinit Lists lists;

void* fresh_block(std::size_t bytes) noexcept {
  ++lists.fresh;
  void* p = std::malloc(bytes);
  if (p == nullptr) std::abort();  // out of memory is a restart of the worker, on purpose
  return p;
}

}  // namespace

void* FramePool::allocate(std::size_t bytes) noexcept {
  const std::size_t c = (bytes + kStep - 1) / kStep;
  if (c > kClasses) return fresh_block(bytes);
  if (Free* f = lists.heads[c]) {
    lists.heads[c] = f->next;
    return f;
  }
  return fresh_block(c * kStep);
}

void FramePool::release(void* p, std::size_t bytes) noexcept {
  const std::size_t c = (bytes + kStep - 1) / kStep;
  if (c > kClasses) {
    std::free(p);
    return;
  }
  Free* f = static_cast<Free*>(p);
  f->next = lists.heads[c];
  lists.heads[c] = f;
}

std::size_t FramePool::fresh_blocks() noexcept { return lists.fresh; }

}  // namespace sluice::worker
