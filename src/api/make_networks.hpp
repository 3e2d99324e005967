// Makes the networks of a context.
#pragma once

#include "base/options.hpp"
#include "translators/entry.hpp"

#include <memory>
#include <vector>

namespace heddle::api {

// Those that option translators names.
Result<std::vector<std::unique_ptr<ir::Translator>>> make_networks(const base::ResolvedOptions& options,
                                                                   translators::TranslatorSetup setup);

} // namespace heddle::api
