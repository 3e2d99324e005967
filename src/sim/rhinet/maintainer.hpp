// The maintenance processor of one RHiNET switch: it knows its own physical id and what its ports see, and sets up the
// tables of the whole network together with the others. No clock, no input or output: calls in, effects out.
//
// A round of set-up (after Autonet) starts at a switch whose ports have changed, its coordinator, under a new epoch:
//   explore   spreads from neighbour to neighbour; whom one hears it from first is one's parent, a larger epoch replaces a smaller
//   echo      goes back to the parent when all other neighbours have answered, with the descriptions collected below
//   map       goes down the tree with everything known; each switch loads its table, dropping packets of earlier epochs
//   loaded    comes back up: no switch below has old tables any more
//   go        goes down: interfaces may send under the new epoch
//   report    goes from the coordinator to the management node, switch by switch, with the map
// So no packet of an epoch meets a switch that has not loaded it, and packets of two epochs never wait for each other.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "sim/rhinet.hpp"
#include "sim/rhinet/map.hpp"

namespace heddle::sim {

struct SetUpMessage {
  enum class Kind : std::uint8_t { explore, echo, map, loaded, go, report };
  Kind kind{};
  Epoch epoch;
  std::vector<SwitchDescription> found; // echo
  std::shared_ptr<const Map> map;       // map, report

  [[nodiscard]] std::uint32_t bytes() const; // on the wire
};

class Maintainer {
 public:
  struct Outgoing {
    std::uint32_t port;
    SetUpMessage message;
  };
  // What a call has brought about, in this order.
  struct Effects {
    std::shared_ptr<const Map> load;   // put this switch's table in force
    bool go = false;                   // tell the interfaces at this switch
    std::shared_ptr<const Map> report; // to the management node, which is at this switch
    std::vector<Outgoing> messages;
  };

  // `manager`: the management node.
  Maintainer(PhysicalId own, std::uint32_t ports, const TableRule& rule, PhysicalId manager)
      : own_{own, std::vector<std::optional<Neighbour>>(ports)}, rule_(rule), manager_(manager) {}

  // Handshakes have shown who is at the port, or stopped coming. Several changes may be noted before begin().
  void note(std::uint32_t port, std::optional<Neighbour> neighbour) { own_.ports[port] = neighbour; }
  // Starts a round as its coordinator.
  Effects begin();
  Effects receive(std::uint32_t port, SetUpMessage message);

  [[nodiscard]] const Epoch& epoch() const { return epoch_; } // of the latest round that it takes part in

 private:
  static constexpr std::uint32_t kNoParent = kNone;

  void join(const Epoch& epoch, std::uint32_t parent, Effects& effects);
  void explored_if_all(Effects& effects);
  void loaded_if_all(Effects& effects);
  void load(std::shared_ptr<const Map> map, Effects& effects);
  void go(Effects& effects);
  void send_down(SetUpMessage::Kind kind, Effects& effects) const;
  void report(std::shared_ptr<const Map> map, Effects& effects) const;

  SwitchDescription own_;
  TableRule rule_;
  PhysicalId manager_;
  Epoch epoch_;
  std::uint32_t parent_ = kNoParent;
  std::vector<std::uint32_t> awaited_; // ports that have yet to answer
  std::vector<std::uint32_t> children_;
  std::vector<SwitchDescription> found_;
  std::shared_ptr<const Map> map_;
};

} // namespace heddle::sim
