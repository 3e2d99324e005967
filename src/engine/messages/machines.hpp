// The life of a send and of a receive as two pure machines over Stage.
//
//   send     queued --put_whole--> done
//            queued --put_synchronous--> awaiting_match --finish--> done
//            queued --request_to_send--> awaiting_answer --finish--> done               the receiver has read it
//                                         awaiting_answer --clear_to_send--> streaming     the receiver wants fragments
//                                                            streaming --last_fragment--> done
//   receive  posted --whole--> done
//            posted --readable--> reading --all_here--> done
//                                 reading --none_left--> awaiting_assist --all_here--> done
//                                 awaiting_assist --chunk_lost--> reading
//                                 reading --read_refused--> receiving_fragments
//            posted --streamed--> receiving_fragments --all_here--> done
//            posted --cancelled--> done
//   any      --peer_lost--> done
//
// Any other pair is a violation of the protocol by the peer.
//
// The machines are asked wherever that costs the hot path nothing. Whole messages pass them by: a send that leaves at once is never queued
// (EngineState::completed_send), and matching hands out posted receives alone, which Receiver::deliver ends. So do reads that
// fail (Fetcher::fail) and errors of this process's own: EngineState::complete ends an operation at any stage.
#pragma once

#include "engine/operation.hpp"

#include <cstdint>
#include <optional>

namespace heddle::engine {

enum class SendInput : std::uint8_t {
  put_whole,
  put_synchronous,
  request_to_send,
  finish,
  clear_to_send,
  last_fragment,
  peer_lost,
};
inline constexpr unsigned kSendInputs = 7;

enum class ReceiveInput : std::uint8_t {
  whole,        // a message has matched of which nothing is to be fetched
  readable,     // a request to send has matched whose message can be read
  streamed,     // a request to send has matched whose message must come as fragments
  read_refused, // the first read was refused
  none_left,    // all chunks are claimed, some by the sender
  chunk_lost,   // the sender could not copy a chunk that it had claimed
  all_here,     // every byte is in place
  cancelled,
  peer_lost,
};
inline constexpr unsigned kReceiveInputs = 9;

// The next stage, or nothing: a violation.
std::optional<Stage> step(Stage stage, SendInput input);
std::optional<Stage> step(Stage stage, ReceiveInput input);

// Takes the operation to its next stage. False: there is none, and it stays where it is.
template <typename Input>
[[nodiscard]] bool advance(Operation& operation, Input input) {
  const std::optional<Stage> next = step(operation.stage, input);
  if (next) operation.stage = *next;
  return next.has_value();
}

} // namespace heddle::engine
