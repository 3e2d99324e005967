#include "api/make_networks.hpp"

#include "job/inspection.hpp"

namespace heddle::api {

Result<std::vector<std::unique_ptr<ir::Translator>>> make_networks(const base::ResolvedOptions& options,
                                                                   translators::TranslatorSetup setup) {
  const auto wanted = job::wanted_translators(options.settings);
  if (!wanted) return std::unexpected(wanted.error());
  std::vector<std::unique_ptr<ir::Translator>> networks;
  for (const translators::Entry* entry : *wanted) {
    setup.own = &options.section(entry->name);
    auto network = entry->make(setup);
    if (!network) return std::unexpected(std::move(network.error()));
    networks.push_back(std::move(*network));
  }
  return networks;
}

} // namespace heddle::api
