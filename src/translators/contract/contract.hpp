// The contract suite: what every translator and decorator must do, as tests. One line in a *_test.cpp of the translator's
// own folder runs all of it: HEDDLE_TRANSLATOR_CONTRACT(Tcp, TcpNetwork). What a Network is: see network.hpp.
#pragma once

#include "translators/contract/atomics.hpp"
#include "translators/contract/memory.hpp"
#include "translators/contract/peers.hpp"
#include "translators/contract/refusals.hpp"
#include "translators/contract/sleep.hpp"
#include "translators/contract/transfers.hpp"

// Stands inside namespace heddle::translators::contract. A macro because GoogleTest registers by macro.
#define HEDDLE_TRANSLATOR_CONTRACT(name, Network)                   \
  INSTANTIATE_TYPED_TEST_SUITE_P(name, MemoryContract, Network);    \
  INSTANTIATE_TYPED_TEST_SUITE_P(name, TransfersContract, Network); \
  INSTANTIATE_TYPED_TEST_SUITE_P(name, AtomicsContract, Network);   \
  INSTANTIATE_TYPED_TEST_SUITE_P(name, RefusalsContract, Network);  \
  INSTANTIATE_TYPED_TEST_SUITE_P(name, PeersContract, Network);     \
  INSTANTIATE_TYPED_TEST_SUITE_P(name, SleepContract, Network)
