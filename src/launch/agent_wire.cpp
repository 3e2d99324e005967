#include "launch/agent_wire.hpp"

#include <csignal>
#include <limits>

namespace heddle::launch {

namespace {

std::optional<std::string> text_in(net::BodyReader& reader) {
  const auto bytes = reader.text();
  if (!bytes) return std::nullopt;
  const std::string_view text = net::as_characters(*bytes);
  if (text.contains('\0')) return std::nullopt; // no argument and no variable has one
  return std::string(text);
}

constexpr std::int64_t kHighestStatus = 255;

bool is_stream(std::uint8_t stream) {
  return stream == 1 || stream == 2;
}

bool is_signal(std::int64_t number) {
  return number > 0 && number < NSIG;
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

net::Bytes AgentHello::encode() const {
  return agent_frame(AgentKind::hello).u32(host).text(version).finish();
}

std::optional<AgentHello> AgentHello::decode(std::span<const std::byte> body) {
  net::BodyReader reader(body);
  const auto host = reader.u32();
  const auto version = reader.text();
  if (!reader.finished()) return std::nullopt;
  return AgentHello{.host = *host, .version = net::as_characters(*version)};
}

net::Bytes AgentRefusal::encode() const {
  return agent_frame(AgentKind::refused).i64(code).text(fact).finish();
}

std::optional<AgentRefusal> AgentRefusal::decode(std::span<const std::byte> body) {
  net::BodyReader reader(body);
  const auto code = reader.i64();
  const auto fact = reader.text();
  if (!reader.finished() || *code < 0 || *code > std::numeric_limits<int>::max()) return std::nullopt;
  return AgentRefusal{.code = static_cast<int>(*code), .fact = net::as_characters(*fact)};
}

net::Bytes AgentOutput::encode() const {
  return agent_frame(AgentKind::output).u32(rank).u8(stream).text(bytes).finish();
}

std::optional<AgentOutput> AgentOutput::decode(std::span<const std::byte> body) {
  net::BodyReader reader(body);
  const auto rank = reader.u32();
  const auto stream = reader.u8();
  const auto bytes = reader.text();
  if (!reader.finished() || !is_stream(*stream)) return std::nullopt;
  return AgentOutput{.rank = *rank, .stream = *stream, .bytes = *bytes};
}

net::Bytes AgentEnded::encode() const {
  return agent_frame(AgentKind::ended).u32(rank).u8(ending.killed ? 1 : 0).i64(ending.number).finish();
}

std::optional<AgentEnded> AgentEnded::decode(std::span<const std::byte> body) {
  net::BodyReader reader(body);
  const auto rank = reader.u32();
  const auto killed = reader.u8();
  const auto number = reader.i64();
  if (!reader.finished()) return std::nullopt;
  if (*killed != 0 ? !is_signal(*number) : *number < 0 || *number > kHighestStatus) return std::nullopt;
  return AgentEnded{.rank = *rank, .ending = {.killed = *killed != 0, .number = static_cast<int>(*number)}};
}

net::Bytes AgentTaken::encode() const {
  return agent_frame(AgentKind::taken).u32(bytes).finish();
}

std::optional<AgentTaken> AgentTaken::decode(std::span<const std::byte> body) {
  net::BodyReader reader(body);
  const auto bytes = reader.u32();
  if (!reader.finished()) return std::nullopt;
  return AgentTaken{.bytes = *bytes};
}

net::Bytes SignalOrder::encode() const {
  return agent_frame(AgentKind::signal).u32(static_cast<std::uint32_t>(number)).finish();
}

std::optional<SignalOrder> SignalOrder::decode(std::span<const std::byte> body) {
  net::BodyReader reader(body);
  const auto number = reader.u32();
  if (!reader.finished() || !is_signal(*number)) return std::nullopt;
  return SignalOrder{.number = static_cast<int>(*number)};
}

net::Bytes InputOrder::encode() const {
  return agent_frame(AgentKind::input).text(bytes).finish();
}

std::optional<InputOrder> InputOrder::decode(std::span<const std::byte> body) {
  net::BodyReader reader(body);
  const auto bytes = reader.text();
  if (!reader.finished()) return std::nullopt;
  return InputOrder{.bytes = *bytes};
}

net::Bytes HushOrder::encode() const {
  return agent_frame(AgentKind::hush).u8(stream).finish();
}

std::optional<HushOrder> HushOrder::decode(std::span<const std::byte> body) {
  net::BodyReader reader(body);
  const auto stream = reader.u8();
  if (!reader.finished() || !is_stream(*stream)) return std::nullopt;
  return HushOrder{.stream = *stream};
}

} // namespace heddle::launch
