// RHiNET-1 at the level of its buses, cells and set-up messages. Interfaces are a pipeline of PCI bus, local bus, primitive
// controller and network clocks (timing.hpp); switches are 8 x 8 crossbars with a slack buffer for each input and lane, copy
// packets to many targets, and set up their own tables (maintainer.hpp), again whenever a cable is plugged or cut.
//
// Flows of one source and lane reach each target in the order submitted, each once, whatever is cut meanwhile; for a node
// that cannot be reached they wait until it can. Nothing is dropped but what a cut or a new set of tables finds under way;
// that is sent again from the memory of the source's interface, which keeps a packet until the target has acknowledged it.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "sim/event_queue.hpp"
#include "sim/network_model.hpp"
#include "sim/packet_network.hpp"
#include "sim/packet_state.hpp"
#include "sim/rhinet/interface_state.hpp"
#include "sim/rhinet/maintainer.hpp"

namespace heddle::sim {

// The report's timeline of a push: when each part starts, in its order.
enum class PushMoment : std::uint8_t {
  pci_primitive_write,
  local_primitive_write,
  data_dma_request,
  header_to_network,
  pci_data_dma,
  data_on_local_bus,
  data_to_network,
  flag_dma_request,
  pci_flag_write,
  receiver_dma_request,
  receiver_data_on_local_bus,
  receiver_pci_data_dma,
};
inline constexpr std::size_t kPushMoments = 12;

// Like the report's logic analyser: told when the first packet of a flow passes each moment.
class PushProbe {
 public:
  virtual ~PushProbe() = default;
  virtual void moment(PushMoment moment, Picoseconds time, std::uint64_t cookie) = 0;
};

class RhinetNetwork final : public NetworkModel {
 public:
  // Cable c is the pair of links 2c and 2c + 1, as Fabric::connect makes them. The tables of all that is plugged are set up
  // before time 0. Error: the fabric cannot work, is not of RHiNET, or has buffers without room for the slack.
  static Result<std::unique_ptr<RhinetNetwork>> make(Fabric fabric, const std::vector<std::uint32_t>& unplugged = {});
  // With changes that happen by themselves, as make_network takes them.
  static Result<std::unique_ptr<RhinetNetwork>> make_changing(Fabric fabric, std::vector<CableChange> changes);

  [[nodiscard]] const Fabric& fabric() const override { return fabric_; }
  [[nodiscard]] const Wiring& wiring() const override { return wiring_; }
  [[nodiscard]] Picoseconds now() const override { return now_; }
  void listen(Listener* listener) override { listener_ = listener; }
  void record(Recorder* recorder) override { recorder_ = recorder; }
  void probe(PushProbe* probe) { probe_ = probe; } // not owned; null = nobody

  [[nodiscard]] bool copies() const override { return true; }
  Result<std::uint32_t> add_group(std::vector<std::uint32_t> nodes) override;
  Result<void> submit(const Flow& flow) override;
  void at(Picoseconds time, std::uint64_t cookie) override;

  // Now. What is on the cable is lost; its ends find out by handshakes that do not come, or come again.
  void cut(std::uint32_t cable);
  void plug(std::uint32_t cable);
  [[nodiscard]] std::uint32_t cables() const { return static_cast<std::uint32_t>(cables_.size()); }

  bool step() override;
  Result<void> run() override;
  void run_until(Picoseconds time); // all events up to and including `time`, which is then now

  [[nodiscard]] std::uint64_t history() const override { return history_; }
  [[nodiscard]] std::uint64_t packet_hops() const override;
  [[nodiscard]] std::uint64_t events() const { return events_; }
  [[nodiscard]] LinkCounters counters(std::uint32_t link) const { return counters_[link]; }
  [[nodiscard]] std::string name_of(Span::Part part, std::uint32_t index) const override;
  [[nodiscard]] std::string find_deadlock() const override;

