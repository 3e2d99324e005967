#include "ir/translator.hpp"

namespace heddle::ir {

Result<ExposedMemory> allocate_area(Translator& translator, std::size_t bytes) {
  Areas* areas = translator.facets().areas;
  return areas != nullptr ? areas->allocate_area(bytes) : translator.allocate(bytes);
}

Result<RemotePlace> expose_area(Translator& translator, std::span<std::byte> memory) {
  Areas* areas = translator.facets().areas;
  return areas != nullptr ? areas->expose_area(memory) : translator.expose(memory);
}

Result<void> close_area(Translator& translator, const RemotePlace& place) {
  if (Areas* areas = translator.facets().areas) return areas->close_area(place);
  translator.withdraw(place);
  return {};
}

void release_area(Translator& translator, const ExposedMemory& memory) {
  if (Areas* areas = translator.facets().areas)
    areas->release_area(memory);
  else
    translator.deallocate(memory);
}

Resources resources_of(Translator& translator) {
  if (Paths* paths = translator.facets().paths) return paths->resources();
  const std::uint32_t engines = translator.capabilities().engines;
  return {.engines = engines, .receive_engines = engines};
}

std::uint32_t paths_to(Translator& translator, Peer peer) {
  Paths* paths = translator.facets().paths;
  return paths != nullptr ? paths->paths_to(peer) : 1;
}

std::vector<PathLink> route_to(Translator& translator, Peer peer, std::uint32_t path) {
  Paths* paths = translator.facets().paths;
  return paths != nullptr ? paths->route(peer, path) : std::vector<PathLink>{};
}

} // namespace heddle::ir
