// Small things that sends and receives have in common: what libfabric's pieces of memory are here, and which errors tell of a peer's end.
#pragma once

#include "provider/endpoint.hpp"

#include <cstring>
#include <span>

namespace heddle::provider {

inline std::size_t total(const iovec* pieces, std::size_t count) {
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < count; ++i) bytes += pieces[i].iov_len;
  return bytes;
}

inline std::uint64_t kind_flag(Channel channel) {
  return channel == Channel::first ? FI_TAGGED : FI_MSG;
}

inline void gather(const iovec* pieces, std::size_t count, std::byte* to) {
  for (std::size_t i = 0; i < count; ++i) {
    if (pieces[i].iov_len > 0) std::memcpy(to, pieces[i].iov_base, pieces[i].iov_len);
    to += pieces[i].iov_len;
  }
}

inline bool is_end_of_peer(ErrorCode code) {
  return code == ErrorCode::peer_failed || code == ErrorCode::peer_left || code == ErrorCode::connection_lost;
}

inline ConstLayout layout_of(Operation& operation, const iovec* pieces, std::size_t count) {
  if (count == 0) return {};
  if (count == 1) return {pieces[0].iov_base, pieces[0].iov_len};
  for (std::size_t i = 0; i < count; ++i)
    operation.from[i] = {.data = static_cast<const std::byte*>(pieces[i].iov_base), .bytes = pieces[i].iov_len};
  return ConstLayout::pieces(std::span(operation.from).first(count));
}

inline Layout target_of(Operation& operation, const iovec* pieces, std::size_t count) {
  if (count == 0) return {};
  if (count == 1) return {pieces[0].iov_base, pieces[0].iov_len};
  for (std::size_t i = 0; i < count; ++i)
    operation.into[i] = {.data = static_cast<std::byte*>(pieces[i].iov_base), .bytes = pieces[i].iov_len};
  return Layout::pieces(std::span(operation.into).first(count));
}

} // namespace heddle::provider
