#include "worker/io/buffer.hpp"

#include <cstdlib>

namespace sluice::worker {
namespace {

struct Free {
  Free* next;
};
struct SizeClass {
  std::size_t size;
  std::size_t keep;  // blocks in reserve
  Free* first = nullptr;
  std::size_t kept = 0;
};

thread_local constinit SizeClass classes[] = {
    {Buffer::kSmall, 2048}, {Buffer::kMedium, 256}, {Buffer::kLarge, 64}, {Buffer::kHuge, 4}};
thread_local constinit std::size_t outstanding = 0;

SizeClass& class_of(std::size_t n) noexcept {
  for (SizeClass& c : classes)
    if (n <= c.size) return c;
  std::abort();
}

}  // namespace

Buffer::Buffer(std::size_t at_least) noexcept {
  SizeClass& c = class_of(at_least);
  if (Free* f = c.first) {
    c.first = f->next;
    --c.kept;
    data_ = reinterpret_cast<char*>(f);
  } else {
    data_ = static_cast<char*>(std::malloc(c.size));
    if (data_ == nullptr) std::abort();  // out of memory is a restart of the worker, on purpose
  }
  size_ = c.size;
  outstanding += size_;
}

void Buffer::give_back() noexcept {
  SizeClass& c = class_of(size_);
  outstanding -= size_;
  if (c.kept >= c.keep) {
    std::free(data_);
  } else {
    Free* f = reinterpret_cast<Free*>(data_);
    f->next = c.first;
    c.first = f;
    ++c.kept;
  }
  data_ = nullptr;
  size_ = 0;
}

std::size_t Buffer::outstanding_bytes() noexcept { return outstanding; }

}  // namespace sluice::worker
