#include "conf/base/log_file.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>

using sluice::open_log_file;
namespace fs = std::filesystem;

namespace {

struct Folder {
  fs::path path;
  Folder() {
    char name[] = "/tmp/sluice-log-XXXXXX";
    path = mkdtemp(name);
  }
  ~Folder() { fs::remove_all(path); }
};

// Opens, closes; 0 or the error.
int opened(const std::string& path) {
  const int fd = open_log_file(path);
  const int error = fd < 0 ? errno : 0;
  if (fd >= 0) close(fd);
  return error;
}

}  // namespace

TEST_CASE("a log file is made for its owner and group alone", "[log_file]") {
  Folder folder;
  const mode_t before = umask(0);
  CHECK(opened(folder.path / "a.log") == 0);
  umask(before);
  struct stat info {};
  REQUIRE(stat((folder.path / "a.log").c_str(), &info) == 0);
  CHECK((info.st_mode & 07777) == 0640);
  CHECK(opened(folder.path / "no" / "a.log") == ENOENT);
}

TEST_CASE("the standard streams get descriptors of their own", "[log_file]") {
  for (const char* name : {"stderr", "/dev/stderr", "/dev/stdout"}) {
    const int fd = open_log_file(name);
    CHECK(fd > STDERR_FILENO);
    close(fd);
  }
}

TEST_CASE("a link is followed for the process's own account, one step and no further", "[log_file]") {
  Folder folder;
  const fs::path target = folder.path / "target", link = folder.path / "a.log";
  fs::create_symlink(target, link);
  CHECK(opened(link) == 0);
  CHECK(fs::exists(target));
  fs::create_symlink(link, folder.path / "b.log");
  CHECK(opened(folder.path / "b.log") == ELOOP);
  fs::create_symlink("target", folder.path / "relative.log");
  CHECK(opened(folder.path / "relative.log") == ELOOP);
}

TEST_CASE("root does not follow another account's link", "[log_file]") {
  if (geteuid() != 0) return;   // needs a link of somebody else's
  Folder folder;
  const fs::path target = folder.path / "target", link = folder.path / "a.log";
  fs::create_symlink(target, link);
  REQUIRE(lchown(link.c_str(), 65534, 65534) == 0);
  CHECK(opened(link) == ELOOP);
  CHECK(!fs::exists(target));
}

TEST_CASE("a FIFO that nobody reads is an error, not a wait", "[log_file]") {
  Folder folder;
  REQUIRE(mkfifo((folder.path / "pipe").c_str(), 0600) == 0);
  CHECK(opened(folder.path / "pipe") == ENXIO);
}
