// How a plugin sees the answer's body: chunk by chunk, into a sink.
#pragma once

#include <string_view>

namespace sluice::sdk {

// Where body octets go. write() copies nothing: the octets must live until body_filter returns; the next filter or the
// connection takes what it needs before that.
class BodySink {
 public:
  virtual void write(std::string_view octets) noexcept = 0;

 protected:
  ~BodySink() = default;
};

struct BodyChunk {
  std::string_view octets;
  bool last = false;        // nothing follows; octets may be empty
};

}  // namespace sluice::sdk
