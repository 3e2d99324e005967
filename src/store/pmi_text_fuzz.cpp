// Anything that a launcher may say by PMI, and lists of nodes: taken apart into what was there, or into nothing.
#include "store/pmi_text.hpp"

#include "base/fuzz_input.hpp"

namespace heddle::fuzz {

void pmi_text(Input& input) {
  const auto size = static_cast<std::uint32_t>(input.below(1000));
  const std::string_view mapping = input.line();
  const auto nodes = store::pmi_nodes(mapping, size);
  demand(nodes.empty() || nodes.size() == size, "a node for each rank, or none at all");
  while (!input.empty()) {
    const std::string_view line = input.line();
    for (const char separator : {' ', ';'})
      for (const auto& [name, value] : store::pmi_fields(line, separator))
        demand(line.contains(name + "=" + value), "a field is what was said");
  }
}

} // namespace heddle::fuzz
