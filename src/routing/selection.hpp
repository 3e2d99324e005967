// The path of every ordered pair of a job's nodes, as the offset of the destination LID that the source uses.
#pragma once

#include "routing/job_hosts.hpp"
#include "routing/tables.hpp"

namespace heddle::routing {

class Selection {
 public:
  // Offset 0, the base LID, throughout: right for nodes of one leaf, where the tables make no difference.
  explicit Selection(std::uint32_t nodes) : nodes_(nodes), offsets_(std::size_t{nodes} * nodes) {}

  [[nodiscard]] std::uint32_t nodes() const { return nodes_; }
  [[nodiscard]] std::uint8_t offset(std::uint32_t s, std::uint32_t d) const {
    return offsets_[std::size_t{s} * nodes_ + d];
  }
  void set(std::uint32_t s, std::uint32_t d, std::uint32_t offset) {
    offsets_[std::size_t{s} * nodes_ + d] = static_cast<std::uint8_t>(offset); // below 2^lmc <= 128
  }

 private:
  std::uint32_t nodes_;
  std::vector<std::uint8_t> offsets_;
};

inline Lid lid_of(const Subnet& subnet, const JobHosts& job, const Selection& selection, std::uint32_t s,
                  std::uint32_t d) {
  return subnet.lids.lid(job.hosts[d], selection.offset(s, d));
}

} // namespace heddle::routing
