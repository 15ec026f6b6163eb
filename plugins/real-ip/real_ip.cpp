#include "plugins/real-ip/real_ip.hpp"

#include "conf/base/text.hpp"
#include "plugins/sdk/address_field.hpp"

namespace sluice::plugins::real_ip {

using sdk::RequestContext;
using sdk::Verdict;

namespace {

struct Endpoint {
  std::string_view ip;  // without brackets
  std::string_view port;
};

// "1.2.3.4", "1.2.3.4:80", "::1", "[::1]", "[::1]:80".
Endpoint split(std::string_view text) noexcept {
  if (text.starts_with('[')) {
    const auto close = text.find(']');
    if (close == std::string_view::npos) return {};
    const std::string_view rest = text.substr(close + 1);
    if (rest.empty()) return {text.substr(1, close - 1), {}};
    return rest.front() == ':' && rest.size() > 1 ? Endpoint{text.substr(1, close - 1), rest.substr(1)} : Endpoint{};
  }
  const auto colon = text.find(':');
  if (colon == std::string_view::npos || text.find(':', colon + 1) != std::string_view::npos) return {text, {}};
  return {text.substr(0, colon), text.substr(colon + 1)};
}

}  // namespace

const schema::Table<RealIp::Config>& RealIp::table() {
  using namespace schema;
  static const auto kTable =
      schema::table<Config>()
          .field("trusted_addresses", &Config::trusted_addresses,
                 array(sdk::address_field())
                     .min_items(1)
                     .doc("who may say what the client's address is; absent: everybody"))
          .field("source", &Config::source,
                 string().min_length(1).doc("variable that holds the address, such as http_x_real_ip"), required)
          .field("recursive", &Config::recursive,
                 boolean().default_value(false).doc("skip trusted addresses in X-Forwarded-For"));
  return kTable;
}

std::string RealIp::check(const Json& conf) { return sdk::check_addresses(conf, "trusted_addresses"); }

Result<RealIp> RealIp::compile(Config config, sdk::CompileContext& context) {
  RealIp made;
  auto trusted = CidrSet::parse(config.trusted_addresses);
  if (!trusted) return trusted.error();
  made.trusted_ = std::move(*trusted);
  made.restricted_ = !config.trusted_addresses.empty();
  made.forwarded_for_ = config.source == "http_x_forwarded_for";
  made.recursive_ = config.recursive;
  made.source_ = context.variable(config.source);
  return made;
}

// The last address of the list, or with `recursive` the last that is not trusted (else the first).
std::string_view RealIp::from_chain(std::string_view chain) const noexcept {
  while (true) {
    const auto comma = chain.rfind(',');
    const std::string_view last = text::trim(chain.substr(comma == std::string_view::npos ? 0 : comma + 1));
    if (comma == std::string_view::npos || !recursive_ || !restricted_) return last;
    if (!trusted_.contains(split(last).ip)) return last;
    chain = chain.substr(0, comma);
  }
}

Verdict RealIp::rewrite(RequestContext& ctx) const noexcept {
  if (restricted_ && !trusted_.contains(ctx.client_address)) return Verdict::proceed();
  std::string_view said;
  if (forwarded_for_) {
    for (const sdk::Field& field : ctx.request_headers)
      if (field.id == sdk::FieldId::x_forwarded_for) said = field.value;
    said = from_chain(said);
  } else {
    said = source_.get(ctx).text;
  }
  const Endpoint endpoint = split(said);
  const auto address = parse_ip(endpoint.ip);
  const auto port = text::to_int<std::uint32_t>(endpoint.port);
  const bool bad_port = !endpoint.port.empty() && (!port || *port < 1 || *port > 65535);
  if (!address || bad_port) return Verdict::proceed();
  ctx.client_address = *address;
  ctx.client_text = endpoint.ip;
  if (port) ctx.client_port = static_cast<std::uint16_t>(*port);
  return Verdict::proceed();
}

}  // namespace sluice::plugins::real_ip
