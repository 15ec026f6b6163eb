// Compiling of proto definitions with libprotobuf, in memory. A text may import the well-known types and nothing else;
// base64 content is a descriptor set.
#include <google/protobuf/any.pb.h>
#include <google/protobuf/compiler/parser.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/duration.pb.h>
#include <google/protobuf/empty.pb.h>
#include <google/protobuf/field_mask.pb.h>
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/struct.pb.h>
#include <google/protobuf/stubs/logging.h>
#include <google/protobuf/timestamp.pb.h>
#include <google/protobuf/wrappers.pb.h>
#include <openssl/evp.h>

#include "conf/base/text.hpp"
#include "conf/model/certificates.hpp"

namespace sluice::conf {
namespace {

namespace pb = google::protobuf;

// Mentioning them makes the linker keep them, so that imports resolve against the generated pool.
void keep_well_known_types() {
  (void)pb::Any::descriptor();
  (void)pb::Duration::descriptor();
  (void)pb::Empty::descriptor();
  (void)pb::FieldMask::descriptor();
  (void)pb::Struct::descriptor();
  (void)pb::Timestamp::descriptor();
  (void)pb::StringValue::descriptor();
}

class FirstError : public pb::io::ErrorCollector, public pb::DescriptorPool::ErrorCollector {
 public:
  void AddError(int line, int column, const std::string& message) override {
    keep("line " + std::to_string(line + 1) + ", column " + std::to_string(column + 1) + ": " + message);
  }
  void AddError(const std::string&, const std::string& element, const pb::Message*, ErrorLocation,
                const std::string& message) override {
    keep(element + ": " + message);
  }
  const std::string& text() const noexcept { return text_; }

 private:
  void keep(std::string message) {
    if (text_.empty()) text_ = std::move(message);
  }
  std::string text_;
};

std::string build(const pb::FileDescriptorProto& file, pb::DescriptorPool& pool) {
  FirstError errors;
  if (pool.BuildFileCollectingErrors(file, &errors) != nullptr) return {};
  return errors.text().empty() ? "cannot be compiled" : errors.text();
}

std::string check_text(std::string_view content) {
  FirstError errors;
  pb::io::ArrayInputStream stream(content.data(), static_cast<int>(content.size()));
  pb::io::Tokenizer tokens(&stream, &errors);
  pb::FileDescriptorProto file;
  pb::compiler::Parser parser;
  parser.RecordErrorsTo(&errors);
  const bool parsed = parser.Parse(&tokens, &file);
  if (!parsed || !errors.text().empty()) return errors.text().empty() ? "cannot be parsed" : errors.text();
  file.set_name("content.proto");
  pb::DescriptorPool pool(pb::DescriptorPool::generated_pool());
  return build(file, pool);
}

bool decode_base64(std::string_view text, std::string& out) {
  std::string compact;
  for (char c : text)
    if (!text::is_space(c)) compact.push_back(c);
  if (compact.empty() || compact.size() % 4 != 0) return false;
  out.resize(compact.size() / 4 * 3);
  const int n =
      EVP_DecodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                      reinterpret_cast<const unsigned char*>(compact.data()), static_cast<int>(compact.size()));
  if (n < 0) return false;
  std::size_t padding = 0;
  while (padding < 2 && compact[compact.size() - 1 - padding] == '=') ++padding;
  out.resize(static_cast<std::size_t>(n) - padding);
  return true;
}

}  // namespace

std::string check_proto(std::string_view content) {
  keep_well_known_types();
  const pb::LogSilencer quiet;  // warnings would go to stderr
  std::string binary;
  pb::FileDescriptorSet set;
  if (decode_base64(content, binary) && set.ParseFromString(binary) && set.file_size() > 0) {
    pb::DescriptorPool pool(pb::DescriptorPool::generated_pool());
    for (const auto& file : set.file()) {
      if (pb::DescriptorPool::generated_pool()->FindFileByName(file.name()) != nullptr) continue;
      if (std::string error = build(file, pool); !error.empty()) return error;
    }
    return {};
  }
  return check_text(content);
}

}  // namespace sluice::conf
