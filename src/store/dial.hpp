// A process's connection to the store.
#pragma once

#include "auth/secret.hpp"
#include "base/clock.hpp"
#include "base/descriptor.hpp"

#include <heddle/error.hpp>

#include <optional>
#include <string>

namespace heddle::store {

// Connects to unix:@NAME, unix:PATH or tcp:HOST:PORT. A store of this machine must belong to the same user; one reached by TCP
// must know the secret, and want to know whether this process does. store_failed where nobody listens.
Result<base::Descriptor> dial(const std::string& address, const std::optional<auth::Secret>& secret,
                              base::Deadline deadline);

} // namespace heddle::store
