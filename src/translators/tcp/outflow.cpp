#include "translators/tcp/outflow.hpp"

#include "net/sockets.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace heddle::translators::tcp {

namespace {

// The system takes one piece so much quicker than several that copying them together pays.
constexpr std::size_t kSmall = 1024;

iovec piece_of(std::span<const std::byte> bytes) {
  return {.iov_base = const_cast<std::byte*>(bytes.data()), .iov_len = bytes.size()};
}

} // namespace

void Outflow::make_room(std::size_t more) {
  if (bytes_.capacity() - bytes_.size() < more) bytes_.reserve(std::max(bytes_.size() + more, 2 * bytes_.size()));
}

std::size_t Outflow::push(int socket, std::span<iovec> pieces) {
  if (unreadable_) return 0;
  const std::size_t sent = net::send_some(socket, pieces);
  if (sent == 0 && errno == EFAULT) [[unlikely]] {
    unreadable_ = true;
    ::shutdown(socket, SHUT_RDWR); // both ends see that it broke
  }
  return sent;
}

void Outflow::keep(std::span<const iovec> pieces, std::size_t sent) {
  for (const iovec& piece : pieces) {
    const auto* data = static_cast<const std::byte*>(piece.iov_base);
    const std::size_t gone = std::min(sent, piece.iov_len);
    sent -= gone;
    bytes_.insert(bytes_.end(), data + gone, data + piece.iov_len);
  }
}

void Outflow::send(int socket, std::span<iovec> pieces) {
  std::size_t all = 0;
  for (const iovec& piece : pieces) all += piece.iov_len;
  make_room(borrowed_.size() + all);
  copy_borrowed();
  taken_ += all;
  if (waiting() > 0 || socket < 0) {
    keep(pieces, 0);
    return count();
  }
  if (all > kSmall) {
    if (const std::size_t sent = push(socket, pieces); sent < all) keep(pieces, sent);
    return count();
  }
  std::array<std::byte, kSmall> together;
  std::size_t filled = 0;
  for (const iovec& piece : pieces) {
    if (piece.iov_len > 0) std::memcpy(together.data() + filled, piece.iov_base, piece.iov_len);
    filled += piece.iov_len;
  }
  iovec whole = piece_of(std::span(together).first(filled));
  if (const std::size_t sent = push(socket, {&whole, 1}); sent < all) keep({&whole, 1}, sent);
  count();
}

void Outflow::lend(int socket, std::span<const std::byte> start, std::span<const std::byte> large) {
  make_room(start.size() + large.size()); // for copy_borrowed
  taken_ += start.size() + large.size();
  std::array pieces{piece_of(start), piece_of(large)};
  const std::size_t sent = socket < 0 ? 0 : push(socket, pieces);
  keep(std::span(pieces).first(1), std::min(sent, start.size()));
  if (!unreadable_) borrowed_ = large.subspan(std::max(sent, start.size()) - start.size());
  count();
}

void Outflow::copy_borrowed() {
  if (unreadable_) borrowed_ = {};
  bytes_.insert(bytes_.end(), borrowed_.begin(), borrowed_.end());
  borrowed_ = {};
}

void Outflow::flush(int socket) {
  while (waiting() > 0) {
    const std::size_t own = bytes_.size() - first_;
    std::array pieces{piece_of(std::span(bytes_).subspan(first_)), piece_of(borrowed_)};
    const auto used = own == 0 ? std::span(pieces).last(1) : std::span(pieces).first(borrowed_.empty() ? 1 : 2);
    const std::size_t sent = push(socket, used);
    if (sent == 0) break;
    first_ += std::min(sent, own);
    borrowed_ = borrowed_.subspan(sent - std::min(sent, own));
  }
  if (first_ == bytes_.size()) {
    bytes_.clear();
    first_ = 0;
  } else if (first_ > bytes_.size() / 2) { // seldom enough that moving the rest costs less than copying it in
    bytes_.erase(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(first_));
    first_ = 0;
  }
  count();
}

} // namespace heddle::translators::tcp
