#include <fcntl.h>
#include <sys/mman.h>

#include <cstring>

#include "shm_support.hpp"

using namespace sluice;
using namespace sluice::shm;
using namespace sluice::shm::test;

TEST_CASE("a region is rounded up, zeroed, seeded and named", "[shm][region]") {
  auto r = Region::create("one", 10000).value();
  CHECK(r.size() == 12288);
  CHECK(r.backed_bytes() >= 12288);
  CHECK(std::string(r.header().name) == "one");
  for (std::size_t i = sizeof(RegionHeader); i < r.size(); ++i) REQUIRE(r.data()[i] == std::byte{0});
  auto other = Region::create("two", 10000).value();
  CHECK((r.seed().k0 != other.seed().k0 || r.seed().k1 != other.seed().k1));
}

TEST_CASE("a sparse region takes memory only for what is backed", "[shm][region]") {
  auto r = Region::create("sparse", 64u << 20, Region::Backing::sparse).value();
  CHECK(r.backed_bytes() < 1u << 20);
  REQUIRE(r.back(1u << 20, 2u << 20).has_value());
  CHECK(r.backed_bytes() >= 2u << 20);
  r.data()[(3u << 20) - 1] = std::byte{1};
}

TEST_CASE("carving gives page-aligned pieces until the region is full", "[shm][region]") {
  auto r = Region::create("carve", 4 * kPage).value();
  CHECK(r.carve(10).value() == kPage);
  CHECK(r.carve(kPage + 1).value() == 2 * kPage);
  CHECK_FALSE(r.carve(1).has_value());
  CHECK_FALSE(r.carve(~std::uint64_t{0}).has_value());
}

TEST_CASE("what a child writes its parent sees", "[shm][region]") {
  auto r = Region::create("fork", kPage * 2).value();
  CHECK(in_child([&] { *r.at<int>(kPage) = 42; }) == 0);
  CHECK(*r.at<int>(kPage) == 42);
}

TEST_CASE("a second mapping by descriptor shows the same region", "[shm][region]") {
  auto r = Region::create("attach", kPage * 2).value();
  *r.at<int>(kPage) = 7;
  auto again = Region::attach(::dup(r.fd())).value();
  CHECK(again.data() != r.data());
  CHECK(again.seed().k0 == r.seed().k0);
  CHECK(*again.at<int>(kPage) == 7);
  *again.at<int>(kPage) = 8;
  CHECK(*r.at<int>(kPage) == 8);
}

TEST_CASE("attach refuses what is not a region", "[shm][region]") {
  CHECK_FALSE(Region::attach(-1).has_value());
  const int fd = ::memfd_create("foreign", 0);
  CHECK(Region::attach(::dup(fd)).error().code == Errc::invalid);
  REQUIRE(::ftruncate(fd, 8192) == 0);
  CHECK(Region::attach(fd).error().message().find("magic") != std::string::npos);

  auto r = Region::create("version", kPage).value();
  r.header().version = 99;
  CHECK(Region::attach(::dup(r.fd())).error().message().find("layout version 99") != std::string::npos);
}

TEST_CASE("the descriptor survives exec only when told to, and nobody can shorten the file", "[shm][region]") {
  auto r = Region::create("exec", kPage * 4).value();
  CHECK(::fcntl(r.fd(), F_GETFD) == FD_CLOEXEC);
  r.keep_over_exec(true);
  CHECK(::fcntl(r.fd(), F_GETFD) == 0);
  CHECK(::ftruncate(r.fd(), kPage) != 0);
}
