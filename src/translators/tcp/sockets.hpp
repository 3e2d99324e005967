// The system's sockets, as far as the translator needs them. None of these calls waits.
#pragma once

#include "base/descriptor.hpp"
#include "translators/tcp/address.hpp"

#include <heddle/error.hpp>

#include <sys/uio.h>

#include <cstddef>
#include <span>

namespace heddle::translators::tcp {

// Listens at `place.host`, at a port that the system chooses, which is entered there.
Result<base::Descriptor> listen_at(Place& place);
// Begins to connect. Where the system knows at once that nobody is there, that is the error.
Result<base::Descriptor> begin_connect(const Place& place);
// 0 when the connection is made, EINPROGRESS while it is being made, otherwise why it is not.
int connect_error(int socket);
// What has come in: none where there is nothing.
base::Descriptor accept_one(int listener);
// Bytes that the socket has taken. 0 also where it has failed, which reading finds out.
std::size_t send_some(int socket, std::span<iovec> pieces);
// Bytes read; 0: nothing now; -1: it has ended.
std::ptrdiff_t receive_some(int socket, std::span<iovec> pieces);

} // namespace heddle::translators::tcp
