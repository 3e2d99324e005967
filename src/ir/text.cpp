#include "ir/text.hpp"

#include "ir/text_fields.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <utility>

namespace heddle::ir {

namespace {

using Name = std::pair<std::string_view, std::uint8_t>;

// Order as in the enumerations.
constexpr std::array<std::string_view, 4> kOperations = {"put", "get", "compare_and_swap", "fetch_and_add"};
constexpr std::array<std::string_view, 6> kEventKinds = {"completed",   "remote_written", "remote_read",
                                                         "peer_failed", "peer_left",      "connection_lost"};
constexpr std::array<std::string_view, 7> kStatuses = {"ok",        "refused", "peer_lost",      "peer_left",
                                                       "exhausted", "failed",  "connection_lost"};
constexpr std::array<Name, 4> kFlags = {
    Name{"signalled", static_cast<std::uint8_t>(Flags::signalled)},
    Name{"lead_last", static_cast<std::uint8_t>(Flags::lead_last)},
    Name{"terminated", static_cast<std::uint8_t>(Flags::terminated)},
    Name{"announced", static_cast<std::uint8_t>(Flags::announced)},
};

template <std::size_t Count>
std::string_view name_of(const std::array<std::string_view, Count>& names, std::uint8_t value) {
  return value < Count ? names[value] : "unknown";
}

template <typename Enum, std::size_t Count>
std::optional<Enum> value_of(const std::array<std::string_view, Count>& names, std::string_view name) {
  for (std::size_t i = 0; i < Count; ++i)
    if (names[i] == name) return static_cast<Enum>(i);
  return std::nullopt;
}

std::string flags_text(Flags flags) {
  std::string text;
  for (const auto& [name, bit] : kFlags)
    if (has(flags, static_cast<Flags>(bit))) (text += text.empty() ? "" : ",") += name;
  return text.empty() ? "none" : text;
}

std::optional<Flags> parse_flags(std::string_view text) {
  Flags flags = Flags::none;
  if (text == "none") return flags;
  while (true) {
    const std::string_view word = text.substr(0, text.find(','));
    bool known = false;
    for (const auto& [name, bit] : kFlags) {
      if (name != word || has(flags, static_cast<Flags>(bit))) continue;
      flags = flags | static_cast<Flags>(bit);
      known = true;
    }
    if (!known) return std::nullopt;
    if (word.size() == text.size()) return flags;
    text.remove_prefix(word.size() + 1);
  }
}

std::string engine_text(std::uint8_t engine) {
  return engine == kAnyEngine ? "any" : std::to_string(engine);
}

std::optional<std::uint8_t> parse_engine(std::string_view text) {
  if (text == "any") return kAnyEngine;
  const auto number = text::parse_number(text);
  if (!number || *number >= kAnyEngine) return std::nullopt;
  return static_cast<std::uint8_t>(*number);
}

bool parse_engines(std::string_view text, Command& command) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return false;
  const auto send = parse_engine(text.substr(0, slash));
  const auto receive = parse_engine(text.substr(slash + 1));
  if (send) command.send_engine = *send;
  if (receive) command.receive_engine = *receive;
  return send && receive;
}

std::string path_text(std::uint32_t path) {
  return path == kAnyPath ? "any" : std::to_string(path);
}

bool parse_path(std::string_view text, std::uint32_t& path) {
  path = kAnyPath;
  if (text == "any") return true;
  const auto number = text::parse_number(text);
  if (!number || *number >= kAnyPath) return false;
  path = static_cast<std::uint32_t>(*number);
  return true;
}

bool parse_place(std::string_view text, RemotePlace& place) {
  const std::size_t plus = text.find('+');
  if (plus == std::string_view::npos) return false;
  const auto key = text::parse_number(text.substr(0, plus));
  const auto offset = text::parse_number(text.substr(plus + 1));
  if (key && offset) place = {.key = MemoryKey{*key}, .offset = *offset};
  return key && offset;
}

bool parse_head(std::string_view text, Command& command) {
  const auto bytes = text::parse_hex_bytes(text, command.head);
  command.head_bytes = static_cast<std::uint32_t>(bytes.value_or(0));
  return bytes.has_value();
}

void read_operands(text::FieldReader& fields, Command& command) {
  if (has(command.flags, Flags::announced)) fields.number("notice", command.operand);
  switch (command.operation) {
    case Operation::put:
      fields.number("bytes", command.bytes);
      fields.other("head", [&](std::string_view value) { return parse_head(value, command); });
      return;
    case Operation::get: fields.number("bytes", command.bytes); return;
    case Operation::compare_and_swap:
      fields.number("operand", command.operand);
      fields.number("expected", command.expected);
      return;
    case Operation::fetch_and_add: fields.number("operand", command.operand); return;
  }
}

std::string operands_text(const Command& command) {
  const std::string notice =
      has(command.flags, Flags::announced) ? " notice=" + text::hex(command.operand) : std::string();
  const std::string bytes = notice + " bytes=" + std::to_string(command.bytes);
  const std::string operand = " operand=" + text::hex(command.operand);
  switch (command.operation) {
    case Operation::put:
      return bytes + " head=" +
             text::hex_bytes(std::span(command.head).first(std::min<std::size_t>(command.head_bytes, kHeadBytes)));
    case Operation::get: return bytes;
    case Operation::compare_and_swap: return notice + operand + " expected=" + text::hex(command.expected);
    case Operation::fetch_and_add: return notice + operand;
  }
  return {};
}

std::string peer_text(Peer peer) {
  return " peer=" + std::to_string(static_cast<std::uint32_t>(peer));
}

} // namespace

