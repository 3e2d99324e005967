// Max-min fair rates: every flow has a resource that is full and on which no flow is faster. Kept up to date as flows come and go.
//
//   solve, after changes to some resources:
//     A = flows on the changed resources
//     repeat
//       fill: raise the rates of all flows of A alike, the others' fixed; when a resource is full, freeze its flows of A there;
//             go on with the rest (Bertsekas and Gallager, Data Networks, 6.5.2)
//       join to A each other flow on a resource of A that is now faster than the flows frozen there, or whose own full resource
//             is no longer full or serves faster flows
//     until none joins
//
// Whoever does not join still has its full resource, so the rates are max-min fair for all flows together; and a change costs as
// much as it reaches, not as much as there are flows.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace heddle::sim {

class MaxMin {
 public:
  // Capacity above 0, in any unit; the rates are in the same.
  std::uint32_t add_resource(double capacity);

  // A flow over these resources, at least one; a resource named twice counts once. Its rate is 0 until solve.
  std::uint32_t add_flow(std::span<const std::uint32_t> resources);
  void remove_flow(std::uint32_t flow); // its number may be given out again

  // Brings all rates up to date. Answers with the flows whose rate has changed; valid until the next call.
  std::span<const std::uint32_t> solve();

  [[nodiscard]] double rate(std::uint32_t flow) const { return flows_[flow].rate; }
  [[nodiscard]] bool up_to_date() const { return changed_resources_.empty(); }

 private:
  struct Member {
    std::uint32_t flow;
    std::uint32_t slot; // of the flow's places, where this resource stands
  };
  struct Resource {
    double capacity = 0;
    std::vector<Member> members;
    // Of the present solve:
    std::uint64_t round = 0; // in which it was last touched
    double left = 0;         // for flows not yet frozen
    std::uint32_t open = 0;  // flows not yet frozen
    double level = 0;        // at which flows were frozen here; kNoLevel if none was
    bool shared = false;     // with flows outside A
    bool changed = false;
  };
  struct Place {
    std::uint32_t resource;
    std::uint32_t position; // among its members
  };
  struct Flow {
    std::vector<Place> places;
    double rate = 0;
    double next = 0; // of the present solve
    std::uint32_t bottleneck = 0;
    std::uint32_t next_bottleneck = 0;
    std::uint64_t joined = 0; // solve in which it was last part of A
    bool frozen = false;
  };
  struct Candidate {
    double share;
    std::uint32_t resource;
    bool operator<(const Candidate& other) const { // for a heap with the smallest on top
      return share != other.share ? share > other.share : resource > other.resource;
    }
  };

  void touch(std::uint32_t resource);
  void join(std::uint32_t flow);
  void open_resources();
  void fill();
  void fill_level();
  void fill_sorted();
  void freeze(std::uint32_t resource, double share);
  bool join_disturbed();
  void join_disturbed_at(const Resource& resource, std::uint32_t number);

  std::vector<Resource> resources_;
  std::vector<Flow> flows_;
  std::vector<std::uint32_t> free_flows_;
  std::vector<std::uint32_t> changed_resources_;
  std::vector<std::uint32_t> active_;  // A
  std::vector<std::uint32_t> touched_; // resources of A
  std::vector<Candidate> candidates_;
  std::vector<std::uint32_t> changed_flows_;
  std::uint64_t solve_ = 0;
  std::uint64_t round_ = 0;
};

} // namespace heddle::sim
