// Any bytes from any of four clients: answers or a closed client, never a crash. The first byte of each piece says who.
#include "store/ledger.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace heddle::store;
  Ledger ledger(3, "j");
  std::span<const std::byte> rest = std::as_bytes(std::span(data, size));
  while (rest.size() > 1) {
    const ClientId client = static_cast<ClientId>(rest[0]) % 4 + 1;
    const Cut cut = cut_frame(rest.subspan(1), kLargestRequest);
    Answers answers;
    if (cut.state != Cut::State::complete) {
      ledger.disconnected(client, answers);
      rest = rest.subspan(1);
      continue;
    }
    if (!ledger.receive(client, cut.frame, answers)) ledger.disconnected(client, answers);
    rest = rest.subspan(1 + cut.length);
  }
  return 0;
}
