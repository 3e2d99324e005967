// The name of an opened context (Context::open): all that another process needs to talk to it. It may travel by any means: a pipe,
// a file, a line of text, another network.
#pragma once

#include <heddle/error.hpp>

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#pragma GCC visibility push(default)
namespace heddle {

class Name {
 public:
  static constexpr std::size_t kBytes = 64;

  // Fails with bad_argument where it is no name: of another size, of another version, or damaged.
  [[nodiscard]] static Result<Name> from_bytes(std::span<const std::byte> bytes);
  [[nodiscard]] static Result<Name> from_text(std::string_view text);

  [[nodiscard]] const std::array<std::byte, kBytes>& bytes() const { return bytes_; }
  // Twice as long: hexadecimal digits.
  [[nodiscard]] std::string text() const;

  friend bool operator==(const Name&, const Name&) = default;

 private:
  explicit Name(const std::array<std::byte, kBytes>& bytes) : bytes_(bytes) {}
  std::array<std::byte, kBytes> bytes_;
};

} // namespace heddle
#pragma GCC visibility pop
