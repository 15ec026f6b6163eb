#include "plugins/consumer-restriction/consumer_restriction.hpp"

#include <catch2/catch.hpp>

#include "test/support/plugin_kit.hpp"

using namespace sluice;
using plugins::consumer_restriction::ConsumerRestriction;
using test::Kit;

namespace {
std::string asked(const char* conf, const char* consumer, const char* method = "GET", const char* group = "") {
  auto plugin = test::configured<ConsumerRestriction>(conf);
  if (!plugin) return plugin.error().reason;
  Kit kit("/hello", method);
  kit.ctx.route_id = "r1";
  kit.ctx.service_id = "s1";
  if (consumer != nullptr) {
    auto who = sdk::make_ref<sdk::Consumer>();
    who->name = consumer;
    who->group_id = group;
    kit.ctx.attach_consumer(who, {});
  }
  const sdk::Verdict v = kit.access(*plugin);
  return v.kind == sdk::Verdict::Kind::proceed ? "pass" : std::to_string(v.status) + " " + kit.reply();
}
constexpr const char* kForbidden = "403 {\"message\":\"The consumer_name is forbidden.\"}\n";
}  // namespace

TEST_CASE("consumer-restriction by list", "[plugins][consumer-restriction]") {
  CHECK(asked(R"({"whitelist":["jack"]})", "jack") == "pass");
  CHECK(asked(R"({"whitelist":["jack"]})", "rose") == kForbidden);
  CHECK(asked(R"({"blacklist":["jack"]})", "jack") == kForbidden);
  CHECK(asked(R"({"blacklist":["jack"]})", "rose") == "pass");
  CHECK(asked(R"({"whitelist":["jack"],"blacklist":["jack"]})", "jack") == kForbidden);
  CHECK(asked(R"({"whitelist":["jack"]})", nullptr) ==
        "401 {\"message\":\"The request is rejected, please check the consumer_name for this request\"}\n");
  CHECK(asked(R"({"whitelist":["jack"],"rejected_code":401,"rejected_msg":"no"})", "rose") ==
        "401 {\"message\":\"no\"}\n");
}

TEST_CASE("consumer-restriction of other things", "[plugins][consumer-restriction]") {
  CHECK(asked(R"({"type":"route_id","whitelist":["r1"]})", nullptr) == "pass");
  CHECK(asked(R"({"type":"service_id","blacklist":["s1"]})", nullptr) ==
        "403 {\"message\":\"The service_id is forbidden.\"}\n");
  CHECK(asked(R"({"type":"consumer_group_id","whitelist":["g"]})", "jack", "GET", "g") == "pass");
  CHECK(asked(R"({"type":"consumer_group_id","whitelist":["g"]})", "jack") ==
        "401 {\"message\":\"The request is rejected, please check the consumer_group_id for this request\"}\n");
}

TEST_CASE("consumer-restriction by methods", "[plugins][consumer-restriction]") {
  const char* conf = R"({"allowed_by_methods":[{"user":"jack","methods":["GET"]}]})";
  CHECK(asked(conf, "jack", "GET") == "pass");
  CHECK(asked(conf, "jack", "POST") == kForbidden);
  CHECK(asked(conf, "rose", "POST") == "pass");
  const char* both = R"({"whitelist":["rose"],"allowed_by_methods":[{"user":"jack","methods":["GET"]}]})";
  CHECK(asked(both, "rose", "POST") == "pass");
  CHECK(asked(both, "jack", "GET") == kForbidden);
}
