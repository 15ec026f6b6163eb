// Certificates and private keys on their way through the Admin API.
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <catch2/catch.hpp>

#include "test/admin/api_fixture.hpp"

using namespace sluice;
using namespace sluice::admin;
using test::ApiFixture;

namespace {

std::string text_of_bio(BIO* bio) {
  char* data = nullptr;
  const long n = BIO_get_mem_data(bio, &data);
  std::string out(data, static_cast<std::size_t>(n));
  BIO_free(bio);
  return out;
}

struct Pair {
  std::string cert, key;
};

Pair self_signed() {
  EVP_PKEY* key = EVP_EC_gen("P-256");
  X509* cert = X509_new();
  ASN1_INTEGER_set(X509_get_serialNumber(cert), 1);
  X509_gmtime_adj(X509_getm_notBefore(cert), 0);
  X509_gmtime_adj(X509_getm_notAfter(cert), 3600);
  X509_set_pubkey(cert, key);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(cert), "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>("a.test"), -1, -1, 0);
  X509_set_issuer_name(cert, X509_get_subject_name(cert));
  X509_sign(cert, key, EVP_sha256());
  BIO* a = BIO_new(BIO_s_mem());
  PEM_write_bio_X509(a, cert);
  BIO* b = BIO_new(BIO_s_mem());
  PEM_write_bio_PrivateKey(b, key, nullptr, nullptr, 0, nullptr, nullptr);
  X509_free(cert);
  EVP_PKEY_free(key);
  return {text_of_bio(a), text_of_bio(b)};
}

std::string quoted(const std::string& s) { return json_string(s); }

std::string member(const http::Response& r, std::initializer_list<const char*> path) {
  auto doc = parse_json(r.body);
  REQUIRE(doc);
  const Json* at = &*doc;
  for (const char* name : path)
    if (at != nullptr) at = find(*at, name);
  return at == nullptr ? "none" : std::string(text_of(*at));
}

}  // namespace

TEST_CASE("an ssl's key is sealed in the store, and GET does not show it", "[admin][api][ssl]") {
  ApiFixture f;
  const Pair pair = self_signed();
  const std::string body = R"({"sni":"a.test","cert":)" + quoted(pair.cert) + R"(,"key":)" + quoted(pair.key) + "}";
  const auto put = f.admin("PUT", "/ssls/1", body);
  REQUIRE(put.status == 201);
  const std::string sealed = member(put, {"value", "key"});
  CHECK(sealed.find("BEGIN") == std::string::npos);
  CHECK(member(f.admin("GET", "/ssls/1"), {"value", "key"}) == "none");
  CHECK(f.admin("GET", "/ssls").body.find("\"key\":\"" + sealed.substr(0, 20)) == std::string::npos);
  for (int i = 0; i < 5; ++i) CHECK(f.admin("PATCH", "/ssls/1", R"({"labels":{"n":"x"}})").status == 200);
  // A client that sends back what a write answered does not seal it twice.
  const auto again =
      f.admin("PUT", "/ssls/1", R"({"sni":"a.test","cert":)" + quoted(pair.cert) + R"(,"key":)" + quoted(sealed) + "}");
  CHECK(again.status == 200);
  CHECK(member(again, {"value", "key"}) == sealed);
  CHECK(f.sink.changes.back().json.find("BEGIN PRIVATE KEY") != std::string::npos);
  f.store->close();
  CHECK(f.raw_store().find("BEGIN PRIVATE KEY") == std::string::npos);
  f.reopen();
  CHECK(f.configuration->everything()[0].json.find("BEGIN PRIVATE KEY") != std::string::npos);
}

TEST_CASE("what is no certificate or key is refused with its reason", "[admin][api][ssl]") {
  ApiFixture f;
  const Pair pair = self_signed();
  const std::string junk(200, 'x');
  const auto error = [&](const std::string& cert, const std::string& key, const std::string& more = "") {
    return ApiFixture::error_of(f.admin(
        "PUT", "/ssls/1", R"({"sni":"a.test","cert":)" + quoted(cert) + R"(,"key":)" + quoted(key) + more + "}"));
  };
  CHECK(error(junk, pair.key).starts_with("failed to parse cert: "));
  CHECK(error(pair.cert, "-----BEGIN PRIVATE KEY-----\n" + junk + "\n-----END PRIVATE KEY-----\n")
            .starts_with("failed to parse key: "));
  CHECK(error(pair.cert, junk) == "failed to decrypt previous encrypted key");
  CHECK(error(pair.cert, pair.key, R"(,"certs":[)" + quoted(pair.cert) + "]") == "mismatched number of certs and keys");
  CHECK(error(pair.cert, pair.key, R"(,"client":{"ca":)" + quoted(junk) + "}")
            .starts_with("failed to validate client_cert: "));
  CHECK(f.sink.batches == 0);
}

TEST_CASE("an upstream's client key is shown sealed and may be sent back", "[admin][api][ssl]") {
  ApiFixture f;
  const Pair pair = self_signed();
  const auto body = [&](const std::string& key) {
    return R"({"nodes":{"127.0.0.1:443":1},"scheme":"https","tls":{"client_cert":)" + quoted(pair.cert) +
           R"(,"client_key":)" + quoted(key) + "}}";
  };
  REQUIRE(f.admin("PUT", "/upstreams/1", body(pair.key)).status == 201);
  const std::string sealed = member(f.admin("GET", "/upstreams/1"), {"value", "tls", "client_key"});
  CHECK(sealed.find("BEGIN") == std::string::npos);
  REQUIRE(f.admin("PUT", "/upstreams/1", body(sealed)).status == 200);
  CHECK(member(f.admin("GET", "/upstreams/1"), {"value", "tls", "client_key"}) == sealed);
  CHECK(f.sink.changes.back().json.find("BEGIN PRIVATE KEY") != std::string::npos);
}

TEST_CASE("client certificates by reference", "[admin][api][ssl]") {
  ApiFixture f;
  const Pair pair = self_signed();
  const std::string rest = R"("cert":)" + quoted(pair.cert) + R"(,"key":)" + quoted(pair.key) + "}";
  REQUIRE(f.admin("PUT", "/ssls/1", R"({"sni":"a.test",)" + rest).status == 201);
  REQUIRE(f.admin("PUT", "/ssls/2", R"({"type":"client",)" + rest).status == 201);
  const auto put = [&](const char* id) {
    return f.admin("PUT", "/upstreams/1",
                   std::string(R"({"nodes":{"127.0.0.1:443":1},"tls":{"client_cert_id":")") + id + "\"}}");
  };
  CHECK(ApiFixture::error_of(put("9")) == "failed to fetch ssl info by ssl id [9], response code: 404");
  CHECK(ApiFixture::error_of(put("1")) == "failed to fetch ssl info by ssl id [1], wrong ssl type");
  CHECK(put("2").status == 201);
  CHECK(ApiFixture::error_of(f.admin("DELETE", "/ssls/2")) ==
        "can not delete this ssl, upstream [1] is still using it now");
}
