// Making a connection: what both sides tell each other arrives whole, and no request or answer is lost.
#include "engine/connection/slots.hpp"
#include "tests/memory_order/every_order.hpp"
#include "translators/execute.hpp"

#include <gtest/gtest.h>

#include <array>

namespace heddle::memory_order {
namespace {

using engine::BootstrapArea;
using engine::SlotBody;
using engine::SlotVerb;

template <typename Part>
std::byte* bytes_of(Part& part) {
  return reinterpret_cast<std::byte*>(&part);
}
void put(const ir::Command& command, std::byte* to) {
  translators::execute_put<ModelMemory>(command, to);
}
constexpr engine::Uid uid_of(std::uint32_t rank) {
  return rank + 1;
}
// As Connector::lock and request. True: this rank has the common slot.
bool ask(BootstrapArea& responder, std::uint32_t rank, std::uint32_t slot) {
  if (translators::execute_atomic<ModelMemory>(engine::lock_command(uid_of(rank)), bytes_of(responder.common.lock)) !=
      0)
    return false;
  put(engine::request_put(slot, {.uid = uid_of(rank), .number = 5, .address = {std::byte{7}}}),
      bytes_of(responder.common.request));
  return true;
}

// An initiator and a responder, from the request to the last word, and the same again: in the same slots.
class TalkProgram {
 public:
  explicit TalkProgram(std::uint32_t talks) : talks_(talks) {}

  [[nodiscard]] Program program() {
    return {.prepare = [] {}, .threads = {[this] { initiate(); }, [this] { respond(); }}};
  }

 private:
  static constexpr std::uint32_t kInitiator = 0;
  static constexpr std::uint32_t kResponder = 1;
  static constexpr std::uint32_t kInitiatorsSlot = 2;
  static constexpr std::uint32_t kRespondersSlot = 3;

  static SlotBody body(std::uint32_t rank, std::uint32_t slot, std::uint32_t talk) {
    SlotBody body{.slot = slot, .number = 0, .sender = uid_of(rank), .endpoint = {}, .grant = {}, .consumed = {}};
    body.grant.bytes = 10 * talk + rank;
    body.consumed.offset = 20 * talk + rank;
    return body;
  }
  static void wait_for(engine::CommandSlot& slot, SlotVerb verb) {
    const std::uint64_t word = engine::take_word<ModelMemory>(slot);
    assume(word != 0);
    check(engine::verb_of(word) == verb, "a word comes twice, or out of turn");
  }
  static void hear(const engine::CommandSlot& slot, const SlotBody& expected) {
    const SlotBody told = engine::read_body<ModelMemory>(slot);
    check(told.slot == expected.slot && told.sender == expected.sender && told.grant.bytes == expected.grant.bytes &&
              told.consumed.offset == expected.consumed.offset,
          "what the peer tells is not whole");
  }

  // As Connector::lock, request, inform.
  void initiate() {
    engine::CommandSlot& own = initiator_.slots[kInitiatorsSlot];
    for (std::uint32_t talk = 0; talk < talks_; ++talk) {
      engine::clear_slot<ModelMemory>(own);
      assume(ask(responder_, kInitiator, kInitiatorsSlot));
      wait_for(own, SlotVerb::answer);
      hear(own, body(kResponder, kRespondersSlot, talk));
      SlotBody told = body(kInitiator, kInitiatorsSlot, talk);
      put(engine::slot_put(SlotVerb::information, uid_of(kInitiator), &told),
          bytes_of(responder_.slots[kRespondersSlot]));
      wait_for(own, SlotVerb::acknowledge);
    }
  }
  // As Connector::look_at_common_slot, answer, acknowledge.
  void respond() {
    engine::CommandSlot& own = responder_.slots[kRespondersSlot];
    for (std::uint32_t talk = 0; talk < talks_; ++talk) {
      const std::uint64_t request = engine::look_at_request<ModelMemory>(responder_.common);
      assume(request != 0);
      const engine::Initiator initiator = engine::read_initiator<ModelMemory>(responder_.common);
      check(request == engine::pack_request(kInitiatorsSlot) && initiator.uid == uid_of(kInitiator) &&
                initiator.address.front() == std::byte{7},
            "a request of nobody");
      engine::clear_slot<ModelMemory>(own);
      SlotBody told = body(kResponder, kRespondersSlot, talk);
      put(engine::slot_put(SlotVerb::answer, uid_of(kResponder), &told), bytes_of(initiator_.slots[kInitiatorsSlot]));
      engine::free_common_slot<ModelMemory>(responder_.common);
      wait_for(own, SlotVerb::information);
      hear(own, body(kInitiator, kInitiatorsSlot, talk));
      put(engine::slot_put(SlotVerb::acknowledge, uid_of(kResponder), nullptr),
          bytes_of(initiator_.slots[kInitiatorsSlot]));
    }
  }

  const std::uint32_t talks_;
  BootstrapArea initiator_{};
  BootstrapArea responder_{};
};

// Two initiators ask, the second when the first's request has been answered: its own then stands there, and the answer at the first.
class TwoAskProgram {
 public:
  [[nodiscard]] Program program() {
    return {.prepare = [this] { answered_ = kNobody; },
            .threads = {[this] { initiate(0); }, [this] { initiate(1); }, [this] { respond(); }},
            .finally =
                [this] {
                  check(in_the_end(initiators_.at(answered_).slots[0].lead) ==
                            engine::pack_word(SlotVerb::answer, uid_of(kNobody)),
                        "an answer is lost");
                  check(in_the_end(responder_.common.request) == engine::pack_request(0), "a request is lost");
                }};
  }

 private:
  static constexpr std::uint32_t kNobody = 2;

  void initiate(std::uint32_t rank) {
    engine::clear_slot<ModelMemory>(initiators_.at(rank).slots[0]);
    assume(ask(responder_, rank, 0));
  }
  void respond() {
    const std::uint64_t word = engine::look_at_request<ModelMemory>(responder_.common);
    assume(word != 0);
    answered_ = static_cast<std::uint32_t>(engine::read_initiator<ModelMemory>(responder_.common).uid - uid_of(0));
    check(answered_ < kNobody, "a request of nobody");
    put(engine::slot_put(SlotVerb::answer, uid_of(kNobody), nullptr), bytes_of(initiators_.at(answered_).slots[0]));
    engine::free_common_slot<ModelMemory>(responder_.common);
  }

  std::array<BootstrapArea, 2> initiators_{};
  BootstrapArea responder_{};
  std::uint32_t answered_ = kNobody;
};

TEST(EveryOrder, OfAConnectionLosesNoWordAndKeepsBodiesWhole) {
  TalkProgram once(1);
  TalkProgram twice(2);
  TwoAskProgram two_ask;
  expect_sound_and_minimal(
      {{"one talk", once.program()}, {"two talks", twice.program()}, {"two ask", two_ask.program()}}, "execute.hpp");
}

} // namespace
} // namespace heddle::memory_order
