#include "translators/faulty/held_commands.hpp"

namespace heddle::translators {

void HeldCommands::push(const ir::Command& command, std::uint64_t due, bool refused, bool copy) {
  HeldCommand& held =
      waiting_[command.peer].emplace_back(HeldCommand{.command = command, .due = due, .refused = refused});
  ++size_;
  if (!copy || command.bytes == 0) return;
  held.contents.assign(command.local, command.local + command.bytes);
  held.command.local = held.contents.data();
}

} // namespace heddle::translators
