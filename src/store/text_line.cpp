#include "store/text_line.hpp"

#include "net/sockets.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>

namespace heddle::store {

namespace {

constexpr std::size_t kLongest = 2 << 20; // of what is read and not taken

} // namespace

std::unexpected<Error> TextLine::broken(const std::string& how, ErrorCode code, int system_code) {
  close();
  return std::unexpected(
      Error{.code = code, .fact = who_ + " " + how, .remedy = "", .peer = kNoPeer, .system_code = system_code});
}

Result<void> TextLine::say(std::string_view text, base::Deadline deadline) {
  if (!usable()) return broken("is not connected any more");
  while (!text.empty()) {
    const ssize_t count = ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count >= 0)
      text.remove_prefix(static_cast<std::size_t>(count));
    else if (errno == EAGAIN && !net::wait_for(socket_, POLLOUT, deadline))
      return broken("takes no request in time", ErrorCode::timed_out);
    else if (errno != EINTR && errno != EAGAIN)
      return broken("is lost", ErrorCode::store_failed, errno);
  }
  return {};
}

Result<void> TextLine::fill(base::Deadline deadline) {
  if (!usable()) return broken("is not connected any more");
  if (inbox_.size() > kLongest) return broken("gives an answer without an end");
  if (base::Clock::now() >= deadline)
    return broken("gives no answer in time", ErrorCode::timed_out); // also who goes on talking
  std::array<char, 16 << 10> some{};
  while (true) {
    const ssize_t count = ::recv(socket_, some.data(), some.size(), MSG_DONTWAIT);
    if (count > 0) {
      inbox_.append(some.data(), static_cast<std::size_t>(count));
      return {};
    }
    if (count == 0) return broken("has closed the connection");
    if (errno != EAGAIN && errno != EINTR) return broken("is lost", ErrorCode::store_failed, errno);
    if (!net::wait_for(socket_, POLLIN, deadline)) return broken("gives no answer in time", ErrorCode::timed_out);
  }
}

Result<std::string> TextLine::line(std::string_view end, base::Deadline deadline) {
  std::size_t at = 0;
  while ((at = inbox_.find(end)) == std::string::npos)
    if (auto filled = fill(deadline); !filled) return std::unexpected(std::move(filled.error()));
  std::string text = inbox_.substr(0, at);
  inbox_.erase(0, at + end.size());
  return text;
}

Result<std::string> TextLine::block(std::size_t characters, base::Deadline deadline) {
  while (inbox_.size() < characters)
    if (auto filled = fill(deadline); !filled) return std::unexpected(std::move(filled.error()));
  std::string text = inbox_.substr(0, characters);
  inbox_.erase(0, characters);
  return text;
}

} // namespace heddle::store
