#include "auth/call.hpp"

#include "net/sockets.hpp"

#include <fcntl.h>
#include <poll.h>

#include <cerrno>
#include <string>
#include <system_error>

namespace heddle::auth {

Result<base::Descriptor> call(const net::Endpoint& there, const Secret& secret, Service service,
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
    if (state == Introduction::State::failed)
      return std::unexpected(Error{.code = ErrorCode::unreachable,
                                   .fact = "no connection to " + there.text() + ": " + introduction.reason()});
    if (!net::wait_for(socket->number(), POLLIN, deadline)) return silent();
  }
  ::fcntl(socket->number(), F_SETFL, ::fcntl(socket->number(), F_GETFL) & ~O_NONBLOCK);
  return socket;
}

} // namespace heddle::auth
