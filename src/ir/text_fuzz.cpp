// Any line as a command and as an event: what is read is written as a line that is read as the same.
#include "ir/text.hpp"

#include "base/fuzz_input.hpp"

namespace heddle::fuzz {

void text(Input& input) {
  while (!input.empty()) {
    const std::string_view line = input.line();
    if (const auto command = ir::parse_command(line)) {
      const std::string written = ir::to_text(*command);
      const auto again = ir::parse_command(written);
      demand(again && ir::to_text(*again) == written, "a command's text is read back");
    } else {
      demand_message(command.error());
    }
    if (const auto event = ir::parse_event(line)) {
      const std::string written = ir::to_text(*event);
      const auto again = ir::parse_event(written);
      demand(again && ir::to_text(*again) == written, "an event's text is read back");
    } else {
      demand_message(event.error());
    }
  }
}

} // namespace heddle::fuzz
