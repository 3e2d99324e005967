// A record as it travels: one message that the receiver's processor stores where it belongs, its first word last.
#pragma once

#include <cstddef>
#include <cstdint>

namespace heddle::translators::verbs {

struct Record {
  std::uint64_t key = 0; // where the record goes
  std::uint64_t offset = 0;
  std::uint32_t bytes = 0; // that follow
  std::uint8_t terminated = 0;
  std::uint8_t announced = 0;
  std::uint8_t notice = 0;
  std::uint8_t reserved = 0;
};
static_assert(sizeof(Record) == 24);

// Of a frame and what follows it. A record that is longer is written by the adapter, all but its first word; the word follows so.
inline constexpr std::uint32_t kRoomBytes = 1024;

// In an open world, with key 0, what the sender has done; the 8 bytes are the number by which it knows the receiver.
inline constexpr std::uint64_t kAttached = 1;
inline constexpr std::uint64_t kDetached = 2;

// What comes with a write that its target is to notice: kAnnounced and the number that the command carries.
inline constexpr std::uint32_t kAnnounced = 0x100;

} // namespace heddle::translators::verbs
