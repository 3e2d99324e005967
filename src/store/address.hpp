// Where the built-in store listens: `unix:@NAME` (abstract, leaves nothing on disk), `unix:PATH` or `tcp:HOST:PORT`.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <string>
#include <string_view>

#include "heddle/error.hpp"

namespace heddle::store {

inline constexpr std::string_view kByTcp = "tcp:";

struct SocketAddress {
  sockaddr_un address{};
  socklen_t length = 0;
};

// Of a unix socket. bad_option where the text is no such address or too long for the system.
Result<SocketAddress> parse_address(std::string_view text);

// A new address for a job, abstract.
std::string address_of_job(std::string_view job);

// 16 hexadecimal digits from the system's random source: names a job so that nobody meets another one by accident.
std::string new_job_id();

// True when the other end of a connected unix socket runs under this process's user id.
bool same_user(int socket);

} // namespace heddle::store
