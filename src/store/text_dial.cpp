#include "store/text_dial.hpp"

#include "net/sockets.hpp"
#include "store/address.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <thread>
#include <utility>

namespace heddle::store {

namespace {

constexpr std::chrono::microseconds kLongestPause{5000};

std::unexpected<Error> nobody(int code) {
  return std::unexpected(Error{.code = ErrorCode::store_failed,
                               .fact = "nobody listens there",
                               .remedy = "",
                               .peer = kNoPeer,
                               .system_code = code});
}

Result<base::Descriptor> dial_at(const net::Endpoint& there, base::Deadline deadline) {
  auto socket = net::begin_connect(there);
  if (!socket) return nobody(socket.error().system_code);
  const bool ready = net::wait_for(socket->number(), POLLOUT, deadline);
  const int code = net::connect_error(socket->number());
  if (code == 0) return socket;
  if (!ready) return std::unexpected(Error{.code = ErrorCode::timed_out, .fact = "nobody answers there in time"});
  return nobody(code);
}

Result<base::Descriptor> dial_host(const std::string& place, base::Deadline deadline) {
  const auto all = net::resolve_all(place);
  if (!all) return std::unexpected(all.error());
  Result<base::Descriptor> socket = nobody(0);
  for (const net::Endpoint& there : *all) {
    socket = dial_at(there, deadline);
    if (socket) break;
  }
  return socket;
}

} // namespace

Result<base::Descriptor> dial_text(const std::string& place, base::Deadline deadline) {
  if (!place.starts_with('/')) return dial_host(place, deadline);
  const auto parsed = parse_address("unix:" + place);
  if (!parsed) return std::unexpected(parsed.error());
  base::Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket.open() ||
      ::connect(socket.number(), reinterpret_cast<const sockaddr*>(&parsed->address), parsed->length) != 0)
    return nobody(errno);
  return socket;
}

bool Looks::pause() {
  if (base::Clock::now() + next_ >= deadline_) return false;
  std::this_thread::sleep_for(next_);
  next_ = std::min(next_ * 3 / 2, kLongestPause);
  return true;
}

} // namespace heddle::store
