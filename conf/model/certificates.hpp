// PEM texts of certificates and private keys: do they parse? And proto definitions: do they compile?
#pragma once

#include <string>
#include <string_view>

namespace sluice::conf {

// Each returns an empty text, or what the library says.
std::string check_certificate(std::string_view pem);
std::string check_private_key(std::string_view pem);
bool looks_like_pem(std::string_view text) noexcept;

// `.proto` text or a base64 descriptor set.
std::string check_proto(std::string_view content);

}  // namespace sluice::conf
