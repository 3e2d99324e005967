// Any text as a topology: an error with a message, or a fabric that tables can be made for; never a crash.
#include "routing/ibnetdiscover.hpp"

#include "routing/tables.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace heddle::routing;
  const auto fabric = parse_ibnetdiscover({reinterpret_cast<const char*>(data), size});
  if (!fabric) {
    if (fabric.error().message().empty()) __builtin_trap();
    return 0;
  }
  const auto network = make_network(*fabric);
  if (!network && network.error().message().empty()) __builtin_trap();
  return 0;
}
