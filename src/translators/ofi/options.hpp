// What can be set of libfabric's networks alone: [ofi] in an option file, HEDDLE_OFI_<NAME>, "ofi.<name>" in code.
#pragma once

#include "base/section.hpp"

#include <array>

namespace heddle::translators::ofi {

inline constexpr base::SectionOption kProvider{
    .name = "provider",
    .initial = "automatic",
    .expected = "automatic, or a provider's name as fi_info shows it, such as cxi or tcp;ofi_rxm",
    .meaning = "by which of libfabric's providers; automatic: the first usable one that leads to other machines"};
inline constexpr base::SectionOption kDomain{
    .name = "domain",
    .initial = "automatic",
    .expected = "automatic, or a domain's name as fi_info shows it, such as cxi0 or eth0",
    .meaning = "by which of the provider's interfaces"};
inline constexpr std::array kOptions{kProvider, kDomain};

} // namespace heddle::translators::ofi
