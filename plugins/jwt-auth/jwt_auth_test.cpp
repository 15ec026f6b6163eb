#include "plugins/jwt-auth/jwt_auth.hpp"

#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>

#include <catch2/catch.hpp>

#include "plugins/sdk/base64.hpp"
#include "plugins/sdk/digest.hpp"
#include "test/support/plugin_kit.hpp"

using namespace sluice;
using plugins::jwt_auth::JwtAuth;
using sdk::Verdict;
using test::Kit;

namespace {

constexpr std::int64_t kNow = 1'800'000'000;

std::string url64(std::string_view octets) {
  sdk::Arena arena;
  std::string text(sdk::base64_encode(arena, octets));
  for (char& c : text) c = c == '+' ? '-' : c == '/' ? '_' : c;
  while (text.ends_with('=')) text.pop_back();
  return text;
}

std::string hs256(const std::string& payload, const std::string& header = R"({"alg":"HS256","typ":"JWT"})") {
  sdk::Arena arena;
  const std::string text = url64(header) + "." + url64(payload);
  return text + "." + url64(sdk::hmac(arena, sdk::Hash::sha256, "my-secret-key", text));
}

std::shared_ptr<const void> secret(const std::string& json) {
  auto conf = parse_json(json);
  REQUIRE(conf.has_value());
  REQUIRE(schema::validate(JwtAuth::consumer_schema(), *conf, conf->GetAllocator()) == "");
  REQUIRE(JwtAuth::check_consumer(*conf) == "");
  return *JwtAuth::compile_consumer(*conf);
}

std::string who(Kit& kit, const test::FakeConsumers& consumers, const char* conf = "{}") {
  auto plugin = test::configured<JwtAuth>(conf);
  if (!plugin) return plugin.error().reason;
  kit.ctx.consumers = &consumers;
  if (kit.ctx.wall == WallTime{}) kit.ctx.wall = WallTime(std::chrono::seconds(kNow));
  const Verdict v = kit.rewrite(*plugin);
  if (v.kind == Verdict::Kind::proceed) return kit.ctx.consumer->name;
  return std::to_string(v.status) + " " + kit.sent_down("WWW-Authenticate") + " " + kit.reply();
}

std::string asked(const std::string& token, const char* conf = "{}", std::int64_t now = kNow) {
  test::FakeConsumers consumers;
  consumers.add("jack", "jwt-auth", "user-key", {},
                secret(R"({"key":"user-key","secret":"my-secret-key","lifetime_grace_period":2})"));
  Kit kit;
  kit.ctx.wall = WallTime(std::chrono::seconds(now));
  kit.header("Authorization", token);
  return who(kit, consumers, conf);
}

std::string refusal(const char* text) {
  return "401 Bearer realm=\"jwt\"| {\"message\":\"" + std::string(text) + "\"}\n";
}

// A fresh key pair, its public half as JSON text, and a token signed by it.
struct Signer {
  EVP_PKEY* key = nullptr;
  ~Signer() { EVP_PKEY_free(key); }
  std::string pem() const {
    BIO* bio = BIO_new(BIO_s_mem());
    PEM_write_bio_PUBKEY(bio, key);
    char* data = nullptr;
    const long size = BIO_get_mem_data(bio, &data);
    std::string text(data, static_cast<std::size_t>(size));
    BIO_free(bio);
    std::string escaped;
    for (char c : text) escaped += c == '\n' ? std::string("\\n") : std::string(1, c);
    return escaped;
  }
  std::string token(const char* algorithm, const EVP_MD* md, bool pss = false) const {
    const std::string text = url64(R"({"alg":")" + std::string(algorithm) + "\"}") + "." + url64(R"({"key":"k"})");
    EVP_MD_CTX* context = EVP_MD_CTX_new();
    EVP_PKEY_CTX* settings = nullptr;
    REQUIRE(EVP_DigestSignInit(context, &settings, md, nullptr, key) == 1);
    if (pss) {
      EVP_PKEY_CTX_set_rsa_padding(settings, RSA_PKCS1_PSS_PADDING);
      EVP_PKEY_CTX_set_rsa_pss_saltlen(settings, RSA_PSS_SALTLEN_DIGEST);
    }
    std::size_t size = 0;
    const auto* octets = reinterpret_cast<const unsigned char*>(text.data());
    EVP_DigestSign(context, nullptr, &size, octets, text.size());
    std::string signature(size, '\0');
    REQUIRE(EVP_DigestSign(context, reinterpret_cast<unsigned char*>(signature.data()), &size, octets, text.size()) ==
            1);
    signature.resize(size);
    EVP_MD_CTX_free(context);
    if (std::string_view(algorithm) == "ES256") {
      const auto* der = reinterpret_cast<const unsigned char*>(signature.data());
      ECDSA_SIG* both = d2i_ECDSA_SIG(nullptr, &der, static_cast<long>(signature.size()));
      signature.assign(64, '\0');
      BN_bn2binpad(ECDSA_SIG_get0_r(both), reinterpret_cast<unsigned char*>(signature.data()), 32);
      BN_bn2binpad(ECDSA_SIG_get0_s(both), reinterpret_cast<unsigned char*>(signature.data()) + 32, 32);
      ECDSA_SIG_free(both);
    }
    return text + "." + url64(signature);
  }
};

