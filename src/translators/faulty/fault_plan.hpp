// What goes wrong on a network, as plain data. All of it is off unless set.
#pragma once

#include "ir/command.hpp"

#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

namespace heddle::translators {

inline constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

struct FaultPlan {
  std::uint64_t seed = 1;

  // Probabilities, from 0 to 1.
  double short_count = 0;    // that a submit takes fewer commands than given, perhaps none
  double delay_command = 0;  // that a command is held before it is carried out
  double delay_event = 0;    // that an event is held before it is given
  double reorder_events = 0; // that a completion changes places with another that waits to be polled
  double refuse = 0;         // that a signalled command ends as refused instead of being carried out
  bool refuse_reads = false; // every get of more than 2048 bytes ends as refused: messages cannot be read from memory

  std::uint32_t longest_delay = 8; // polls that a held command or event waits at most; at least 1
  // Held commands may overtake each other, also on their way to one peer. Without effect where the inner network orders puts.
  bool reorder_commands = false;

  // Commands are counted as they are taken, from 1.
  struct Cut {
    ir::Peer peer{};
    std::uint64_t at_command = 1; // the first command that no longer reaches the peer, whomever it is for
  };
  std::vector<Cut> cuts;
  std::uint64_t kill_at_command = kNever; // with this one, this process is dead to the network
  std::function<void()> on_kill;          // called then, once: tells the others, or ends the process
  std::uint64_t allocations = kNever;     // that succeed; later ones are out_of_memory
};

} // namespace heddle::translators
