// The connection protocol as a pure machine: who locks whose slot, who answers, and how two that start at once agree.
// The effects are carried out by connector.cpp.
//
//   initiator                                     responder
//   idle --start--> locking                                          I1  takes a command slot; compare-and-swap on the
//                                                                        responder's common slot
//   locking --lock_taken--> awaiting_answer                          I2, I3  writes its request
//                                                 idle --request--> awaiting_information
//                                                                    R1  prepares, answers, frees the common slot
//   awaiting_answer --answer--> awaiting_acknowledge                 I4, I5  prepares, connects, writes its own information
//                                                 awaiting_information --information--> connected
//                                                                    R2  connects, acknowledges
//   awaiting_acknowledge --acknowledge--> connected
//
// Both start at once: who sees a request while it still tries to lock gives its own attempt up and answers. When both
// requests are written, that of the lower unique id stands: the lower one answers the other's request with `superseded`, the
// higher one answers as a responder and forgets its own. The higher one's answer may be seen before the request that it
// had written earlier, so the lower one turns that request down even when it has gone on, up to `connected`.
#pragma once

#include <cstdint>

namespace heddle::engine::connection {

enum class State : std::uint8_t {
  idle,
  locking,
  awaiting_answer,
  superseded, // its request was turned down in favour of the peer's, which is on its way
  awaiting_information,
  awaiting_acknowledge,
  connected,
  failed,
};
inline constexpr unsigned kStates = 8;

enum class Input : std::uint8_t {
  start,            // a message wants to go to the peer
  lock_taken,       // the compare-and-swap found 0
  lock_busy,        // it found another initiator
  request_prevails, // the peer's request is here, and its id is the lower
  request_yields,   // the peer's request is here, and its id is the higher
  answer,           // the responder's answer is here
  superseded,       // the peer says that its own request stands
  refused,          // the peer cannot connect: no memory
  information,      // the initiator's information is here
  acknowledge,      // the responder's last word is here
  broken,           // this side cannot go on: what the peer said is malformed, or memory is short
  peer_lost,
  ended,   // the engine has ended it, whatever the cause
  to_self, // this process's own ring is at both ends
};
inline constexpr unsigned kInputs = 14;

enum class Effect : std::uint8_t {
  none,
  lock,               // take a command slot, compare-and-swap on the peer's common slot
  request,            // write the request
  answer,             // prepare endpoint and ring, write the answer, free the own common slot
  abandon_and_answer, // the same, and forget the own attempt: a lock that is still taken is given back
  turn_down,          // write `superseded` to the peer's slot, free the own common slot
  inform,             // prepare endpoint and ring, connect the endpoint, write the own information
  acknowledge,        // connect the endpoint, write the last word; messages may flow
  establish,          // messages may flow
  unlock,             // the lock came after the attempt was given up: free the peer's common slot
  give_up,            // every operation on the peer ends
  violation,          // the peer broke the protocol
};

struct Step {
  State next{};
  Effect effect{};
};

Step step(State state, Input input);

} // namespace heddle::engine::connection
