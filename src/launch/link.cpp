#include "launch/link.hpp"

#include <fcntl.h>
#include <sys/socket.h>

#include <cerrno>

#include "net/sockets.hpp"

namespace heddle::launch {

namespace {

constexpr std::size_t kReadAtOnce = 64 << 10;

} // namespace

Link::Link(base::Descriptor socket) : socket_(std::move(socket)) {
  ::fcntl(socket_.number(), F_SETFL, ::fcntl(socket_.number(), F_GETFL) | O_NONBLOCK);
  net::keep_asking(socket_.number(), kAgentSilence);
}

bool Link::read() {
  in_.erase(in_.begin(), in_.begin() + static_cast<std::ptrdiff_t>(used_));
  used_ = 0;
  const std::size_t before = in_.size();
  in_.resize(before + kReadAtOnce);
  const ssize_t got = ::recv(socket_.number(), in_.data() + before, kReadAtOnce, MSG_DONTWAIT);
  problem_ = got < 0 ? errno : 0;
  in_.resize(before + (got > 0 ? static_cast<std::size_t>(got) : 0));
  return got > 0 || problem_ == EAGAIN || problem_ == EINTR;
}

std::optional<net::Frame> Link::next() {
  if (malformed_) return std::nullopt;
  const net::Cut cut = net::cut_frame(std::span<const std::byte>(in_).subspan(used_), kLargestOrder,
                                      static_cast<std::uint8_t>(AgentKind::finish));
  if (cut.state == net::Cut::State::malformed) {
    malformed_ = true;
    ::shutdown(socket_.number(), SHUT_RDWR); // so that the next read ends it
  }
  if (cut.state != net::Cut::State::complete) return std::nullopt;
  used_ += cut.length;
  return cut.frame;
}

void Link::send(net::Bytes frame) {
  out_.insert(out_.end(), frame.begin(), frame.end());
  flush();
}

void Link::flush() {
  while (waiting() > 0) {
    const ssize_t count = ::send(socket_.number(), out_.data() + sent_, waiting(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (count <= 0) {
      if (count < 0 && errno == EINTR) continue;
      if (count < 0 && errno != EAGAIN) sent_ = out_.size(); // reading finds the end out
      break;
    }
    sent_ += static_cast<std::size_t>(count);
  }
  if (waiting() > 0 && sent_ < out_.size() / 2) return; // moving the rest costs less than sending it did
  out_.erase(out_.begin(), out_.begin() + static_cast<std::ptrdiff_t>(sent_));
  sent_ = 0;
}

bool Link::is_silent() const {
  return net::is_silent(socket_.number(), kAgentSilence);
}

} // namespace heddle::launch
