// The other end of a door.
#pragma once

#include "auth/introduction.hpp"
#include "base/clock.hpp"
#include "base/descriptor.hpp"
#include "net/endpoint.hpp"

#include <heddle/error.hpp>

namespace heddle::auth {

// Connects, and proves that this process knows the secret; waits until the other side has, too. A blocking socket.
// timed_out; unreachable where nobody answers there, or does not know the secret.
Result<base::Descriptor> call(const net::Endpoint& there, const Secret& secret, Service service,
                              base::Deadline deadline);

} // namespace heddle::auth
