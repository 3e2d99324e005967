// Any text as a size and as a list of sizes: what is read back from the printed form is the same.
#include "base/size_text.hpp"

#include "base/fuzz_input.hpp"

namespace heddle::fuzz {

void size_text(Input& input) {
  const std::string_view text = input.text();
  if (const auto size = base::parse_size(text)) {
    demand(base::parse_size(base::print_size(*size)) == *size, "a printed size is read back");
  } else {
    demand_message(size.error());
  }
  const auto sizes = base::parse_size_list(text);
  if (sizes)
    demand(!sizes->empty(), "a list of sizes has one");
  else
    demand_message(sizes.error());
}

} // namespace heddle::fuzz
