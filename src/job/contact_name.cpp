#include "job/contact_name.hpp"

#include "base/mix.hpp"

#include <algorithm>
#include <cstring>
#include <random>

namespace heddle {

namespace {

// uid, version, networks, check: in this order. Of each network its letter, the length of its short address, and that address; zeros
// fill up.
constexpr std::size_t kVersionAt = sizeof(std::uint64_t);
constexpr std::size_t kNetworksAt = kVersionAt + 1;
constexpr std::size_t kCheckAt = Name::kBytes - sizeof(std::uint32_t);
constexpr std::byte kVersion{2};

using Bytes = std::array<std::byte, Name::kBytes>;

std::uint32_t check_of(const Bytes& bytes) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < kCheckAt; ++i) sum = base::mix(sum ^ static_cast<std::uint64_t>(bytes[i]));
  return static_cast<std::uint32_t>(sum);
}

std::unexpected<Error> no_name(std::string fact) {
  return std::unexpected(Error{.code = ErrorCode::bad_argument,
                               .fact = std::move(fact),
                               .remedy = "pass on what Context::name gave, all of it and unchanged"});
}

int digit(char text) {
  if (text >= '0' && text <= '9') return text - '0';
  if (text >= 'a' && text <= 'f') return text - 'a' + 10;
  if (text >= 'A' && text <= 'F') return text - 'A' + 10;
  return -1;
}

} // namespace

Result<Name> Name::from_bytes(std::span<const std::byte> bytes) {
  if (bytes.size() != kBytes)
    return no_name("a name has " + std::to_string(kBytes) + " bytes, not " + std::to_string(bytes.size()));
  Bytes all;
  std::copy_n(bytes.begin(), kBytes, all.begin());
  std::uint32_t check = 0;
  std::memcpy(&check, all.data() + kCheckAt, sizeof check);
  if (check != check_of(all)) return no_name("the bytes are not a name, or are damaged");
  if (all[kVersionAt] != kVersion)
    return no_name("the name is of version " + std::to_string(static_cast<int>(all[kVersionAt])) + ", not " +
                   std::to_string(static_cast<int>(kVersion)));
  return Name(all);
}

Result<Name> Name::from_text(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' ')) text.remove_suffix(1);
  if (text.size() != 2 * kBytes)
    return no_name("a name has " + std::to_string(2 * kBytes) + " digits, not " + std::to_string(text.size()));
  Bytes bytes;
  for (std::size_t i = 0; i < kBytes; ++i) {
    const int high = digit(text[2 * i]);
    const int low = digit(text[2 * i + 1]);
    if (high < 0 || low < 0) return no_name("a name consists of the digits 0-9 and a-f");
    bytes[i] = static_cast<std::byte>(high * 16 + low);
  }
  return from_bytes(bytes);
}

std::string Name::text() const {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  text.reserve(2 * kBytes);
  for (const std::byte byte : bytes_) {
    text += kDigits[static_cast<std::size_t>(byte >> 4U)];
    text += kDigits[static_cast<std::size_t>(byte & std::byte{15})];
  }
  return text;
}

namespace job {

Result<Name> ContactName::encode() const {
  Bytes bytes{};
  std::memcpy(bytes.data(), &uid, sizeof uid);
  bytes[kVersionAt] = kVersion;
  std::size_t at = kNetworksAt;
  for (const Entry& entry : networks) {
    const auto address = entry.address.used();
    if (at + 2 + address.size() > kCheckAt)
      return std::unexpected(Error{.code = ErrorCode::unsupported,
                                   .fact = "a name has no room for the addresses of all networks",
                                   .remedy = "name fewer in option translators"});
    bytes[at] = static_cast<std::byte>(entry.letter);
    bytes[at + 1] = static_cast<std::byte>(address.size());
    std::ranges::copy(address, bytes.begin() + static_cast<std::ptrdiff_t>(at + 2));
    at += 2 + address.size();
  }
  const std::uint32_t check = check_of(bytes);
  std::memcpy(bytes.data() + kCheckAt, &check, sizeof check);
  return Name::from_bytes(bytes);
}

ContactName ContactName::decode(const Name& name) {
  ContactName contact;
  const std::byte* bytes = name.bytes().data();
  std::memcpy(&contact.uid, bytes, sizeof contact.uid);
  std::size_t at = kNetworksAt;
  while (at + 2 <= kCheckAt && bytes[at] != std::byte{0}) {
    Entry entry{.letter = static_cast<char>(bytes[at])};
    const auto size = std::to_integer<std::size_t>(bytes[at + 1]);
    if (size > entry.address.bytes.size() || at + 2 + size > kCheckAt) break;
    entry.address.size = static_cast<std::uint8_t>(size);
    std::memcpy(entry.address.bytes.data(), bytes + at + 2, size);
    if (contact.find(entry.letter) == nullptr) contact.networks.push_back(entry);
    at += 2 + size;
  }
  return contact;
}

const ContactName::Entry* ContactName::find(char letter) const {
  const auto found = std::ranges::find(networks, letter, &Entry::letter);
  return found == networks.end() ? nullptr : &*found;
}

std::uint64_t draw_uid() {
  std::random_device random;
  std::uint64_t uid = 0;
  while (uid == 0) uid = (std::uint64_t{random()} << 32U) | random();
  return uid;
}

} // namespace job
} // namespace heddle
