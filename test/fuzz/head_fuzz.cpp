// Heads of requests and answers: any octets, whole and in two pieces.
//
// What is accepted in one piece is accepted in two; every view lies inside the input; an accepted head is strict: no bare
// CR or LF, no NUL, one framing.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "plugins/sdk/arena.hpp"
#include "worker/http1/request_head.hpp"
#include "worker/http1/response_head.hpp"

using namespace sluice;
using namespace sluice::worker;

namespace {

void inside(std::string_view part, std::string_view whole) {
  if (part.empty()) return;
  if (part.data() < whole.data() || part.data() + part.size() > whole.data() + whole.size()) std::abort();
}

void strict(std::string_view part) {
  if (part.find_first_of(std::string_view("\r\n\0", 3)) != std::string_view::npos) std::abort();
}

void check_request(std::string_view octets, std::size_t cut) {
  sdk::Arena arena;
  sdk::HeaderList fields(arena);
  RequestHead head;
  const HeadFault fault = parse_request_head(octets, 0, {}, fields, head);
  if (fault != HeadFault::none) return;
  inside(head.target, octets);
  inside(head.authority, octets);
  strict(head.method);
  strict(head.target);
  if (head.size > octets.size()) std::abort();
  int lengths = 0, codings = 0;
  for (const sdk::Field& f : fields) {
    inside(f.name, octets);
    inside(f.value, octets);
    strict(f.name);
    strict(f.value);
    lengths += f.id == sdk::FieldId::content_length;
    codings += f.id == sdk::FieldId::transfer_encoding;
  }
  if (lengths > 0 && codings > 0) std::abort();
  // The same head that arrives in two pieces.
  if (cut >= head.size) return;
  sdk::HeaderList again(arena);
  RequestHead second;
  const HeadFault first = parse_request_head(octets.substr(0, cut), 0, {}, again, second);
  if (first != HeadFault::need_more) std::abort();
  if (parse_request_head(octets, cut, {}, again, second) != HeadFault::none) std::abort();
  if (again.size() != fields.size() || second.size != head.size || second.target != head.target) std::abort();
}

void check_response(std::string_view octets, bool no_body) {
  sdk::Arena arena;
  sdk::HeaderList fields(arena);
  ResponseHead head;
  if (parse_response_head(octets, 0, 65536, no_body, fields, head) != ResponseFault::none) return;
  if (head.size > octets.size() || head.status < 100 || head.status > 999) std::abort();
  for (const sdk::Field& f : fields) {
    inside(f.name, octets);
    strict(f.name);
    strict(f.value);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::string octets(reinterpret_cast<const char*>(data) + 2, size - 2);
  check_request(octets, data[0] + 256u * (data[1] & 3));
  check_response(octets, (data[1] & 4) != 0);
  return 0;
}
