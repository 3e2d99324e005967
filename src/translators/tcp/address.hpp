// Where a process is found by TCP, as it stands in an ir::Address.
#pragma once

#include "ir/translator.hpp"

#include <heddle/error.hpp>

#include <netinet/in.h>

#include <cstdint>
#include <string>

namespace heddle::translators::tcp {

struct Place {
  in6_addr host{}; // an IPv4 address in its mapped form
  std::uint16_t port = 0;
  std::uint64_t id = 0;      // of the process there
  ir::MemoryKey bootstrap{}; // of its bootstrap memory

  [[nodiscard]] ir::Address pack() const;
  // unreachable where it is no TCP address.
  static Result<Place> unpack(const ir::Address& address);
  // "10.1.0.3:4000", "[fe80::1]:4000"
  [[nodiscard]] std::string text() const;
};

} // namespace heddle::translators::tcp