  // Packets that were dropped because of a cut or a new set of tables, and that were sent again.
  [[nodiscard]] std::uint64_t dropped() const { return dropped_; }
  [[nodiscard]] std::uint64_t resent() const override { return resent_; }
  // The map in force at a switch; never null after make.
  [[nodiscard]] const Map& map_of(std::uint32_t at) const { return *switches_[at].map; }
  // No set-up message is under way and no cable's end has yet to notice a change.
  [[nodiscard]] bool settled() const;
  // Packets that came into a buffer on the chip, and into one that had no place there.
  struct CacheCounters {
    std::uint64_t hits = 0;
    std::uint64_t misses = 0;
  };
  [[nodiscard]] const CacheCounters& cache() const { return cache_; }
  // What the management node, node 0, has heard since the start, each time that something had changed.
  struct Report {
    Picoseconds time{0};
    std::vector<std::string> gone; // cables, by the names of their ends
    std::vector<std::string> come;
  };
  [[nodiscard]] const std::vector<Report>& reports() const { return reports_; }

 private:
  enum class What : std::uint8_t {
    cell,      // wire, cut: its next cell is there
    sent,      // wire, round: the last byte has left
    signal,    // wire, cut, lane and whether to stop
    decoded,   // node: the primitive in the registers is understood
    prepared,  // node: the next packet's header is ready
    fill,      // node, round: PCI bus for the next line from memory
    drain,     // node, round: local bus for it
    data_done, // node, round: the last line has left the local bus
    flag,      // node, flow: PCI bus for the flag
    departed,  // flow
    requested, // node, round: DMA for a packet that has come
    take,      // node, round: local bus for its next line
    write,     // node, round: PCI bus for it
    taken,     // node, round: all of it is in memory
    timer,     // cookie
    change,    // cable, whether it is plugged: as planned
    lost,      // cable end, plugging: handshakes have stayed out
    found,     // cable, plugging: handshakes have come both ways
    message,   // index of a set-up message under way
    go,        // node, epoch
    fetched,   // buffer, round: its first packet is back from the memory beside the chip
  };
  struct Happening {
    What what{};
    std::uint32_t a = 0;
    std::uint32_t b = 0;
    std::uint64_t c = 0;
  };
  struct Cable {
    std::uint32_t plugging = 0; // counts changes
    bool plugged = false;
  };
  struct Mail {
    std::uint32_t cable = 0;
    std::uint32_t plugging = 0;
    std::uint32_t to = 0; // switch
    std::uint32_t port = 0;
    SetUpMessage message;
  };

  RhinetNetwork(Fabric fabric, Wiring wiring);
  void lay_out();
  void boot(const std::vector<std::uint32_t>& unplugged);
  void push(Picoseconds time, const Happening& what);
  void handle(const Happening& event);
  [[nodiscard]] std::uint32_t wire_out_of(std::uint32_t at, std::uint32_t port) const {
    return wiring_.link_at(at, port);
  }

  // switching.cpp
  void cell_came(std::uint32_t wire);
  void header_came(std::uint32_t wire, const Moving& moving);
  void request_ways_out(std::uint32_t buffer);
  void offer_first(std::uint32_t buffer);
  void add_branch(std::uint32_t buffer, std::uint32_t wire, std::uint32_t packet);
  [[nodiscard]] std::uint32_t lane_on(std::uint32_t buffer, std::uint32_t wire) const;
  void claim_place(std::uint32_t buffer);
  void free_place(std::uint32_t buffer);
  void grant(std::uint32_t wire);
  void pump(Held& held, Branch& branch);
  void sent(std::uint32_t wire);
  void take_out_first(std::uint32_t buffer);
  void tell(std::uint32_t buffer, bool stop);
  void signal(std::uint32_t wire, std::uint32_t lane, bool stop);
  void hold(std::uint32_t packet) { ++packets_[packet].users; }
  void release(std::uint32_t packet);
  void clear_buffer(std::uint32_t buffer);
  void clear_moving(Wire& wire);
  [[nodiscard]] std::uint32_t data_way_out(std::uint32_t node) const { return first_way_out_ + 2 * node; }
  [[nodiscard]] std::uint32_t answer_way_out(std::uint32_t node) const { return first_way_out_ + 2 * node + 1; }

