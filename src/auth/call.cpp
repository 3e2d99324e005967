#include "auth/call.hpp"

#include "net/sockets.hpp"

#include <fcntl.h>
#include <poll.h>

#include <cerrno>
#include <chrono>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

namespace heddle::auth {

namespace {

// Of connections that broke off: the other side had no room, or this process was away for too long.
constexpr int kMostTries = 16;
constexpr std::chrono::milliseconds kBetweenTries{20};

// None: it broke off.
std::optional<Result<base::Descriptor>> call_once(const net::Endpoint& there, const Secret& secret, Service service,
                                                  base::Deadline deadline) {
  const auto silent = [&] {
    return std::unexpected(Error{.code = ErrorCode::timed_out, .fact = there.text() + " did not answer in time"});
  };
  auto socket = net::begin_connect(there);
  if (!socket) return std::unexpected(std::move(socket.error()));
  int reason = 0;
  while ((reason = net::connect_error(socket->number())) == EINPROGRESS)
    if (!net::wait_for(socket->number(), POLLOUT, deadline)) return silent();
  if (reason != 0)
    return std::unexpected(
        Error{.code = ErrorCode::unreachable,
              .fact = "nobody answers at " + there.text() + ": " + std::generic_category().message(reason),
              .system_code = reason});
  Introduction introduction(Introduction::Role::calls, secret, service);
  while (true) {
    const auto state = introduction.advance(socket->number());
    if (state == Introduction::State::proven) break;
    if (introduction.broke_off()) return std::nullopt;
    if (state == Introduction::State::failed)
      return std::unexpected(Error{.code = ErrorCode::unreachable,
                                   .fact = "no connection to " + there.text() + ": " + introduction.reason()});
    if (!net::wait_for(socket->number(), POLLIN, deadline)) return silent();
  }
  ::fcntl(socket->number(), F_SETFL, ::fcntl(socket->number(), F_GETFL) & ~O_NONBLOCK);
  return socket;
}

} // namespace

Result<base::Descriptor> call(const net::Endpoint& there, const Secret& secret, Service service,
                              base::Deadline deadline) {
  for (int tries = 1; tries <= kMostTries && base::Clock::now() < deadline; ++tries) {
    if (auto called = call_once(there, secret, service, deadline)) return std::move(*called);
    ::poll(nullptr, 0, static_cast<int>(tries * kBetweenTries.count()));
  }
  return std::unexpected(Error{.code = ErrorCode::unreachable,
                               .fact = "no connection to " + there.text() + ": it broke off, again and again",
                               .system_code = ECONNRESET});
}

} // namespace heddle::auth
