// The translator's entry, or what stands for it where this library was built without libfabric's headers.
#include "translators/ofi/ofi.hpp"
#include "translators/register_entry.hpp"

namespace heddle::translators {

#if !HEDDLE_HAS_LIBFABRIC
class Ofi {
 public:
  static constexpr std::string_view kName = "ofi";
  static constexpr std::string_view kReach = "processes that one of libfabric's providers reaches";
  static constexpr std::span<const base::SectionOption> kOptions = ofi::kOptions;
  static Result<std::unique_ptr<ir::Translator>> make(const TranslatorSetup&) {
    return std::unexpected(Error{.code = ErrorCode::unsupported,
                                 .fact = "this Heddle was built without libfabric's headers",
                                 .remedy = "install libfabric-dev and build it again"});
  }
};
#endif

template Entry entry_of<Ofi>();

} // namespace heddle::translators
