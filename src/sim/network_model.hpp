// What every model of a network offers: flows over a fabric in virtual time, as packets or as fluid. PacketNetwork is the general
// one of packets; a fabric whose interfaces and switches have a finer model of their own (RHiNET) runs on that.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "heddle/error.hpp"
#include "sim/fabric.hpp"
#include "sim/flow.hpp"
#include "sim/units.hpp"

namespace heddle::sim {

// A stretch of work of one part, for traces.
struct Span {
  enum class Part : std::uint8_t { send_engine, link, receive_engine };
  Part part;
  std::uint32_t index; // of the part; name_of says which that is
  Picoseconds start;
  Picoseconds end;
  const Flow& flow;
  std::uint32_t bytes;
};
class Recorder {
 public:
  virtual ~Recorder() = default;
  virtual void span(const Span& span) = 0;
};

// A cable that is cut or plugged while the network runs. Cable c is the pair of links 2c and 2c + 1, as Fabric::connect makes them.
struct CableChange {
  std::uint32_t cable = 0;
  Picoseconds at{0};
  bool plugged = false; // from then on
};

// Time moves only inside step and run; everything that happens is a function of the fabric and of the calls made.
class NetworkModel {
 public:
  NetworkModel() = default;
  NetworkModel(NetworkModel&&) = default;
  NetworkModel& operator=(NetworkModel&&) = default;
  virtual ~NetworkModel() = default;

  [[nodiscard]] virtual const Fabric& fabric() const = 0;
  [[nodiscard]] virtual const Wiring& wiring() const = 0;
  [[nodiscard]] virtual Picoseconds now() const = 0;
  virtual void listen(Listener* listener) = 0; // not owned; null = nobody
  virtual void record(Recorder* recorder) = 0; // not owned; null = no trace

  // Whether switches copy packets, so that one flow can reach many nodes.
  [[nodiscard]] virtual bool copies() const { return false; }
  // Nodes that one flow can reach together (Flow::group). Error: this network's switches do not copy packets.
  virtual Result<std::uint32_t> add_group(std::vector<std::uint32_t> nodes);

  // Hands a flow to its send engine, now. Error bad_argument or unreachable: nothing has happened.
  virtual Result<void> submit(const Flow& flow) = 0;
  // Calls Listener::timer at that time, or now if it is past.
  virtual void at(Picoseconds time, std::uint64_t cookie) = 0;

  // One event; false when there was none.
  virtual bool step() = 0;
  // All events. Error: packets are left that wait for each other in a cycle, or for a node that cannot be reached.
  virtual Result<void> run() = 0;

  // Depends on every event so far, its time and order: equal histories are equal runs.
  [[nodiscard]] virtual std::uint64_t history() const = 0;
  [[nodiscard]] virtual std::uint64_t packet_hops() const = 0; // links that packets, or flows of fluid, have started on
  // Packets that were sent once more because a cable was cut.
  [[nodiscard]] virtual std::uint64_t resent() const { return 0; }
  [[nodiscard]] virtual std::string name_of(Span::Part part, std::uint32_t index) const = 0;
  // What keeps packets from moving for ever, if anything does; empty otherwise.
  [[nodiscard]] virtual std::string find_deadlock() const = 0;
};

enum class Model : std::uint8_t {
  packets, // the finest there is for the fabric
  fluid,   // max-min fair rates: quicker, without what packets do to each other in buffers (fluid.hpp)
};

// A cable whose first change is that it is plugged is not plugged before. Error: the fabric cannot work, there is no such cable, or the
// network cannot do without any of its cables.
Result<std::unique_ptr<NetworkModel>> make_network(Fabric fabric, Model model = Model::packets,
                                                   std::vector<CableChange> changes = {});

// What Span's parts are called, by most models.
std::string name_of_part(const Fabric& fabric, Span::Part part, std::uint32_t index);

} // namespace heddle::sim
