// Any bytes from any of four clients: answers that can be read or a closed client, never a crash. The first byte of each piece
// says who.
#include "store/generations.hpp"

#include "base/fuzz_input.hpp"

namespace heddle::fuzz {

void ledger(Input& input) {
  using namespace store;
  Generations ledger(3, "j");
  while (input.left() > 1) {
    const ClientId client = input.below(4) + 1;
    Input ahead = input;
    const Cut cut = cut_frame(ahead.bytes(ahead.left()), kLargestRequest);
    Answers answers;
    if (cut.state != Cut::State::complete) {
      ledger.disconnected(client);
      continue;
    }
    if (!ledger.receive(client, cut.frame, answers)) ledger.expel(client, answers);
    input.bytes(cut.length);
    for (const auto& answer : answers) {
      const Cut sent = cut_frame(*answer.frame, std::size_t{1} << 30U);
      demand(sent.state == Cut::State::complete && sent.length == answer.frame->size(), "an answer is one frame");
    }
  }
}

} // namespace heddle::fuzz
