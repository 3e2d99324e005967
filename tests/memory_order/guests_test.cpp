// The guest book: nobody comes or goes unseen, what one that has left had written is there, and the next guest of a line finds it
// as if it were new.
#include "segments/guests.hpp"
#include "tests/memory_order/every_order.hpp"

#include <gtest/gtest.h>

#include <array>
#include <optional>

namespace heddle::memory_order {
namespace {

using segments::Guest;
using segments::GuestLine;

constexpr std::uint64_t guest_uid(std::uint32_t guest) {
  return 21 + guest;
}
Guest guest_number(std::uint32_t guest) {
  const auto process = static_cast<std::int32_t>(11 + guest);
  return {.process = process,
          .uid = guest_uid(guest),
          .segment = {.process = process, .descriptor = static_cast<std::int32_t>(31 + guest), .inode = 41 + guest},
          .number = 51 + guest};
}

// Guests that sign a book of one line, write to the host's memory and leave, while the host looks so many times.
class GuestProgram {
 public:
  struct Form {
    std::uint32_t guests = 1;
    std::uint32_t looks = 2;
    bool stays = false;  // the guest does not leave
    bool mortal = false; // the guest may die at any step, and ends in any case
  };
  explicit GuestProgram(const Form& form) : form_(form) {}

  [[nodiscard]] Program program() {
    Program program{.prepare =
                        [this] {
                          host_.emplace(book_);
                          arrived_ = false;
                          left_ = {};
                        },
                    .threads = {[this] { host(); }, [this] { visit(0); }},
                    .finally = [this] { finally(); }};
    if (form_.guests > 1) program.threads.push_back([this] { visit(1); });
    if (!form_.mortal) return program;
    program.mortal = 1;
    program.at_death = [this] { post(end_, 1); };
    return program;
  }

 private:
  using Book = segments::BasicGuestBook<1>;
  std::byte* memory(std::uint32_t guest) { return reinterpret_cast<std::byte*>(&memory_.at(guest)); }

  // As Shm::sign_in and depart.
  void visit(std::uint32_t number) {
    const auto line = book_.sign<ModelMemory>(guest_number(number));
    assume(line.has_value()); // full: it gives up
    if (form_.stays) return;
    ModelMemory::plain_store(memory(number), 7);
    book_.strike_out<ModelMemory>(*line);
    if (form_.mortal) post(end_, 1);
  }

  // As Shm::look_for_ends and look_for_deaths.
  void host() {
    for (std::uint32_t i = 0; i < form_.looks; ++i)
      if (host_->changed()) look();
    if (!form_.mortal) return;
    (void)await(end_, 0);
    look(); // who had left before it ended is told as that
    host_->ended(guest_number(0).process, expect_whole);
  }
  void look() {
    host_->look([this](std::int32_t) { return arrived_ = true; },
                [this](const Guest& guest) {
                  expect_whole(guest);
                  check(guest.uid != 0, "a guest leaves that nobody is");
                  const auto number = static_cast<std::uint32_t>(guest.uid - guest_uid(0));
                  check(!left_.at(number), "a guest leaves twice");
                  left_.at(number) = true;
                  std::uint64_t seen = 0;
                  ModelMemory::copy_out(reinterpret_cast<std::byte*>(&seen), memory(number), sizeof seen);
                  check(seen == 7, "what a guest had written before it left is missing");
                  return true;
                });
  }
  static void expect_whole(const Guest& guest) {
    if (guest.uid == 0) return; // it had not signed
    const auto number = static_cast<std::uint32_t>(guest.uid - guest_uid(0));
    check(number < 2 && guest.number == guest_number(number).number, "the line is not whole");
  }
  // Who has come or left is known to have, or there is a change to look at. One that has ended has no line.
  void finally() {
    const std::uint64_t process = in_the_end(book_.lines[0].process);
    check(!form_.mortal || process == GuestLine::kFree, "one that has ended keeps its line");
    if (host_->seen() != in_the_end(book_.changes)) return;
    check(process != GuestLine::kStruckOut, "a guest has left unseen");
    check(!form_.stays || arrived_, "a guest has come unseen");
  }

  const Form form_;
  alignas(64) std::array<std::uint64_t, 2> memory_{};
  Book book_{};
  std::atomic<std::uint32_t> end_ = 0;
  std::optional<segments::BasicGuests<ModelMemory, 1>> host_;
  bool arrived_ = false;
  std::array<bool, 2> left_{};
};

// The host leaves, and wakes who has signed.
class NudgeProgram {
 public:
  [[nodiscard]] Program program() {
    return {.prepare = [this] { host_.emplace(book_); },
            .threads = {[this] {
                          host_->each_segment([](const segments::SegmentName& name) {
                            const auto expected = guest_number(0).segment;
                            check(name.process == expected.process && name.descriptor == expected.descriptor &&
                                      name.inode == expected.inode,
                                  "the segment is not the guest's");
                          });
                        },
                        [this] { (void)book_.sign<ModelMemory>(guest_number(0)); }}};
  }

 private:
  segments::BasicGuestBook<1> book_{};
  std::optional<segments::BasicGuests<ModelMemory, 1>> host_;
};

TEST(EveryOrder, OfAGuestBookTellsOfAll) {
  GuestProgram one({.guests = 1, .looks = 2});
  GuestProgram staying({.guests = 1, .looks = 2, .stays = true});
  GuestProgram two({.guests = 2, .looks = 2});
  GuestProgram mortal({.guests = 1, .looks = 1, .mortal = true});
  NudgeProgram nudge;
  expect_sound_and_minimal({{"one guest", one.program()},
                            {"a guest that stays", staying.program()},
                            {"two guests in one line", two.program()},
                            {"a guest that may die", mortal.program()},
                            {"a host that leaves", nudge.program()}});
}

} // namespace
} // namespace heddle::memory_order