std::string with_public_key(const Signer& signer, const char* algorithm, const std::string& token) {
  test::FakeConsumers consumers;
  consumers.add(
      "jack", "jwt-auth", "k", {},
      secret(R"({"key":"k","algorithm":")" + std::string(algorithm) + R"(","public_key":")" + signer.pem() + "\"}"));
  Kit kit;
  kit.header("Authorization", token);
  return who(kit, consumers);
}

}  // namespace

TEST_CASE("jwt-auth accepts the specification's token", "[plugins][jwt-auth]") {
  const std::string token = hs256(R"({"key":"user-key","exp":1900000000})");
  CHECK(token.ends_with(".KOzAQtufODGEDJ6TOyFUtGmGLawEQ8vR2KCZYC1Gu9c"));
  CHECK(asked(token) == "jack");
  CHECK(asked("Bearer " + token) == "jack");
  CHECK(asked("bearer " + token) == "jack");
  CHECK(asked(token, "{}", 1900000001) == "jack");  // two seconds of grace
  CHECK(asked(token, "{}", 1900000002) == refusal("failed to verify jwt"));
}

TEST_CASE("jwt-auth names what is wrong", "[plugins][jwt-auth]") {
  test::FakeConsumers nobody;
  Kit none;
  CHECK(who(none, nobody) == refusal("Missing JWT token in request"));
  for (const char* bad : {"", "a", "a.b", "a.b.c.d", "e30.bad!.x", "e30.e30.!"})
    CHECK(asked(bad) == refusal("JWT token invalid"));
  CHECK(asked(hs256("{}")) == refusal("missing user key in JWT token"));
  CHECK(asked(hs256(R"({"key":"other"})")) == refusal("Invalid user key in JWT token"));
  CHECK(asked(hs256(R"({"key":"user-key"})", R"({"alg":"none"})")) == refusal("failed to verify jwt"));
  CHECK(asked(hs256(R"({"key":"user-key"})") + "x") == refusal("failed to verify jwt"));
  std::string forged = hs256(R"({"key":"user-key"})");
  forged[forged.rfind('.') + 1] = forged[forged.rfind('.') + 1] == 'A' ? 'B' : 'A';
  CHECK(asked(forged) == refusal("failed to verify jwt"));
}

