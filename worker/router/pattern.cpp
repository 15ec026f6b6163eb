#include "worker/router/pattern.hpp"

#include "conf/base/text.hpp"

namespace sluice::router {
namespace {

// Characters that make a literal segment more than text with "any character" dots.
bool has_operator(std::string_view literal) noexcept {
  return literal.find_first_of("\\^$|()[]{}+?*") != std::string_view::npos;
}

}  // namespace

Pattern::Pattern(std::string_view text, bool parameters) : text_(text) {
  std::size_t end = parameters ? text_.find(':') : std::string::npos;
  if (end == std::string::npos) end = text_.find('*');
  exact_ = end == std::string::npos;
  literal_ = static_cast<std::uint32_t>(exact_ ? text_.size() : end);
  if (!exact_) compile(parameters);
}

void Pattern::compile(bool parameters) {
  auto program = std::make_unique<Program>();
  std::size_t stars = 0;
  bool operators = false;
  for (const std::string_view part : text::split(text_, '/')) {
    const char first = part.empty() ? '\0' : part.front();
    const auto begin = static_cast<std::uint32_t>(part.data() - text_.data());
    const auto size = static_cast<std::uint32_t>(part.size());
    if (first == '*') {
      ++stars;
      program->star = program->segments.size();
      program->segments.push_back({Segment::Kind::star, begin, size});
      program->names.emplace_back(part.size() > 1 ? std::string(part.substr(1)) : ":ext");
    } else if (first == ':' && parameters) {
      program->segments.push_back({Segment::Kind::parameter, begin, size});
      program->names.emplace_back(part.substr(1));
    } else {
      operators |= has_operator(part);
      program->segments.push_back({Segment::Kind::literal, begin, size});
    }
  }
  if (program->names.empty()) return;  // only the prefix counts
  program->use_regex = stars > 1 || operators;
  program->always = !program->use_regex && stars == 1 && program->names.size() == 1 &&
                    program->star + 1 == program->segments.size() && text_.rfind('/') + 1 == literal_;
  program_ = std::move(program);
  if (program_->use_regex) compile_regex();
  if (program_->names.size() > kMaxCaptures) program_->names.resize(kMaxCaptures);
}

void Pattern::compile_regex() {
  std::string source = "\\A";
  for (std::size_t i = 0; i < program_->segments.size(); ++i) {
    if (i > 0) source += '/';
    switch (program_->segments[i].kind) {
      case Segment::Kind::literal: source += text_of(program_->segments[i]); break;
      case Segment::Kind::parameter: source += "([^/]+)"; break;
      case Segment::Kind::star: source += "((?s:.*))"; break;
    }
  }
  source += "\\z";
  if (auto regex = Regex::compile(source)) program_->regex = std::move(*regex);
}

bool Pattern::match(std::string_view path, Values& values) const noexcept {
  if (!program_) return true;
  if (program_->always) {
    values[0] = path.substr(literal_);
    return true;
  }
  return program_->use_regex ? match_regex(path, values) : match_segments(path, values);
}

bool Pattern::match_one(const Segment& segment, std::string_view text) const noexcept {
  if (segment.kind == Segment::Kind::parameter) return !text.empty();
  const std::string_view literal = text_of(segment);
  if (literal.size() != text.size()) return false;
  for (std::size_t i = 0; i < text.size(); ++i)
    if (literal[i] != text[i] && (literal[i] != '.' || text[i] == '\n')) return false;
  return true;
}

// Segments before the star from the front, those after it from the back; the star takes what is between.
bool Pattern::match_segments(std::string_view path, Values& values) const noexcept {
  const auto& segments = program_->segments;
  const std::size_t star = program_->star;
  const std::size_t head = star == kNone ? segments.size() : star;
  std::size_t capture = 0;
  const auto keep = [&](std::size_t at, std::string_view text) {
    if (at < kMaxCaptures) values[at] = text;
  };

  bool ended = false;
  for (std::size_t i = 0; i < head; ++i) {
    if (ended) return false;
    const std::size_t slash = path.find('/');
    const std::string_view part = path.substr(0, slash);
    if (!match_one(segments[i], part)) return false;
    if (segments[i].kind == Segment::Kind::parameter) keep(capture++, part);
    ended = slash == std::string_view::npos;
    path.remove_prefix(ended ? path.size() : slash + 1);
  }
  if (star == kNone) return ended;
  if (ended) return false;

  std::size_t from_back = program_->names.size();
  for (std::size_t i = segments.size(); --i > star;) {
    const std::size_t slash = path.rfind('/');
    if (slash == std::string_view::npos) return false;
    const std::string_view part = path.substr(slash + 1);
    if (!match_one(segments[i], part)) return false;
    if (segments[i].kind == Segment::Kind::parameter) keep(--from_back, part);
    path = path.substr(0, slash);
  }
  keep(capture, path);
  return true;
}

bool Pattern::match_regex(std::string_view path, Values& values) const noexcept {
  if (!program_->regex) return false;
  // Groups written by the user inside literal segments shift the numbers, in the reference as here.
  Captures captures;
  if (!program_->regex.match(path, captures)) return false;
  for (std::size_t i = 0; i < program_->names.size(); ++i) values[i] = captures[i + 1];
  return true;
}

std::size_t Pattern::bytes() const noexcept {
  std::size_t sum = text_.capacity() > 15 ? text_.capacity() + 1 : 0;
  if (program_) {
    sum += sizeof(Program) + program_->segments.capacity() * sizeof(Segment);
    for (const auto& name : program_->names) sum += sizeof(name) + (name.capacity() > 15 ? name.capacity() + 1 : 0);
  }
  return sum;
}

}  // namespace sluice::router
