// Any bytes as what has arrived so far, and as a refusal: cut where its length says, or malformed, never read past the end.
#include "store/wire.hpp"

#include "base/fuzz_input.hpp"

namespace heddle::fuzz {

void wire(Input& input) {
  using namespace store;
  const std::size_t largest = std::size_t{1} << (input.below(20) + 4);
  const auto arrived = input.bytes(input.left());
  // As a socket delivers it: first a part, then all. A larger part never takes a cut back.
  for (const std::size_t count : {arrived.size() / 2, arrived.size()}) {
    const Cut cut = cut_frame(arrived.first(count), largest);
    if (cut.state == Cut::State::incomplete)
      demand(cut.length > count && cut.length <= std::max<std::size_t>(largest, 9), "it needs more");
    if (cut.state != Cut::State::complete) continue;
    demand(cut.length <= count && cut.length <= largest, "a frame is inside what has arrived");
    demand_message(decode_refusal(cut.frame.body));
    BodyReader reader(cut.frame.body);
    while (const auto text = reader.text()) demand(text->size() <= cut.frame.body.size(), "a text is inside its body");
  }
}

} // namespace heddle::fuzz