std::string to_text(const Command& command) {
  return std::string(name_of(kOperations, static_cast<std::uint8_t>(command.operation))) + peer_text(command.peer) +
         " remote=" + std::to_string(static_cast<std::uint64_t>(command.remote.key)) + "+" +
         text::hex(command.remote.offset) + " cookie=" + text::hex(command.cookie) +
         " flags=" + flags_text(command.flags) + " engines=" + engine_text(command.send_engine) + "/" +
         engine_text(command.receive_engine) + " path=" + path_text(command.path) + operands_text(command);
}

std::string to_text(const Event& event) {
  return std::string(name_of(kEventKinds, static_cast<std::uint8_t>(event.kind))) + peer_text(event.peer) +
         " status=" + std::string(name_of(kStatuses, static_cast<std::uint8_t>(event.status))) +
         " cookie=" + text::hex(event.cookie) + " value=" + text::hex(event.value) +
         " vendor=" + std::to_string(event.vendor_code);
}

Result<Command> parse_command(std::string_view line) {
  text::FieldReader fields(line);
  Command command;
  command.head.fill(std::byte{0});
  const auto operation = value_of<Operation>(kOperations, fields.first_word());
  if (!operation) return std::unexpected(fields.complaint("is not the name of a command", fields.first_word()));
  command.operation = *operation;
  fields.peer("peer", command.peer);
  fields.other("remote", [&](std::string_view value) { return parse_place(value, command.remote); });
  fields.number("cookie", command.cookie);
  fields.other("flags", [&](std::string_view value) {
    const auto flags = parse_flags(value);
    command.flags = flags.value_or(Flags::none);
    return flags.has_value();
  });
  fields.other("engines", [&](std::string_view value) { return parse_engines(value, command); });
  fields.other("path", [&](std::string_view value) { return parse_path(value, command.path); });
  read_operands(fields, command);
  if (auto ended = fields.end(); !ended) return std::unexpected(ended.error());
  return command;
}

Result<Event> parse_event(std::string_view line) {
  text::FieldReader fields(line);
  Event event;
  const auto kind = value_of<EventKind>(kEventKinds, fields.first_word());
  if (!kind) return std::unexpected(fields.complaint("is not the name of an event", fields.first_word()));
  event.kind = *kind;
  fields.peer("peer", event.peer);
  fields.other("status", [&](std::string_view value) {
    const auto status = value_of<Status>(kStatuses, value);
    event.status = status.value_or(Status::ok);
    return status.has_value();
  });
  fields.number("cookie", event.cookie);
  fields.number("value", event.value);
  fields.other("vendor", [&](std::string_view value) { return text::parse_signed(value, event.vendor_code); });
  if (auto ended = fields.end(); !ended) return std::unexpected(ended.error());
  return event;
}

} // namespace heddle::ir
