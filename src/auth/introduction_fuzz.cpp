// Somebody who does not know the secret says anything to either side: it is never let in.
#include "auth/introduction.hpp"

#include "base/fuzz_input.hpp"

#include <algorithm>
#include <array>

namespace heddle::fuzz {

namespace {

using auth::Introduction;

// What the other side said before, changed here and there, or the input's own bytes.
std::array<std::byte, auth::kMessageBytes> next_message(Input& input, std::span<const std::byte> heard) {
  std::array<std::byte, auth::kMessageBytes> message{};
  if (!heard.empty() && input.below(2) == 0) std::ranges::copy(heard, message.begin());
  if (input.below(2) == 0) {
    const auto own = input.bytes(auth::kMessageBytes);
    std::ranges::copy(own, message.begin());
  }
  constexpr std::array kMagic{'h', 'e', 'd', 'd', 'l', 'e', '-', '1'};
  if (input.below(2) == 0) std::ranges::transform(kMagic, message.begin(), [](char c) { return std::byte(c); });
  if (input.below(2) == 0) message[8] = std::byte(input.below(5));
  if (input.below(2) == 0) message[11] = std::byte{1};
  return message;
}

} // namespace

void introduction(Input& input) {
  static const auth::Secret kSecret = auth::Secret::draw();
  const auto role = input.below(2) == 0 ? Introduction::Role::calls : Introduction::Role::answers;
  Introduction side(role, kSecret, {.purpose = auth::Purpose::peer, .version = 1});
  auto state = side.begin();
  for (int i = 0; i < 8 && !input.empty(); ++i) {
    const auto message = next_message(input, side.reply());
    state = side.take(message);
    demand(state != Introduction::State::proven, "a stranger is not let in");
    if (state == Introduction::State::failed) demand(!side.reason().empty(), "a refusal has a reason");
  }
}

} // namespace heddle::fuzz
