#include "translators/contract/contract.hpp"
#include "translators/loopback/loopback_network.hpp"

namespace heddle::translators::contract {

HEDDLE_TRANSLATOR_CONTRACT(Loopback, LoopbackNetwork);

} // namespace heddle::translators::contract
