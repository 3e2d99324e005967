#include "auth/secret.hpp"

#include <sodium.h>

namespace heddle::auth {

void draw_randomly(std::span<std::byte> bytes) {
  [[maybe_unused]] const int prepared = ::sodium_init(); // the first of all threads prepares it
  ::randombytes_buf(bytes.data(), bytes.size());
}

Secret Secret::draw() {
  Secret secret;
  draw_randomly(secret.bytes);
  return secret;
}

Result<Secret> Secret::parse(std::string_view text) {
  Secret secret;
  std::size_t made = 0;
  const char* end = nullptr;
  const int status = ::sodium_hex2bin(reinterpret_cast<unsigned char*>(secret.bytes.data()), secret.bytes.size(),
                                      text.data(), text.size(), nullptr, &made, &end);
  const bool whole = status == 0 && made == secret.bytes.size() && end == text.data() + text.size();
  if (whole && secret.bytes == Secret{}.bytes)
    return std::unexpected(Error{.code = ErrorCode::bad_option,
                                 .fact = "the secret is all zeros, which anybody would guess",
                                 .remedy = "make one with: openssl rand -hex 32"});
  if (whole) return secret;
  return std::unexpected(Error{.code = ErrorCode::bad_option,
                               .fact = "the secret has " + std::to_string(text.size()) +
                                       " characters, or others than 0-9 and a-f: expected 64 hexadecimal digits",
                               .remedy = "make one with: openssl rand -hex 32"});
}

Result<std::optional<Secret>> Secret::of(const base::Environment& environment) {
  const auto text = environment.lookup(kSecretVariable);
  if (!text) return std::nullopt;
  auto secret = parse(*text);
  if (secret) return *secret;
  secret.error().fact = std::string(kSecretVariable) + ": " + secret.error().fact;
  return std::unexpected(std::move(secret.error()));
}

std::string Secret::text() const {
  std::string text(2 * bytes.size() + 1, '\0');
  ::sodium_bin2hex(text.data(), text.size(), reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  text.pop_back();
  return text;
}

std::string Secret::sign(std::string_view text) const {
  Secret hash; // of the same size
  ::crypto_generichash(reinterpret_cast<unsigned char*>(hash.bytes.data()), hash.bytes.size(),
                       reinterpret_cast<const unsigned char*>(text.data()), text.size(),
                       reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  return hash.text();
}

} // namespace heddle::auth
