// Result<T> and Error: how every room reports what went wrong.
//
// An Error says what kind of failure it is (code), where (path: a file, a JSON path, a resource key), what was expected
// and found (reason), which part of the program saw it (source), and whether trying again may help (retry).
// The control plane returns Result; the request path is noexcept and turns failures into verdicts.
#pragma once

#include <boost/system/result.hpp>
#include <stdexcept>
#include <string>
#include <utility>

namespace sluice {

enum class Errc : unsigned char {
  invalid,      // the input breaks a rule
  not_found,    // the thing named does not exist
  conflict,     // it changed, or is used, in the meantime
  unavailable,  // a peer or resource cannot be reached now
  io,           // the operating system refused
  timeout,
  forbidden,
  too_large,
  internal,  // a rule of our own does not hold
};

struct Error {
  Errc code = Errc::internal;
  std::string path;
  std::string reason;
  std::string source;
  bool retry = false;

  // "path: reason", or the reason alone.
  std::string message() const { return path.empty() ? reason : path + ": " + reason; }
};

template <class T>
using Result = boost::system::result<T, Error>;

inline Error invalid(std::string reason, std::string path = {}) {
  return Error{Errc::invalid, std::move(path), std::move(reason), {}, false};
}

// Result::value() on an error: a programmer's mistake, caught at a process's main.
[[noreturn]] inline void throw_exception_from_error(const Error& e, const boost::source_location&) {
  throw std::runtime_error(e.message());
}

}  // namespace sluice
