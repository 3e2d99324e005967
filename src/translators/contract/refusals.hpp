// The contract on what the target does not grant: Status::refused, nothing changed (event.hpp), and no event where none
// was asked for.
#pragma once

#include "translators/contract/network.hpp"

#include <limits>

namespace heddle::translators::contract {

inline constexpr std::uint64_t kLargest = std::numeric_limits<std::uint64_t>::max();

template <typename Network>
class RefusalsContract : public Pair<Network> {
 public:
  // Refused with a signal and without one; neither memory changes.
  void expect_refused(const ir::Command& command, const std::string& what) {
    SCOPED_TRACE(what);
    this->fill(std::byte{0xee});
    EXPECT_EQ(this->left.status_of(command), ir::Status::refused);
    this->left.submit(command);
    EXPECT_TRUE(this->left.events().empty());
    EXPECT_TRUE(this->all(std::byte{0xee}));
    EXPECT_EQ(local, pattern(local.size(), 4));
  }
  // The places that are nobody's.
  [[nodiscard]] std::vector<ir::RemotePlace> wrong_places() const {
    return {this->there.at(std::uint64_t{1} << 40U),
            {.key = this->there.key, .offset = kLargest},
            {.key = this->there.key, .offset = kLargest - 7},
            {.key = this->there.key, .offset = kLargest - local.size() + 1}, // offset + bytes wraps to 0
            {.key = this->there.key, .offset = kLargest - local.size() + 65},
            {.key = ir::MemoryKey{0}, .offset = 0},
            {.key = ir::MemoryKey{0xdead'beef}, .offset = this->there.offset},
            {.key = ir::MemoryKey{kLargest}, .offset = 0}};
  }

  std::vector<std::byte> local = pattern(256, 4);
};
TYPED_TEST_SUITE_P(RefusalsContract);

TYPED_TEST_P(RefusalsContract, PutsToPlacesThatAreNotExposed) {
  for (const ir::RemotePlace& place : this->wrong_places()) {
    const std::string where =
        std::to_string(static_cast<std::uint64_t>(place.key)) + "+" + std::to_string(place.offset);
    this->expect_refused(put(1, place, this->local), "data to " + where);
    this->expect_refused(put_word(1, place, 1), "head to " + where);
    ir::Command record = put_word(1, {.key = place.key, .offset = place.offset & ~std::uint64_t{7}}, 1);
    record.flags = ir::Flags::lead_last | ir::Flags::terminated;
    this->expect_refused(record, "record to " + where);
  }
}

TYPED_TEST_P(RefusalsContract, GetsFromPlacesThatAreNotExposed) {
  for (const ir::RemotePlace& place : this->wrong_places())
    this->expect_refused(get(1, place, this->local), std::to_string(place.offset));
}

TYPED_TEST_P(RefusalsContract, SizesThatWrapAround) {
  for (const std::uint64_t bytes : {kLargest, kLargest - 7, kLargest - 8, kLargest - 63, kLargest / 2 + 1}) {
    for (const std::uint64_t head : {std::uint64_t{0}, std::uint64_t{8}, std::uint64_t{64}}) {
      for (const ir::Flags flags : {ir::Flags::none, ir::Flags::terminated, ir::Flags::lead_last,
                                    ir::Flags::lead_last | ir::Flags::terminated}) {
        ir::Command command = put(1, this->there, this->local);
        command.bytes = bytes;
        command.head_bytes = head;
        command.flags = flags;
        this->expect_refused(command, "put of " + std::to_string(head) + " and " + std::to_string(bytes));
      }
    }
    ir::Command command = get(1, this->there, this->local);
    command.bytes = bytes;
    this->expect_refused(command, "get of " + std::to_string(bytes));
  }
}

TYPED_TEST_P(RefusalsContract, HeadsLongerThanACommandHolds) {
  for (const std::uint64_t head : {std::uint64_t{65}, std::uint64_t{4096}, kLargest, kLargest - 255}) {
    for (const ir::Flags flags : {ir::Flags::none, ir::Flags::terminated, ir::Flags::lead_last}) {
      ir::Command command = put(1, this->there, this->local);
      command.head_bytes = head;
      command.flags = flags;
      this->expect_refused(command, std::to_string(head));
    }
  }
}

TYPED_TEST_P(RefusalsContract, LeadsAndTerminatorsAtPlacesThatAreNotAligned) {
  for (std::uint64_t shift = 1; shift < 8; ++shift) {
    for (const ir::Flags flags :
         {ir::Flags::lead_last, ir::Flags::terminated, ir::Flags::lead_last | ir::Flags::terminated}) {
      ir::Command command = put_word(1, this->there.at(shift), 1);
      command.flags = flags;
      this->expect_refused(command, std::to_string(shift));
    }
  }
}

TYPED_TEST_P(RefusalsContract, LeadsThatAreNotInTheHead) {
  for (std::uint64_t head = 0; head < 8; ++head) {
    ir::Command command = put(1, this->there, this->local);
    command.head_bytes = head;
    command.flags = ir::Flags::lead_last;
    this->expect_refused(command, std::to_string(head));
  }
}

TYPED_TEST_P(RefusalsContract, OneRefusalLeavesTheNextCommandAlone) {
  std::array<ir::Command, 3> batch = {put_word(1, this->there, 1), put_word(1, this->there.at(kLargest / 2), 2),
                                      put_word(1, this->there.at(8), 3)};
  for (const ir::Command& command : batch) this->left.submit(command);
  this->left.wait([&] { return load_word(this->memory.data() + 8) == 3; });
  EXPECT_EQ(load_word(this->memory.data()), 1U);
}

REGISTER_TYPED_TEST_SUITE_P(RefusalsContract, PutsToPlacesThatAreNotExposed, GetsFromPlacesThatAreNotExposed,
                            SizesThatWrapAround, HeadsLongerThanACommandHolds,
                            LeadsAndTerminatorsAtPlacesThatAreNotAligned, LeadsThatAreNotInTheHead,
                            OneRefusalLeavesTheNextCommandAlone);

} // namespace heddle::translators::contract
