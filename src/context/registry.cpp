#include "context/registry.hpp"

#include "translators/shm/shm.hpp"

namespace heddle::context {

namespace {

Result<std::unique_ptr<ir::Translator>> make_shm(const Ground& ground) {
  return translators::Shm::create({.size = ground.size,
                                   .ring_memory = ground.settings->ring_memory,
                                   .cross_memory = ground.settings->cross_memory,
                                   .log = ground.log});
}

constexpr Entry kEntries[] = {
    {.name = "shm", .reach = "processes of the same machine", .make = make_shm},
};

} // namespace

std::span<const Entry> registry() {
  return kEntries;
}

} // namespace heddle::context
