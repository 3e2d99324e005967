#include "translators/tcp/outflow.hpp"

#include "net/sockets.hpp"

#include <algorithm>

namespace heddle::translators::tcp {

void Outflow::send(int socket, std::span<iovec> pieces) {
  std::size_t all = 0;
  for (const iovec& piece : pieces) all += piece.iov_len;
  if (bytes_.capacity() - bytes_.size() < all) bytes_.reserve(std::max(bytes_.size() + all, 2 * bytes_.size()));
  std::size_t sent = waiting() == 0 && socket >= 0 ? net::send_some(socket, pieces) : 0;
  if (sent == all) return;
  for (const iovec& piece : pieces) {
    const auto* data = static_cast<const std::byte*>(piece.iov_base);
    const std::size_t gone = std::min(sent, piece.iov_len);
    sent -= gone;
    bytes_.insert(bytes_.end(), data + gone, data + piece.iov_len);
  }
}

void Outflow::flush(int socket) {
  while (waiting() > 0) {
    iovec rest{.iov_base = bytes_.data() + first_, .iov_len = waiting()};
    const std::size_t sent = net::send_some(socket, {&rest, 1});
    if (sent == 0) break;
    first_ += sent;
  }
  if (waiting() == 0)
    clear();
  else if (first_ > bytes_.size() / 2) { // seldom enough that moving the rest costs less than copying it in
    bytes_.erase(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(first_));
    first_ = 0;
  }
}

} // namespace heddle::translators::tcp
