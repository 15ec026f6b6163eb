#include <catch2/catch.hpp>

#include "admin/api/patch.hpp"
#include "admin/store/image.hpp"

using namespace sluice;
using namespace sluice::admin;

namespace {

ObjectRef object(const std::string& key, const std::string& json, std::uint64_t modified = 1) {
  auto o = std::make_shared<Object>();
  o->key = key;
  o->plain = JsonBox(*parse_json(json));
  o->modified = modified;
  return o;
}

std::string value(const Object* o) { return o == nullptr ? "none" : to_json(o->plain.value()); }

std::string merged(const char* target, const char* patch) {
  JsonDoc doc = std::move(*parse_json(target));
  JsonDoc by = std::move(*parse_json(patch));
  merge_patch(doc, by, doc.GetAllocator());
  return to_json(doc);
}

}  // namespace

TEST_CASE("staged writes lie over committed ones", "[admin][image]") {
  Image image;
  image.load(object("routes/1", "1"));
  image.stage({{"routes/1", object("routes/1", "2")}}, 2);
  image.stage({{"routes/1", object("routes/1", "3")}, {"routes/2", object("routes/2", "9")}}, 3);
  CHECK(value(image.find("routes/1")) == "3");
  CHECK(value(image.find_committed("routes/1")) == "1");
  image.commit({{"routes/1", object("routes/1", "2")}}, 2);
  CHECK(value(image.find("routes/1")) == "3");
  CHECK(value(image.find_committed("routes/1")) == "2");
  image.drop_staged();
  CHECK(value(image.find("routes/1")) == "2");
  CHECK(image.find("routes/2") == nullptr);
  CHECK(image.size() == 1);
}

TEST_CASE("a staged removal hides, and its commit removes", "[admin][image]") {
  Image image;
  image.load(object("routes/1", "1"));
  image.stage({{"routes/1", nullptr}}, 2);
  CHECK(image.find("routes/1") == nullptr);
  CHECK(value(image.find_committed("routes/1")) == "1");
  image.commit({{"routes/1", nullptr}}, 2);
  CHECK(image.size() == 0);
}

TEST_CASE("walks see their prefix only, in key order", "[admin][image]") {
  Image image;
  for (const char* key : {"routes/2", "routes/10", "services/1", "route"}) image.load(object(key, "{}"));
  std::string seen;
  image.each("routes/", [&](const Object& o) {
    seen += o.key + " ";
    return true;
  });
  CHECK(seen == "routes/10 routes/2 ");
  CHECK(image.count("") == 4);
}

TEST_CASE("merge patch", "[admin][patch]") {
  CHECK(merged(R"({"a":1,"b":{"c":2}})", R"({"b":{"d":3},"a":null})") == R"({"b":{"c":2,"d":3}})");
  CHECK(merged(R"({"a":[1,2]})", R"({"a":[3]})") == R"({"a":[3]})");
  CHECK(merged(R"({"a":{"b":1}})", R"({"a":[3]})") == R"({"a":[3]})");
  CHECK(merged(R"({"a":[1]})", R"({"a":{"b":1}})") == R"({"a":{"b":1}})");
  CHECK(merged(R"({})", R"({"a":{"b":null,"c":{"d":null}}})") == R"({"a":{"c":{}}})");
  CHECK(merged(R"({})", R"({"no":null})") == "{}");
}

TEST_CASE("sub-path patch", "[admin][patch]") {
  const auto at = [](const char* target, const std::vector<std::string>& path, const char* by) {
    JsonDoc doc = std::move(*parse_json(target));
    JsonDoc new_value = std::move(*parse_json(by));
    const auto done = replace_at(doc, path, new_value, doc.GetAllocator());
    return done ? to_json(doc) : done.error().reason;
  };
  CHECK(at(R"({"methods":["GET"]})", {"methods"}, R"(["PUT"])") == R"({"methods":["PUT"]})");
  CHECK(at(R"({})", {"a", "b"}, "1") == R"({"a":{"b":1}})");
  CHECK(at(R"({"a":[1]})", {"a", "0"}, "1") == "invalid sub-path: /a");
  CHECK(at(R"({"a":{"b":"x"}})", {"a", "b", "c"}, "1") == "invalid sub-path: /a/b");
  CHECK(at(R"({"a":1})", {"a"}, "null") == R"({"a":null})");
  // A name is more than what stands before its first NUL.
  CHECK(at(R"({"a":{"b":1}})", {std::string("a\0x", 3), "b"}, "2") == R"({"a":{"b":1},"a\u0000x":{"b":2}})");
}
