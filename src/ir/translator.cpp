#include "ir/translator.hpp"

#include <algorithm>
#include <thread>

namespace heddle::ir {

Result<Peer> Translator::make_group(std::span<const GroupMember>) {
  return std::unexpected(Error{.code = ErrorCode::bad_argument, .fact = "this network knows no groups"});
}

Resources Translator::resources() const {
  const std::uint32_t engines = capabilities().engines;
  return {.engines = engines, .receive_engines = engines};
}

void Translator::sleep(std::chrono::nanoseconds limit) {
  // Long enough to give the core away, short enough that a message is not late by more than a scheduler's tick.
  constexpr std::chrono::nanoseconds kNap = std::chrono::microseconds(50);
  std::this_thread::sleep_for(std::min(limit, kNap));
}

} // namespace heddle::ir
