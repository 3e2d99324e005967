#include "net/frames.hpp"

#include <utility>

namespace heddle::net {
namespace {

constexpr std::size_t kLengthBytes = 4;
constexpr std::size_t kHeaderBytes = kLengthBytes + 1 + 4; // length, kind, sequence

std::uint64_t number_in(std::span<const std::byte> bytes) {
  std::uint64_t value = 0;
  for (const std::byte byte : bytes) value = value << 8U | std::to_integer<std::uint64_t>(byte);
  return value;
}

} // namespace

FrameWriter::FrameWriter(std::uint8_t kind, std::uint32_t sequence) {
  u32(0);
  u8(kind);
  u32(sequence);
}

void FrameWriter::number(std::uint64_t value, std::size_t bytes) {
  for (std::size_t i = bytes; i > 0; --i) bytes_.push_back(static_cast<std::byte>(value >> (8 * (i - 1))));
}

FrameWriter& FrameWriter::u8(std::uint8_t value) {
  number(value, sizeof value);
  return *this;
}

FrameWriter& FrameWriter::u32(std::uint32_t value) {
  number(value, sizeof value);
  return *this;
}

FrameWriter& FrameWriter::i64(std::int64_t value) {
  number(static_cast<std::uint64_t>(value), sizeof value);
  return *this;
}

FrameWriter& FrameWriter::text(std::span<const std::byte> bytes) {
  u32(static_cast<std::uint32_t>(bytes.size()));
  bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  return *this;
}

Bytes FrameWriter::finish() {
  const std::size_t length = bytes_.size() - kLengthBytes;
  for (std::size_t i = 0; i < kLengthBytes; ++i)
    bytes_[i] = static_cast<std::byte>(length >> (8 * (kLengthBytes - 1 - i)));
  return std::move(bytes_);
}

std::optional<std::uint64_t> BodyReader::number(std::size_t bytes) {
  if (failed_ || rest_.size() < bytes) {
    failed_ = true;
    return std::nullopt;
  }
  const std::uint64_t value = number_in(rest_.first(bytes));
  rest_ = rest_.subspan(bytes);
  return value;
}

std::optional<std::uint8_t> BodyReader::u8() {
  return number(sizeof(std::uint8_t)).transform([](auto value) { return static_cast<std::uint8_t>(value); });
}

std::optional<std::uint32_t> BodyReader::u32() {
  return number(sizeof(std::uint32_t)).transform([](auto value) { return static_cast<std::uint32_t>(value); });
}

std::optional<std::int64_t> BodyReader::i64() {
  return number(sizeof(std::int64_t)).transform([](auto value) { return static_cast<std::int64_t>(value); });
}

std::optional<std::span<const std::byte>> BodyReader::text() {
  const auto length = u32();
  if (!length) return std::nullopt;
  if (rest_.size() < *length) {
    failed_ = true;
    return std::nullopt;
  }
  const auto text = rest_.first(*length);
  rest_ = rest_.subspan(*length);
  return text;
}

std::string_view as_characters(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Cut cut_frame(std::span<const std::byte> arrived, std::size_t largest, std::uint8_t last_kind) {
  if (arrived.size() < kLengthBytes) return {.length = kHeaderBytes};
  const std::size_t whole = kLengthBytes + number_in(arrived.first(kLengthBytes));
  if (whole < kHeaderBytes || whole > largest) return {.state = Cut::State::malformed};
  if (arrived.size() < whole) return {.length = whole};
  const auto kind = static_cast<std::uint8_t>(arrived[kLengthBytes]);
  if (kind == 0 || kind > last_kind) return {.state = Cut::State::malformed};
  const Frame frame{.kind = kind,
                    .sequence = static_cast<std::uint32_t>(number_in(arrived.subspan(kLengthBytes + 1, 4))),
                    .body = arrived.subspan(kHeaderBytes, whole - kHeaderBytes)};
  return {.state = Cut::State::complete, .frame = frame, .length = whole};
}

} // namespace heddle::net
