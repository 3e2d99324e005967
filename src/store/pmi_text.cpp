#include "store/pmi_text.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace heddle::store {

PmiFields pmi_fields(std::string_view text, char separator) {
  PmiFields fields;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(separator));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    if (const std::size_t equals = word.find('='); equals != std::string_view::npos)
      fields.emplace(word.substr(0, equals), word.substr(equals + 1));
  }
  return fields;
}

std::vector<std::uint32_t> pmi_nodes(std::string_view mapping, std::uint32_t size) {
  constexpr std::string_view kBegin = "(vector";
  if (!mapping.starts_with(kBegin)) return {};
  std::vector<std::uint32_t> nodes;
  while (nodes.size() < size) { // once through all blocks
    const std::size_t before = nodes.size();
    for (std::size_t at = kBegin.size(); (at = mapping.find('(', at)) != std::string_view::npos; ++at) {
      std::array<std::uint32_t, 3> block{}; // first node, nodes, ranks on each
      const char* from = mapping.data() + at + 1;
      const char* const end = mapping.data() + mapping.size();
      for (std::uint32_t& number : block) {
        const auto [next, status] = std::from_chars(from, end, number);
        if (status != std::errc{} || next == end) return {};
        from = next + 1;
      }
      for (std::uint64_t i = 0; i < std::uint64_t{block[1]} * block[2] && nodes.size() < size; ++i)
        nodes.push_back(block[0] + static_cast<std::uint32_t>(i / block[2]));
    }
    if (nodes.size() == before) return {};
  }
  return nodes;
}

} // namespace heddle::store
