// Text form of commands and events, one line each, for traces and messages; and the way back.
// A command's text holds what the network is asked: everything that its operation reads but the contents and the address
// of local memory, which differ from run to run.
#pragma once

#include "ir/command.hpp"
#include "ir/event.hpp"

#include <heddle/error.hpp>

#include <string>
#include <string_view>

namespace heddle::ir {

// "put peer=3 remote=1+0x40 cookie=0x7 flags=signalled,lead_last engines=any/2 bytes=64 head=0011223344556677"
// "compare_and_swap peer=3 remote=1+0x40 cookie=0x7 flags=signalled engines=any/any operand=0x1 expected=0x0"
std::string to_text(const Command& command);
// "completed peer=3 status=ok cookie=0x7 value=0x0 vendor=0"
std::string to_text(const Event& event);

// The command whose text this is, with no local memory. Fails with bad_argument that names the part which is wrong.
Result<Command> parse_command(std::string_view text);
Result<Event> parse_event(std::string_view text);

} // namespace heddle::ir
