// The contract on what the target does not grant: Status::refused, nothing changed (event.hpp), and no event where none
// was asked for.
#include "translators/contract/contract.hpp"

namespace heddle::translators::contract {

void RefusalsContract::expect_refused(const ir::Command& command, const std::string& what) {
  SCOPED_TRACE(what);
  fill(std::byte{0xee});
  EXPECT_EQ(left.status_of(command), ir::Status::refused);
  left.submit(command);
  EXPECT_TRUE(left.events().empty());
  EXPECT_TRUE(all(std::byte{0xee}));
  EXPECT_EQ(local, pattern(local.size(), 4));
}

std::vector<ir::RemotePlace> RefusalsContract::wrong_places() const {
  return {there.at(std::uint64_t{1} << 40U),
          {.key = there.key, .offset = kLargest},
          {.key = there.key, .offset = kLargest - 7},
          {.key = there.key, .offset = kLargest - local.size() + 1}, // offset + bytes wraps to 0
          {.key = there.key, .offset = kLargest - local.size() + 65},
          {.key = ir::MemoryKey{0}, .offset = 0},
          {.key = ir::MemoryKey{0xdead'beef}, .offset = there.offset},
          {.key = ir::MemoryKey{kLargest}, .offset = 0}};
}

namespace {

TEST_P(RefusalsContract, PutsToPlacesThatAreNotExposed) {
  for (const ir::RemotePlace& place : wrong_places()) {
    const std::string where =
        std::to_string(static_cast<std::uint64_t>(place.key)) + "+" + std::to_string(place.offset);
    expect_refused(put(1, place, local), "data to " + where);
    expect_refused(put_word(1, place, 1), "head to " + where);
    ir::Command record = put_word(1, {.key = place.key, .offset = place.offset & ~std::uint64_t{7}}, 1);
    record.flags = ir::Flags::lead_last | ir::Flags::terminated;
    expect_refused(record, "record to " + where);
  }
}

TEST_P(RefusalsContract, GetsFromPlacesThatAreNotExposed) {
  for (const ir::RemotePlace& place : wrong_places())
    expect_refused(get(1, place, local), std::to_string(place.offset));
}

TEST_P(RefusalsContract, SizesThatWrapAround) {
  for (const std::uint64_t bytes : {kLargest, kLargest - 7, kLargest - 8, kLargest - 63, kLargest / 2 + 1}) {
    for (const std::uint64_t head : {std::uint64_t{0}, std::uint64_t{8}, std::uint64_t{64}}) {
      for (const ir::Flags flags : {ir::Flags::none, ir::Flags::terminated, ir::Flags::lead_last,
                                    ir::Flags::lead_last | ir::Flags::terminated}) {
        ir::Command command = put(1, there, local);
        command.bytes = bytes;
        command.head_bytes = static_cast<std::uint32_t>(head);
        command.flags = flags;
        expect_refused(command, "put of " + std::to_string(head) + " and " + std::to_string(bytes));
      }
    }
    ir::Command command = get(1, there, local);
    command.bytes = bytes;
    expect_refused(command, "get of " + std::to_string(bytes));
  }
}

TEST_P(RefusalsContract, HeadsLongerThanACommandHolds) {
  for (const std::uint64_t head : {std::uint64_t{65}, std::uint64_t{4096}, kLargest, kLargest - 255}) {
    for (const ir::Flags flags : {ir::Flags::none, ir::Flags::terminated, ir::Flags::lead_last}) {
      ir::Command command = put(1, there, local);
      command.head_bytes = static_cast<std::uint32_t>(head);
      command.flags = flags;
      expect_refused(command, std::to_string(head));
    }
  }
}

TEST_P(RefusalsContract, LeadsAndTerminatorsAtPlacesThatAreNotAligned) {
  for (std::uint64_t shift = 1; shift < 8; ++shift) {
    for (const ir::Flags flags :
         {ir::Flags::lead_last, ir::Flags::terminated, ir::Flags::lead_last | ir::Flags::terminated}) {
      ir::Command command = put_word(1, there.at(shift), 1);
      command.flags = flags;
      expect_refused(command, std::to_string(shift));
    }
  }
}

TEST_P(RefusalsContract, LeadsThatAreNotInTheHead) {
  for (std::uint64_t head = 0; head < 8; ++head) {
    ir::Command command = put(1, there, local);
    command.head_bytes = static_cast<std::uint32_t>(head);
    command.flags = ir::Flags::lead_last;
    expect_refused(command, std::to_string(head));
  }
}

TEST_P(RefusalsContract, OneRefusalLeavesTheNextCommandAlone) {
  std::array<ir::Command, 3> batch = {put_word(1, there, 1), put_word(1, there.at(kLargest / 2), 2),
                                      put_word(1, there.at(8), 3)};
  for (const ir::Command& command : batch) left.submit(command);
  left.wait([&] { return load_word(memory.data() + 8) == 3; });
  EXPECT_EQ(load_word(memory.data()), 1U);
}

} // namespace
} // namespace heddle::translators::contract
