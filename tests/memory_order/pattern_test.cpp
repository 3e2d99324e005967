// A pattern's rounds: records and data arrive whole, nobody writes what is still read or read again, and memory is left alone after
// the last farewell.
#include "ir/direct_ring.hpp"
#include "pattern/turns.hpp"
#include "tests/memory_order/every_order.hpp"
#include "translators/execute.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>

namespace heddle::memory_order {
namespace {

using pattern::Farewell;
using pattern::kRecordHead;
using pattern::kSlots;
using pattern::Line;

std::byte* bytes_of(std::uint64_t& word) {
  return reinterpret_cast<std::byte*>(&word);
}
std::uint64_t value_of(std::uint64_t round) {
  return 100 + round;
}
// As Runner::put_word: into direct memory, or by a command.
void put_word(bool by_commands, std::uint64_t& to, std::uint64_t word) {
  if (!by_commands) {
    ir::store_word<ModelMemory>(word, bytes_of(to));
    return;
  }
  ir::Command command{.operation = ir::Operation::put, .head_bytes = sizeof word};
  command.bytes = 0;
  std::memcpy(command.head.data(), &word, sizeof word);
  translators::execute_put<ModelMemory>(command, bytes_of(to));
}
void copied_out(const std::uint64_t& from, std::uint64_t expected) {
  std::uint64_t value = 0;
  ModelMemory::copy_out(bytes_of(value), reinterpret_cast<const std::byte*>(&from), sizeof value);
  check(value == expected, "what comes is not of this round");
}
// All is over for the caller as soon as its partner has said that it writes no more.
void reuse(const Line& line, std::uint64_t& memory) {
  assume(pattern::farewell_of<ModelMemory>(line).why == Farewell::freed);
  ModelMemory::plain_store(bytes_of(memory), 0);
}
const std::uint64_t kFreed = Farewell{.why = Farewell::freed}.pack();

// One partner sends a record each round, by Delivery::record.
class RecordProgram {
 public:
  RecordProgram(std::uint64_t rounds, bool by_commands) : rounds_(rounds), by_commands_(by_commands) {}

  [[nodiscard]] Program program() {
    return {.prepare = [] {}, .threads = {[this] { send(); }, [this] { receive(); }}};
  }

 private:
  static constexpr std::uint64_t kWords = 4; // of a slot: head, payload, terminator

  std::uint64_t& slot(std::uint64_t round) { return slots_.at(round % kSlots * kWords); }

  // As Runner::hand_over and hand_over_record, then say_farewell.
  void send() {
    for (std::uint64_t round = 1; round <= rounds_; ++round) {
      assume(pattern::slot_is_free<ModelMemory>(senders_line_, round));
      std::uint64_t payload = value_of(round);
      if (!by_commands_) {
        ir::store_record<ModelMemory>({.lead = round, .second = 8, .local = bytes_of(payload), .bytes = 8},
                                      bytes_of(slot(round)));
        continue;
      }
      ir::Command command{.operation = ir::Operation::put,
                          .flags = ir::Flags::lead_last,
                          .local = bytes_of(payload),
                          .bytes = 8,
                          .head_bytes = kRecordHead};
      const std::array<std::uint64_t, 2> head{round, 8};
      std::memcpy(command.head.data(), head.data(), sizeof head);
      translators::execute_put<ModelMemory>(command, bytes_of(slot(round)));
    }
    put_word(by_commands_, receivers_line_.farewell, kFreed);
  }
  // As Runner::take and forgotten.
  void receive() {
    for (std::uint64_t round = 1; round <= rounds_; ++round) {
      assume(pattern::has_come<ModelMemory>(bytes_of(slot(round)), round));
      copied_out(slots_.at(round % kSlots * kWords + kRecordHead / 8), value_of(round));
      put_word(by_commands_, senders_line_.consumed, round);
    }
    reuse(receivers_line_, slots_.at(kRecordHead / 8));
  }

  const std::uint64_t rounds_;
  const bool by_commands_;
  alignas(64) std::array<std::uint64_t, kSlots * kWords> slots_{};
  Line senders_line_;   // written by the receiver
  Line receivers_line_; // written by the sender
};

// One partner writes into the other's memory each round, by Delivery::data, or at once by Delivery::put.
class DataProgram {
 public:
  DataProgram(std::uint64_t rounds, bool by_commands) : rounds_(rounds), by_commands_(by_commands) {}

  [[nodiscard]] Program program() {
    return {.prepare = [] {}, .threads = {[this] { send(); }, [this] { receive(); }}};
  }

 private:
  // As Runner::hand_over, hand_over_data and raise_flag, then say_farewell.
  void send() {
    for (std::uint64_t round = 1; round <= rounds_; ++round) {
      assume(pattern::has_started<ModelMemory>(senders_line_, round));
      put(data_.data(), round);
      put_word(by_commands_, flag_, round);
    }
    put(exposed_.data(), rounds_);
    put_word(by_commands_, receivers_line_.farewell, kFreed);
  }
  static void put(std::uint64_t* to, std::uint64_t round) {
    std::array<std::uint64_t, 2> data{value_of(round), value_of(round)};
    ir::Command command{.operation = ir::Operation::put, .local = bytes_of(data[0]), .bytes = sizeof data};
    translators::execute_put<ModelMemory>(command, bytes_of(*to));
  }
  // As Runner::begin_moving, take and forgotten; between two rounds the memory is the program's.
  void receive() {
    for (std::uint64_t round = 1; round <= rounds_; ++round) {
      ModelMemory::plain_store(bytes_of(data_[0]), 1);
      put_word(by_commands_, senders_line_.started, round);
      assume(pattern::has_come<ModelMemory>(bytes_of(flag_), round));
      copied_out(data_[0], value_of(round));
      copied_out(data_[1], value_of(round));
    }
    reuse(receivers_line_, exposed_[0]);
  }

  const std::uint64_t rounds_;
  const bool by_commands_;
  alignas(64) std::array<std::uint64_t, 2> data_{};
  alignas(64) std::array<std::uint64_t, 2> exposed_{};
  alignas(64) std::uint64_t flag_ = 0;
  Line senders_line_;
  Line receivers_line_;
};

TEST(EveryOrder, OfAPatternKeepsItsRoundsApart) {
  RecordProgram records(3, false);
  RecordProgram records_by_commands(3, true);
  DataProgram data(2, false);
  DataProgram data_by_commands(2, true);
  // Of execute.hpp and of shared_words.hpp other uses need more.
  expect_sound_and_minimal({{"records", records.program()}, {"data", data.program()}}, "shared_words.hpp");
  expect_sound_and_minimal(
      {{"records, by commands", records_by_commands.program()}, {"data, by commands", data_by_commands.program()}},
      "shared_words.hpp");
}

} // namespace
} // namespace heddle::memory_order
