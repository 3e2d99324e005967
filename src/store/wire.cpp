#include "store/wire.hpp"

namespace heddle::store {

Cut cut_frame(std::span<const std::byte> arrived, std::size_t largest) {
  const net::Cut cut = net::cut_frame(arrived, largest, static_cast<std::uint8_t>(Kind::aborted));
  return {.state = cut.state,
          .frame = {.kind = static_cast<Kind>(cut.frame.kind), .sequence = cut.frame.sequence, .body = cut.frame.body},
          .length = cut.length};
}

Bytes encode_refusal(std::uint32_t sequence, const Error& error) {
  return FrameWriter(Kind::refused, sequence)
      .u8(static_cast<std::uint8_t>(error.code))
      .i64(error.peer)
      .text(error.fact)
      .finish();
}

Error decode_refusal(std::span<const std::byte> body) {
  BodyReader reader(body);
  const auto code = reader.u8();
  const auto peer = reader.i64();
  const auto fact = reader.text();
  if (!reader.finished() || *code > static_cast<std::uint8_t>(ErrorCode::system_failed) ||
      static_cast<ErrorCode>(*code) == ErrorCode::ok || fact->empty()) {
    return {.code = ErrorCode::store_failed, .fact = "the store sent a malformed answer"};
  }
  return {
      .code = static_cast<ErrorCode>(*code), .fact = std::string(as_characters(*fact)), .remedy = "", .peer = *peer};
}

} // namespace heddle::store
