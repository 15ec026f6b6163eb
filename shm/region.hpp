// A region: one anonymous shared memory file (memfd), mapped by every process of the gateway.
//
// The master creates it before it forks; children inherit the mapping; a new binary attaches by descriptor. The file is
// as long as everything may ever become, and sparse: address space costs nothing, so what grows later grows in place.
// Pages are allocated with back() before anybody writes to them: a page fault inside a critical section can then
// neither fail nor raise SIGBUS. Nothing in a region is a pointer: mappings may lie elsewhere in a new binary.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "conf/base/result.hpp"
#include "shm/hash.hpp"

namespace sluice::shm {

// First bytes of the file. Written once by create(), but for `used`.
struct RegionHeader {
  std::uint64_t magic;
  std::uint32_t version;      // of this header and of every layout behind it
  std::uint32_t root;         // offset of the catalog's directory, 0 = none
  std::uint64_t layout_hash;  // of the record layouts: a binary with others must not attach
  Seed seed;
  std::uint64_t size;  // of the file
  std::uint64_t used;  // carved so far; the master alone moves it
  char name[32];
};
static_assert(sizeof(RegionHeader) == 88);

class Region {
 public:
  enum class Backing { all, sparse };

  // A new region of `size` bytes (rounded up to pages). `all` allocates every page now; `sparse` leaves it to back().
  // io when the kernel refuses.
  static Result<Region> create(std::string_view name, std::size_t size, Backing backing = Backing::all);

  // Maps the region behind `fd` and takes the descriptor over. invalid when it is none of ours or has another layout.
  static Result<Region> attach(int fd);

  Region(Region&& other) noexcept;
  Region& operator=(Region&& other) noexcept;
  Region(const Region&) = delete;
  ~Region();

  std::byte* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }
  int fd() const noexcept { return fd_; }
  const Seed& seed() const noexcept { return header().seed; }
  RegionHeader& header() const noexcept { return *reinterpret_cast<RegionHeader*>(data_); }

  template <class T>
  T* at(std::uint64_t offset) const noexcept {
    return reinterpret_cast<T*>(data_ + offset);
  }

  // Takes the next `bytes` of the file, aligned to pages; its offset. REQUIRES: the master, before it forks.
  Result<std::uint64_t> carve(std::uint64_t bytes);

  // Allocates the pages of [offset, offset + bytes); what was there stays. io when memory is out.
  Result<void> back(std::uint64_t offset, std::uint64_t bytes) const;

  // Bytes of memory that the file holds now.
  std::uint64_t backed_bytes() const noexcept;

  // Whether the descriptor survives exec (binary upgrade); off after create() and attach().
  void keep_over_exec(bool keep) const noexcept;

 private:
  Region(int fd, std::byte* data, std::size_t size) noexcept : fd_(fd), data_(data), size_(size) {}

  int fd_ = -1;
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace sluice::shm
