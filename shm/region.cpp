// Region over memfd. See region.hpp.
#include "shm/region.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "shm/word.hpp"

namespace sluice::shm {
namespace {

constexpr std::uint64_t kMagic = 0x314d485345434c53;  // "SLCESHM1"
constexpr std::uint32_t kVersion = 1;

Error os_error(std::string_view what) {
  return Error{Errc::io, "shared memory", std::string(what) + ": " + std::strerror(errno), "shm", false};
}

Error not_ours(std::string reason) { return Error{Errc::invalid, "shared memory", std::move(reason), "shm", false}; }

}  // namespace

Result<Region> Region::create(std::string_view name, std::size_t size, Backing backing) {
  size = align_up(size < kPage ? kPage : size, kPage);
  const std::string label = "sluice:" + std::string(name);
  const int fd = ::memfd_create(label.c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0) return os_error("memfd_create");
  Region region(fd, nullptr, 0);  // closes fd on every way out
  if (::ftruncate(fd, static_cast<off_t>(size)) != 0) return os_error("ftruncate");
  // Nobody may shorten it under our feet: that would be SIGBUS in every process.
  if (::fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK) != 0) return os_error("seal");
  void* at = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
  if (at == MAP_FAILED) return os_error("mmap");
  region.data_ = static_cast<std::byte*>(at);
  region.size_ = size;
  if (auto backed = region.back(0, backing == Backing::all ? size : kPage); !backed) return backed.error();

  RegionHeader& h = region.header();
  if (::getrandom(&h.seed, sizeof h.seed, 0) != static_cast<ssize_t>(sizeof h.seed)) return os_error("getrandom");
  h.version = kVersion;
  h.size = size;
  h.used = kPage;
  std::memcpy(h.name, name.data(), std::min(name.size(), sizeof h.name - 1));
  h.magic = kMagic;
  return region;
}

Result<Region> Region::attach(int fd) {
  Region region(fd, nullptr, 0);
  struct stat st {};
  if (::fstat(fd, &st) != 0) return os_error("fstat");
  if (st.st_size < static_cast<off_t>(kPage)) return not_ours("the descriptor is not a region (too short)");
  const auto size = static_cast<std::size_t>(st.st_size);
  void* at = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
  if (at == MAP_FAILED) return os_error("mmap");
  region.data_ = static_cast<std::byte*>(at);
  region.size_ = size;
  const RegionHeader& h = region.header();
  if (h.magic != kMagic) return not_ours("the descriptor is not a region (magic)");
  if (h.version != kVersion)
    return not_ours("layout version " + std::to_string(h.version) + ", expected " + std::to_string(kVersion));
  if (h.size != size || h.used > size) return not_ours("sizes in the header do not fit the file");
  region.keep_over_exec(false);
  return region;
}

Region::Region(Region&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)) {}

Region& Region::operator=(Region&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

Region::~Region() {
  if (data_ != nullptr) ::munmap(data_, size_);
  if (fd_ >= 0) ::close(fd_);
}

Result<std::uint64_t> Region::carve(std::uint64_t bytes) {
  RegionHeader& h = header();
  const std::uint64_t offset = align_up(h.used, kPage);
  if (bytes > size_ || offset > size_ - bytes)
    return Error{Errc::too_large, "shared memory", "the region has no room for " + std::to_string(bytes) + " bytes",
                 "shm", false};
  h.used = offset + bytes;
  return offset;
}

Result<void> Region::back(std::uint64_t offset, std::uint64_t bytes) const {
  if (bytes == 0) return {};
  int rc;
  do {
    rc = ::fallocate(fd_, 0, static_cast<off_t>(offset), static_cast<off_t>(bytes));
  } while (rc != 0 && errno == EINTR);
  if (rc != 0) return os_error("allocating pages");
  return {};
}

std::uint64_t Region::backed_bytes() const noexcept {
  struct stat st {};
  return ::fstat(fd_, &st) == 0 ? static_cast<std::uint64_t>(st.st_blocks) * 512 : 0;
}

void Region::keep_over_exec(bool keep) const noexcept { ::fcntl(fd_, F_SETFD, keep ? 0 : FD_CLOEXEC); }

}  // namespace sluice::shm
