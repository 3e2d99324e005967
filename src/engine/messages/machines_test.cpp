#include "engine/messages/machines.hpp"

#include <gtest/gtest.h>

#include <map>
#include <utility>

namespace heddle::engine {
namespace {

constexpr unsigned kStages = static_cast<unsigned>(Stage::done) + 1;

TEST(SendMachine, StepsAsItsTableSaysForEveryPair) {
  const std::map<std::pair<Stage, SendInput>, Stage> table = {
      {{Stage::queued, SendInput::put_whole}, Stage::done},
      {{Stage::queued, SendInput::put_synchronous}, Stage::awaiting_match},
      {{Stage::queued, SendInput::request_to_send}, Stage::awaiting_answer},
      {{Stage::awaiting_match, SendInput::finish}, Stage::done},
      {{Stage::awaiting_answer, SendInput::finish}, Stage::done},
      {{Stage::awaiting_answer, SendInput::clear_to_send}, Stage::streaming},
      {{Stage::streaming, SendInput::last_fragment}, Stage::done},
      {{Stage::queued, SendInput::peer_lost}, Stage::done},
      {{Stage::awaiting_match, SendInput::peer_lost}, Stage::done},
      {{Stage::awaiting_answer, SendInput::peer_lost}, Stage::done},
      {{Stage::streaming, SendInput::peer_lost}, Stage::done},
  };
  for (unsigned stage = 0; stage < kStages; ++stage)
    for (unsigned input = 0; input < kSendInputs; ++input) {
      const auto row = table.find({static_cast<Stage>(stage), static_cast<SendInput>(input)});
      const auto expected = row == table.end() ? std::nullopt : std::optional(row->second);
      EXPECT_EQ(step(static_cast<Stage>(stage), static_cast<SendInput>(input)), expected)
          << "stage " << stage << ", input " << input;
    }
}

TEST(ReceiveMachine, StepsAsItsTableSaysForEveryPair) {
  const std::map<std::pair<Stage, ReceiveInput>, Stage> table = {
      {{Stage::posted, ReceiveInput::whole}, Stage::done},
      {{Stage::posted, ReceiveInput::readable}, Stage::reading},
      {{Stage::posted, ReceiveInput::streamed}, Stage::receiving_fragments},
      {{Stage::posted, ReceiveInput::cancelled}, Stage::done},
      {{Stage::reading, ReceiveInput::read_refused}, Stage::receiving_fragments},
      {{Stage::reading, ReceiveInput::none_left}, Stage::awaiting_assist},
      {{Stage::reading, ReceiveInput::chunk_lost}, Stage::reading},
      {{Stage::awaiting_assist, ReceiveInput::chunk_lost}, Stage::reading},
      {{Stage::reading, ReceiveInput::all_here}, Stage::done},
      {{Stage::awaiting_assist, ReceiveInput::all_here}, Stage::done},
      {{Stage::receiving_fragments, ReceiveInput::all_here}, Stage::done},
      {{Stage::posted, ReceiveInput::peer_lost}, Stage::done},
      {{Stage::reading, ReceiveInput::peer_lost}, Stage::done},
      {{Stage::awaiting_assist, ReceiveInput::peer_lost}, Stage::done},
      {{Stage::receiving_fragments, ReceiveInput::peer_lost}, Stage::done},
  };
  for (unsigned stage = 0; stage < kStages; ++stage)
    for (unsigned input = 0; input < kReceiveInputs; ++input) {
      const auto row = table.find({static_cast<Stage>(stage), static_cast<ReceiveInput>(input)});
      const auto expected = row == table.end() ? std::nullopt : std::optional(row->second);
      EXPECT_EQ(step(static_cast<Stage>(stage), static_cast<ReceiveInput>(input)), expected)
          << "stage " << stage << ", input " << input;
    }
}

} // namespace
} // namespace heddle::engine
