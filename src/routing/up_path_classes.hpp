// The up-paths of a regular tree as a tree of choices: first which uplink of the leaf, then which of the switch above, and so on.
// Regular means: from every leaf of the job the same up-paths are open and part in the same manner, and packets come down by the
// cables that go up. Then one choice per stage serves all leaves, and the stage can be coloured level by level.
#pragma once

#include "routing/selection.hpp"

namespace heddle::routing {

// Where the leaves stand after the same steps. Cables to the same switch lead to the same place.
struct Place {
  std::uint32_t units = 0;         // different switches here
  std::vector<std::uint32_t> unit; // [leaf of the job, dense] -> which of them
  std::vector<std::uint32_t> next; // [uplink] -> index of the place it leads to; empty at the roots
  std::uint32_t weight = 1;        // of the uplink chosen here, in a key
  std::vector<UpPath>
      up_path_by_key; // [key: sum of weight * uplink over the steps so far] -> an up-path that begins so
};

class UpPathClasses {
 public:
  // `allowed` empty: all up-paths. Places exist only where the result is regular.
  UpPathClasses(const Subnet& subnet, const JobHosts& job, const std::vector<bool>& allowed);

  [[nodiscard]] bool regular() const { return regular_; }
  [[nodiscard]] const Place& operator[](std::uint32_t index) const { return places_[index]; } // 0: at the leaves
  [[nodiscard]] std::uint32_t leaf(std::uint32_t node) const {
    return leaf_[node];
  } // dense number of a local node's leaf
  [[nodiscard]] std::uint32_t leaves() const { return static_cast<std::uint32_t>(switches_.size()); }

 private:
  // An up-path, with the key of the steps it has taken so far.
  struct Traveller {
    UpPath up_path;
    std::uint32_t key;
  };
  // A place in the making: where each leaf stands, with the up-paths that lead there.
  struct Standing {
    std::vector<SwitchIndex> at; // [dense leaf]
    std::vector<Traveller> up_paths;
    std::uint32_t keys = 1;        // all keys are below
    std::int64_t combinations = 0; // different keys, if every choice so far can be combined with every other
  };
  std::uint32_t add(const Subnet& subnet, const Standing& standing);
  bool claim(const std::vector<SwitchIndex>& at);
  // [position in up-paths] -> uplink, numbered from 0, as every leaf must see it.
  std::vector<std::uint32_t> uplinks(const Subnet& subnet, const Standing& standing);
  [[nodiscard]] bool mirrored(const Subnet& subnet, const std::vector<UpPath>& up_paths) const;

  bool regular_ = true;
  std::vector<std::uint32_t> leaf_;
  std::vector<SwitchIndex> switches_; // [dense leaf]
  std::vector<Place> places_;
  std::vector<bool> claimed_; // [switch] belongs to a place already
};

} // namespace heddle::routing