  // sending.cpp
  void start_primitive(std::uint32_t node);
  void prepare(std::uint32_t node);
  void send_next(std::uint32_t node);
  bool begin_packet(std::uint32_t node, std::uint64_t serial, Picoseconds dma_ready);
  void way_is_free(std::uint32_t node);
  void fill(std::uint32_t node);
  void drain_line(std::uint32_t node);
  void put_on_network(std::uint32_t node, Picoseconds first, Picoseconds last);
  void data_done(std::uint32_t node);
  void tell_sent(std::uint32_t number, Unacknowledged& packet);
  void write_flag(std::uint32_t node, std::uint32_t flow);
  void depart(std::uint32_t flow);
  void acknowledged(std::uint32_t node, const RhinetPacket& by);
  void give_up_sending(std::uint32_t node);

  // receiving.cpp
  void receive_next(std::uint32_t node);
  void go_on_receiving(std::uint32_t node);
  void dma_requested(std::uint32_t node);
  void take_line(std::uint32_t node);
  void write_line(std::uint32_t node);
  void taken(std::uint32_t node);
  void acknowledge(std::uint32_t node);
  void give_up_receiving(std::uint32_t node);

  // set_up.cpp
  void carry_out(std::uint32_t at, Maintainer::Effects effects);
  void load(std::uint32_t at, std::shared_ptr<const Map> map);
  void reset_sender(std::uint32_t wire);
  void reset_node(std::uint32_t node, const Epoch& epoch);
  void deliver(std::uint32_t mail);
  void go(std::uint32_t node, std::uint64_t epoch);
  void handshakes_lost(End end);
  void handshakes_found(std::uint32_t cable);
  void set_neighbours(std::uint32_t cable);
  void hear_report(const Map& map);
  [[nodiscard]] Picoseconds next_handshake(const End& end, int more) const;

  void note(PushMoment moment, Picoseconds time, std::uint32_t flow);
  Flow notice_given(std::uint32_t flow); // of departure, or of arrival at one target

  Fabric fabric_;
  Wiring wiring_;
  RhinetTiming timing_;
  std::uint32_t lanes_ = 1; // of a wire: channels_ for each lane of flows, and for acknowledgements, the last
  std::uint32_t channels_ = 1;
  std::uint32_t first_way_out_ = 0; // buffers of nodes come behind those of wires
  std::uint32_t stop_above_ = 0;    // bytes in a buffer
  std::uint32_t go_below_ = 0;
  std::vector<std::vector<std::uint32_t>> groups_;

  Picoseconds now_{0};
  Picoseconds ahead_{0}; // that most events lie, at least
  EventQueue queue_;
  std::uint64_t history_ = 0;
  std::uint64_t events_ = 0;
  std::uint64_t dropped_ = 0;
  std::uint64_t resent_ = 0;
  CacheCounters cache_;
  std::vector<Report> reports_;
  std::vector<std::string> known_cables_; // to the management node
  Listener* listener_ = nullptr;
  Recorder* recorder_ = nullptr;
  PushProbe* probe_ = nullptr;

  std::vector<Wire> wires_; // as links
  std::vector<LinkCounters> counters_;
  std::vector<SlackBuffer> buffers_; // [wire * lanes + lane] at its end; then two per node
  std::vector<RhinetSwitch> switches_;
  std::vector<RhinetNode> nodes_;
  std::vector<Maintainer> maintainers_;
  std::vector<Cable> cables_;
  std::uint32_t rounds_under_way_ = 0; // set-up messages and detections still to come
  Pool<Happening> happenings_;
  Pool<RhinetPacket> packets_;
  Pool<UnderWay> flows_;
  Pool<Mail> mail_;
};

} // namespace heddle::sim
