// The network of the replay: the system's own.
#include "base/fuzz_network.hpp"

namespace heddle::fuzz {

Network::Network(Input& input) {
  input.below(8); // as in own_network.cpp
  input.bytes(input.below(64));
}
Network::~Network() = default;
void Network::behave() {}
bool Network::has_disturbed() const {
  return false;
}

} // namespace heddle::fuzz
