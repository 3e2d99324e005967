// The system's TCP sockets. None of these calls waits but wait_for.
#pragma once

#include "base/clock.hpp"
#include "base/descriptor.hpp"
#include "net/endpoint.hpp"

#include <heddle/error.hpp>

#include <sys/uio.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace heddle::net {

// Where a firewall lets connections in. 0 to 0: any that is free.
struct PortRange {
  std::uint16_t first = 0;
  std::uint16_t last = 0;

  // "20000-20999", "20000", "any"; bad_option otherwise.
  static Result<PortRange> parse(std::string_view text);
};

// Listens at `place.host`, at the first free port of `ports`, which is entered there. :: is every address of this machine, of both
// families.
Result<base::Descriptor> listen_at(Endpoint& place, PortRange ports = {});
// Begins to connect, from the address `from` where it is not null. Where the system knows at once that nobody is there, that is the
// error.
Result<base::Descriptor> begin_connect(const Endpoint& place, const in6_addr* from = nullptr);
// Of a connection that could not be made, and may be the next time.
inline bool is_passing(int error) {
  return error == ECONNRESET || error == ECONNABORTED || error == EPIPE || error == ENOTCONN;
}
// 0 when the connection is made, EINPROGRESS while it is being made, otherwise why it is not.
int connect_error(int socket);
// What has come in: none where there is nothing, or errno says that the system lacks something.
base::Descriptor accept_one(int listener);
// Bytes that the socket has taken. 0 also where it has failed, which reading finds out.
std::size_t send_some(int socket, std::span<iovec> pieces);
// From now on what is little waits while the other side has not confirmed what came before, and then leaves together; or at once, and
// what waits does so now, too.
void send_together(int socket);
void send_at_once(int socket);
// The system, which would put it off, confirms what has been read.
void confirm(int socket);
// Bytes read; 0: nothing now; -1: it has ended, and errno says how: 0 where the other side has closed it.
std::ptrdiff_t receive_some(int socket, std::span<iovec> pieces);

// Bytes that the socket has taken and the other system has not confirmed.
std::size_t unconfirmed(int socket);

// Inside one machine nothing is lost, and a system that spreads what it sends over time to avoid that only takes longer. Where both ends
// have the same address, it need not.
void hurry_if_local(int socket);

// Closing it later ends the connection at once, and the other side is told that it was reset.
void reset_when_closed(int socket);

// Until the socket is ready for `events` of poll(2). False: the deadline came first, or it cannot be waited for.
bool wait_for(int socket, short events, base::Deadline deadline);

// Lets the system ask the other machine now and then whether it is still there. One whose process is stopped, or does not read,
// is.
void keep_asking(int socket, std::chrono::seconds limit);
// Whether the other machine has not answered for so long, though it was asked to.
bool is_silent(int socket, std::chrono::seconds limit);
// Whether a socket has ended, by errno, because the system has found that out itself.
bool is_silence(int reason);

} // namespace heddle::net
