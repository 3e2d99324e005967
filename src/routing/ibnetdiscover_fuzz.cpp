// Any text as a topology: an error with a message, or a fabric that tables can be made for and that cables can be taken out of.
#include "routing/ibnetdiscover.hpp"

#include "base/fuzz_input.hpp"
#include "routing/opensm_files.hpp"
#include "routing/tables.hpp"

namespace heddle::fuzz {

// The first line is what has failed.
void ibnetdiscover(Input& input) {
  using namespace routing;
  const std::string_view failed = input.line();
  auto fabric = parse_ibnetdiscover(input.text());
  if (!fabric) return demand_message(fabric.error());
  if (!failed.empty())
    if (const auto done = fail(*fabric, failed); !done) demand_message(done.error());
  const auto subnet = make_subnet(std::move(*fabric));
  if (!subnet) return demand_message(subnet.error());
  demand(parse_lfts(lft_file(*subnet)).has_value(), "a written table can be read");
}

} // namespace heddle::fuzz