TEST_CASE("jwt-auth checks claims", "[plugins][jwt-auth]") {
  CHECK(asked(hs256(R"({"key":"user-key"})")) == "jack");
  CHECK(asked(hs256(R"({"key":"user-key"})"), R"({"claims_to_verify":["exp"]})") == refusal("failed to verify jwt"));
  CHECK(asked(hs256(R"({"key":"user-key","exp":"soon"})")) == refusal("failed to verify jwt"));
  CHECK(asked(hs256(R"({"key":"user-key","nbf":1800000001})")) == "jack");
  CHECK(asked(hs256(R"({"key":"user-key","nbf":1800000002})")) == refusal("failed to verify jwt"));
  CHECK(asked(hs256(R"({"key":"user-key","exp":1})"), R"({"claims_to_verify":["nbf"]})") ==
        refusal("failed to verify jwt"));
  CHECK(asked(hs256(R"({"sub":"user-key"})"), R"({"key_claim_name":"sub"})") == "jack");
}

TEST_CASE("jwt-auth finds and hides the token", "[plugins][jwt-auth]") {
  test::FakeConsumers consumers;
  consumers.add("jack", "jwt-auth", "user-key", {}, secret(R"({"key":"user-key","secret":"my-secret-key"})"));
  const std::string token = hs256(R"({"key":"user-key"})");
  const char* conf = R"({"hide_credentials":true})";
  Kit query("/a?x=1&jwt=" + token);
  CHECK(who(query, consumers, conf) == "jack");
  CHECK(query.ctx.upstream_uri == "/a?x=1");
  Kit cookie;
  cookie.header("Cookie", "a=1; jwt=" + token + "; b=2");
  CHECK(who(cookie, consumers, conf) == "jack");
  CHECK(cookie.sent_up("Cookie") == "a=1; b=2|");
  Kit header;
  header.header("Authorization", token);
  CHECK(who(header, consumers, conf) == "jack");
  CHECK(header.sent_up("Authorization").empty());
}

TEST_CASE("jwt-auth verifies with public keys", "[plugins][jwt-auth]") {
  const Signer rsa{EVP_RSA_gen(2048)}, ec{EVP_EC_gen("P-256")};
  const Signer ed{EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519")};
  CHECK(with_public_key(rsa, "RS256", rsa.token("RS256", EVP_sha256())) == "jack");
  CHECK(with_public_key(rsa, "RS512", rsa.token("RS512", EVP_sha512())) == "jack");
  CHECK(with_public_key(rsa, "PS256", rsa.token("PS256", EVP_sha256(), true)) == "jack");
  CHECK(with_public_key(ec, "ES256", ec.token("ES256", EVP_sha256())) == "jack");
  CHECK(with_public_key(ed, "EdDSA", ed.token("EdDSA", nullptr)) == "jack");
  CHECK(with_public_key(rsa, "RS256", rsa.token("PS256", EVP_sha256(), true)) == refusal("failed to verify jwt"));
  const Signer other{EVP_RSA_gen(2048)};
  CHECK(with_public_key(rsa, "RS256", other.token("RS256", EVP_sha256())) == refusal("failed to verify jwt"));
}

TEST_CASE("jwt-auth's consumer side", "[plugins][jwt-auth]") {
  const auto message = [](const char* json) {
    auto conf = parse_json(json);
    const std::string first = schema::validate(JwtAuth::consumer_schema(), *conf, conf->GetAllocator());
    return first.empty() ? JwtAuth::check_consumer(*conf) : first;
  };
  CHECK(message(R"({"key":"k"})") == "property \"secret\" is required when using HS based algorithms");
  CHECK(message(R"({"secret":"s"})") == "property \"key\" is required");
  CHECK(message(R"({"key":"k","secret":"%","base64_secret":true})") ==
        "base64_secret required but the secret is not in base64 format");
  CHECK(message(R"({"key":"k","algorithm":"RS256","public_key":"no key"})") == "missing valid public key");
  CHECK(message(R"({"key":"k","secret":"s"})").empty());
  CHECK(schema::encrypted_paths(JwtAuth::consumer_schema()) == std::vector<std::string>{"secret"});
}
