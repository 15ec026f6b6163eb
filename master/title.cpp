#include "master/title.hpp"

#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

extern char** environ;

namespace sluice::master {

namespace {
char* room = nullptr;
std::size_t room_size = 0;
}  // namespace

void prepare_title(int argc, char** argv) {
  char* begin = argv[0];
  char* end = argv[0] + std::strlen(argv[0]) + 1;
  for (int i = 1; i < argc; ++i)
    if (argv[i] == end) end = argv[i] + std::strlen(argv[i]) + 1;
  // The environment lies behind the arguments; it moves to the heap so that its room can be used. It is never freed,
  // the list of it neither: getenv reads both for the life of the process, exit handlers included.
  static auto& moved = *new std::vector<char*>;
  for (char** entry = environ; *entry; ++entry) {
    if (*entry == end) end = *entry + std::strlen(*entry) + 1;
    moved.push_back(strdup(*entry));
  }
  moved.push_back(nullptr);
  environ = moved.data();
  room = begin;
  room_size = static_cast<std::size_t>(end - begin);
}

void set_title(std::string_view title) noexcept {
  if (room != nullptr && room_size > 1) {
    const std::size_t length = std::min(title.size(), room_size - 1);
    std::memset(room, 0, room_size);
    std::memcpy(room, title.data(), length);
  }
  char name[16] = {};
  std::memcpy(name, title.data(), std::min(title.size(), sizeof name - 1));
  prctl(PR_SET_NAME, name);
}

}  // namespace sluice::master
