#include "launch/agent_wire.hpp"

namespace heddle::launch {

namespace {

std::optional<std::string> text_in(net::BodyReader& reader) {
  const auto bytes = reader.text();
  if (!bytes) return std::nullopt;
  const std::string_view text = net::as_characters(*bytes);
  if (text.contains('\0')) return std::nullopt; // no argument and no variable has one
  return std::string(text);
}

} // namespace

net::FrameWriter agent_frame(AgentKind kind) {
  return {static_cast<std::uint8_t>(kind), 0};
}

net::Bytes StartOrder::encode() const {
  net::FrameWriter writer = agent_frame(AgentKind::start);
  writer.u32(first).u32(count).u8(static_cast<std::uint8_t>(bind)).u8(gets_input ? 1 : 0).text(directory);
  writer.u32(static_cast<std::uint32_t>(command.size()));
  for (const std::string& word : command) writer.text(word);
  writer.u32(static_cast<std::uint32_t>(variables.size()));
  for (const auto& [name, value] : variables) writer.text(name).text(value);
  return writer.finish();
}

std::optional<StartOrder> StartOrder::decode(std::span<const std::byte> body) {
  net::BodyReader reader(body);
  StartOrder order;
  order.first = reader.u32().value_or(0);
  order.count = reader.u32().value_or(0);
  const std::uint8_t bind = reader.u8().value_or(0xff);
  order.gets_input = reader.u8().value_or(0) != 0;
  order.directory = text_in(reader).value_or("");
  if (bind > static_cast<std::uint8_t>(Binding::never) || order.count == 0 || order.count > kMostProcesses ||
      order.first > kMostProcesses - order.count || order.directory.empty())
    return std::nullopt;
  order.bind = static_cast<Binding>(bind);
  // Counts come from outside: each word is read before the next is believed to be there.
  const std::uint32_t words = reader.u32().value_or(0);
  for (std::uint32_t i = 0; i < words; ++i) {
    auto word = text_in(reader);
    if (!word) return std::nullopt;
    order.command.push_back(std::move(*word));
  }
  const std::uint32_t variables = reader.u32().value_or(0);
  for (std::uint32_t i = 0; i < variables; ++i) {
    auto name = text_in(reader);
    auto value = text_in(reader);
    if (!name || !value || name->empty() || name->contains('=')) return std::nullopt;
    order.variables.emplace_back(std::move(*name), std::move(*value));
  }
  if (!reader.finished() || order.command.empty()) return std::nullopt;
  return order;
}

} // namespace heddle::launch
