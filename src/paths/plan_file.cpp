#include "paths/plan_file.hpp"

#include "base/refusal.hpp"
#include "paths/plan.hpp"

#include <algorithm>

namespace heddle::paths {
namespace {

void append(std::string& text, std::uint32_t number, unsigned bytes) {
  for (unsigned i = 0; i < bytes; ++i) text.push_back(static_cast<char>(number >> 8U * i & 0xFFU));
}

} // namespace

std::string to_file(const Plan& plan) {
  const std::uint32_t nodes = plan.nodes();
  const Shape shape{.nodes = nodes, .lmc = plan.lmc};
  std::string text(kMark, sizeof kMark);
  text.reserve(shape.file_bytes());
  append(text, nodes, 4);
  append(text, plan.lmc, 4);
  for (const std::uint16_t lid : plan.lids) append(text, lid, 2);
  for (std::uint32_t node = 0; node < nodes; ++node) {
    for (std::uint32_t other = 0; other < nodes; ++other) append(text, plan.offset(node, other), 1);
    for (std::uint32_t other = 0; other < nodes; ++other) append(text, plan.offset(other, node), 1);
  }
  return text;
}

Result<Plan> parse_plan(std::string_view file) {
  if (file.size() < kHeaderBytes) return refuse("it has only " + std::to_string(file.size()) + " bytes");
  const auto* const bytes = reinterpret_cast<const Byte*>(file.data());
  Byte header[kHeaderBytes];
  std::copy_n(bytes, kHeaderBytes, header);
  Shape shape;
  if (const char* wrong = read_header(header, file.size(), shape); wrong != nullptr) return refuse(wrong);
  const Byte* const lids = bytes + kHeaderBytes;
  if (const char* wrong = check_lids(lids, shape); wrong != nullptr) return refuse(wrong);
  Plan plan{.lmc = shape.lmc};
  plan.lids.reserve(shape.nodes);
  plan.offsets.reserve(std::size_t{shape.nodes} * shape.nodes);
  for (std::uint32_t node = 0; node < shape.nodes; ++node) {
    plan.lids.push_back(static_cast<std::uint16_t>(lid_at(lids, node)));
    const Byte* const row = bytes + shape.row_at(node);
    if (const char* wrong = check_row(row, shape); wrong != nullptr)
      return refuse("node " + std::to_string(node) + ": " + wrong);
    plan.offsets.insert(plan.offsets.end(), row, row + shape.nodes);
  }
  for (std::uint32_t node = 0; node < shape.nodes; ++node) {
    const Byte* const back = bytes + shape.row_at(node) + shape.nodes;
    for (std::uint32_t other = 0; other < shape.nodes; ++other)
      if (back[other] != plan.offset(other, node))
        return refuse("nodes " + std::to_string(node) + " and " + std::to_string(other) +
                      ": it says two offsets for one path");
  }
  return plan;
}

} // namespace heddle::paths
