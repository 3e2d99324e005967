// Where a process is found by TCP, as it stands in an ir::Address.
#pragma once

#include "ir/translator.hpp"
#include "net/endpoint.hpp"

#include <heddle/error.hpp>

#include <cstdint>
#include <span>
#include <string>

namespace heddle::translators::tcp {

struct Place {
  net::Endpoint endpoint;
  std::uint64_t id = 0;      // of the process there
  ir::MemoryKey bootstrap{}; // of its bootstrap memory
  std::uint32_t machine = 0; // equal for processes of one machine; with a small chance also for others

  [[nodiscard]] ir::Address pack() const;
  // unreachable where it is no TCP address.
  static Result<Place> unpack(const ir::Address& address);

  // In an open world: without what follows from the id.
  [[nodiscard]] ir::ShortAddress shorten() const;
  static Result<Place> lengthen(std::uint64_t id, std::span<const std::byte> shortened);
};

// The key of the bootstrap memory of a process in an open world. Whoever knows its name is to reach that memory; ids are drawn anew for
// each context, so who has an old name finds no memory under the key.
ir::MemoryKey bootstrap_of(std::uint64_t id);

} // namespace heddle::translators::tcp
