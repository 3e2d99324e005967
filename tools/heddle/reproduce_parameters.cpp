#include "reproduce_parameters.hpp"

#include "base/nearest.hpp"
#include "base/options.hpp"
#include "base/refusal.hpp"
#include "base/size_text.hpp"
#include "sim/description.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace heddle::tool {
namespace {

struct Source {
  std::string_view name;
  Origin origin;
  std::string_view text;
  std::string_view unit = "";
};

// Reports: 000 all-to-all on fat trees, 002 its successor, 003 RDMA scheduling, 004 RHiNET-1. A new parameter of a fabric needs a line
// here: a test counts them.
constexpr std::array kParameterSources{
    // The closed model of an all-to-all (routing/alltoall_model.hpp).
    Source{"fat-tree.message", Origin::report, "000, 5.2: 1 MiB", "bytes"},
    Source{"fat-tree.processes", Origin::report, "000, 5.2: 8 on a node", ""},
    Source{"fat-tree.link", Origin::fitted, "1,716 MB/s, the best of 000's figure 9, less the time within the node",
           "MB/s"},
    Source{"fat-tree.in_node", Origin::chosen,
           "as if STREAM copied 36 GB/s on two X5570, and a message were copied twice", "MB/s"},
    // The all-to-all in packets (reproduce_fat_tree_packets.cpp).
    Source{"packets.message", Origin::chosen, "000, 5.2 has 1 MiB, as has --full-size; less, so that it ends soon",
           "bytes"},
    Source{"packets.processes", Origin::chosen, "on a node; 000, 5.2 has 8, as has --full-size", ""},
    // Packets on InfiniBand (sim/infiniband.hpp).
    Source{"infiniband.rate", Origin::data_sheet, "4xDDR of 000's table 1: 20 Gbit/s, 8b/10b coded (IBTA 1.2)"},
    Source{"infiniband.mtu", Origin::chosen, "000 does not say; 2,048 was usual", "bytes"},
    Source{"infiniband.header", Origin::chosen,
           "26 are IBTA's LRH 8, BTH 12, ICRC 4 and VCRC 2; the other 4, of framing, have no source", "bytes"},
    Source{"infiniband.lanes", Origin::chosen, "000 does not say; OpenSM uses one unless told", ""},
    Source{"infiniband.buffer", Origin::chosen, "at each port and lane", "bytes"},
    Source{"infiniband.engines", Origin::report, "000, 5.2: a queue for each of 8 processes", ""},
    Source{"infiniband.metres", Origin::chosen, "cables between racks", "m"},
    Source{"infiniband.switch_delay", Origin::chosen, "of the order of 24-port switches of that time"},
    Source{"infiniband.startup", Origin::chosen, "command to first read of memory"},
    Source{"infiniband.send_latency", Origin::chosen, "memory and adapter"},
    Source{"infiniband.receive_latency", Origin::chosen, "adapter and memory"},
    Source{"infiniband.bus", Origin::chosen, "PCI Express 2.0 x8 carries twice the link"},
    Source{"infiniband.switching", Origin::data_sheet, "InfiniBand switches cut through"},
    Source{"infiniband.queue_packets", Origin::chosen, "that an adapter may have read ahead of its link", "packets"},
    Source{"infiniband.metre_delay", Origin::chosen, "two thirds of the speed of light, as in copper and glass"},
    // Tofu (sim/tofu.hpp).
    Source{"tofu.engines", Origin::report, "003, 3.1.1: 4 TNI", ""},
    Source{"tofu.rate", Origin::report, "003, 3.1.1: 5 GB/s each way"},
    Source{"tofu.engine_rate", Origin::fitted, "003, 4.3: 4.0 GB/s of BLbased, north-south (74 us)"},
    Source{"tofu.node_rate", Origin::fitted, "003, 4.4: 3.5 GB/s for each of four engines (86 us)"},
    Source{"tofu.mtu", Origin::chosen, "003 does not say", "bytes"},
    Source{"tofu.header", Origin::chosen, "003 does not say", "bytes"},
    Source{"tofu.classes", Origin::chosen, "requests and answers apart", ""},
    Source{"tofu.buffer", Origin::chosen, "at each link and lane", "bytes"},
    Source{"tofu.hop", Origin::chosen, "003 does not say"},
    Source{"tofu.queue_access", Origin::report, "003, 5: about 1 us for a further engine"},
    Source{"tofu.startup", Origin::chosen, "command to first read of memory"},
    Source{"tofu.send_latency", Origin::chosen, "memory to router"},
    Source{"tofu.receive_latency", Origin::chosen, "router to memory"},
    Source{"tofu.queue_packets", Origin::chosen, "that an engine may have read ahead of its link", "packets"},
    // RHiNET-1 (sim/rhinet.hpp).
    Source{"rhinet.pci_cycle", Origin::report, "004, table 2: 33 MHz"},
    Source{"rhinet.controller_cycle", Origin::report, "004, table 2: 16 MHz"},
    Source{"rhinet.rate", Origin::report, "004, table 2: 80 MHz, 8 bits"},
    Source{"rhinet.overlap", Origin::report, "004, 4.1: a remedy, not built", ""},
    Source{"rhinet.read_multiple", Origin::report, "004, 4.2: a remedy, not built", ""},
    Source{"rhinet.mtu", Origin::chosen, "004 measures up to 4 KiB", "bytes"},
    Source{"rhinet.header", Origin::chosen, "004 does not say", "bytes"},
    Source{"rhinet.lanes", Origin::chosen, "requests and answers apart", ""},
    Source{"rhinet.buffer", Origin::chosen, "004: 'large'", "bytes"},
    Source{"rhinet.switch_delay", Origin::chosen, "6 steps of the 40 MHz inside"},
    Source{"rhinet.metres", Origin::chosen, "within an office; 004 allows 100", "m"},
    Source{"rhinet.routing", Origin::report, "004, 3.2: by tables, on any topology"},
    Source{"rhinet.channels", Origin::report, "004, 3.2: for structured channels; up_down needs one", ""},
    Source{"rhinet.cached", Origin::report, "004, 3.2: the virtual-channel cache; 0: a buffer for every channel", ""},
    Source{"rhinet.spill", Origin::chosen, "004 does not say; without effect unless cached is set"},
    Source{"rhinet.pci_start", Origin::data_sheet, "PCI 2.1: address and answer", "cycles"},
    Source{"rhinet.primitive_words", Origin::report, "004, figure 2: the arguments of push", "words"},
    Source{"rhinet.dma_set_up", Origin::fitted, "004, table 3: times 3 and 5", "cycles"},
    Source{"rhinet.read_latency", Origin::fitted, "004, table 3: times 5 and 6", "cycles"},
    Source{"rhinet.burst_words", Origin::report, "004, 4.2: broken off every 32 bytes", "words"},
    Source{"rhinet.write_start", Origin::data_sheet, "PCI 2.1: address", "cycles"},
    Source{"rhinet.into_pci", Origin::fitted, "004, table 3: times 8 and 9, 11 and 12", "cycles"},
    Source{"rhinet.local_start", Origin::fitted, "004, table 3: times 2 and 3", "cycles"},
    Source{"rhinet.decode", Origin::fitted, "004, table 3: times 2 and 3", "cycles"},
    Source{"rhinet.area", Origin::fitted, "004, table 3: times 7 and 10", "cycles"},
    Source{"rhinet.translate", Origin::fitted, "004, table 3: times 2 and 3", "cycles"},
    Source{"rhinet.prepare", Origin::fitted, "004, table 3: times 2 and 3", "cycles"},
    Source{"rhinet.header_words", Origin::chosen, "header over the local bus", "words"},
    Source{"rhinet.header_out", Origin::fitted, "004, table 3: times 3 and 4", "cycles"},
    Source{"rhinet.dma_request", Origin::fitted, "004, table 3: times 3 and 5", "cycles"},
    Source{"rhinet.through", Origin::fitted, "004, table 3: times 6 and 7", "cycles"},
    Source{"rhinet.notice_end", Origin::fitted, "004, table 3: times 6 and 8", "cycles"},
    Source{"rhinet.into_controller", Origin::fitted, "004, table 3: times 10 and 11", "cycles"},
    Source{"rhinet.almost_empty_words", Origin::fitted, "004, 4.2: 37 MB/s at 4 KiB", "words"},
    Source{"rhinet.into_network", Origin::fitted, "004, table 3: times 3 and 4", "cycles"},
    Source{"rhinet.metre_delay", Origin::chosen, "two thirds of the speed of light, as in glass"},
    Source{"rhinet.prepared", Origin::chosen, "ready at an interface: one that moves, one whose DMA is asked for",
           "packets"},
    Source{"rhinet.handshake_period", Origin::chosen,
           "004 does not say; with the next two it makes rhinet/maintenance"},
    Source{"rhinet.missed_handshakes", Origin::chosen, "until a cable counts as cut; 004 does not say", ""},
    Source{"rhinet.message_processing", Origin::chosen, "of a set-up message on an H8; 004 does not say"},
    // The library's own options, where a figure's messages or barriers go through it.
    Source{"library.eager_limit", Origin::chosen,
           "the default: messages up to here travel in one ring record; where rings are smaller, a quarter of one",
           "bytes"},
    Source{"library.chunk_bytes", Origin::chosen, "the default: moved at a time of a larger one", "bytes"},
    Source{"library.ring_bytes", Origin::chosen, "the default, and less where many processes all talk to each other",
           "bytes"},
};

constexpr std::array<std::string_view, 3> kFabricKinds{"infiniband", "tofu", "rhinet"};
constexpr std::array<std::string_view, 3> kSmallFabrics{"infiniband:2-ary-2-tree", "tofu:1x1x1", "rhinet:star:2"};

struct MachineParameter {
  std::string_view name;
  double routing::AlltoallMachine::* place;
};
constexpr std::array kMachineParameters{MachineParameter{"fat-tree.message", &routing::AlltoallMachine::message_bytes},
                                        MachineParameter{"fat-tree.processes", &routing::AlltoallMachine::processes},
                                        MachineParameter{"fat-tree.link", &routing::AlltoallMachine::link_mb_s},
                                        MachineParameter{"fat-tree.in_node", &routing::AlltoallMachine::in_node_mb_s}};

struct ScaleParameter {
  std::string_view name;
  double PacketScale::* place;
};
constexpr std::array kScaleParameters{ScaleParameter{"packets.message", &PacketScale::message},
                                      ScaleParameter{"packets.processes", &PacketScale::processes}};
constexpr std::array<std::string_view, 4> kWhole{"fat-tree.message", "fat-tree.processes", "packets.message",
                                                 "packets.processes"};

struct LibraryParameter {
  std::string_view name;
  std::uint64_t base::Settings::* value;
  std::optional<std::uint64_t> Options::* place;
};
constexpr std::array kLibraryParameters{
    LibraryParameter{"library.eager_limit", &base::Settings::eager_limit, &Options::eager_limit},
    LibraryParameter{"library.chunk_bytes", &base::Settings::chunk_bytes, &Options::chunk_bytes},
    LibraryParameter{"library.ring_bytes", &base::Settings::ring_bytes, &Options::ring_bytes}};

Result<double> positive(std::string_view name, std::string_view text) {
  double value = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (status != std::errc{} || end != text.data() + text.size() || !(value > 0) || value > 1e15)
    return refuse(std::string(name) + " cannot be '" + std::string(text) + "': expected a number above 0");
  if (std::ranges::find(kWhole, name) != kWhole.end() && std::floor(value) != value)
    return refuse(std::string(name) + " cannot be '" + std::string(text) + "': expected a whole number");
  return value;
}

std::string printed(double value) {
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  return {text.data(), end};
}

} // namespace

std::string_view to_string(Origin origin) {
  switch (origin) {
    case Origin::report: return "report";
    case Origin::data_sheet: return "data sheet";
    case Origin::fitted: return "fitted to";
    case Origin::chosen: return "no source";
  }
  return "";
}

std::vector<Parameter> Parameters::list() const {
  std::map<std::string, std::string> values;
  for (const MachineParameter& each : kMachineParameters)
    values[std::string(each.name)] = printed(routing::AlltoallMachine{}.*each.place);
  for (const ScaleParameter& each : kScaleParameters)
    values[std::string(each.name)] = printed(PacketScale{}.*each.place);
  for (const std::string_view kind : kFabricKinds)
    for (const sim::FabricParameter& each : sim::default_parameters(kind))
      values[std::string(kind) + "." + std::string(each.name)] = each.value;
  for (const LibraryParameter& each : kLibraryParameters)
    values[std::string(each.name)] = std::to_string(base::Settings{}.*each.value);
  for (const auto& [name, value] : changes_) values[name] = value;
  std::vector<Parameter> all;
  for (const Source& source : kParameterSources) {
    const auto value = values.find(std::string(source.name));
    if (value != values.end())
      all.push_back({std::string(source.name), value->second, source.unit, source.origin, source.text});
  }
  return all;
}

Result<void> Parameters::change(const std::string& text) {
  const std::size_t equals = text.find('=');
  const std::string name = text.substr(0, equals);
  std::vector<std::string_view> names;
  for (const Source& source : kParameterSources) names.push_back(source.name);
  if (std::ranges::find(names, name) == names.end())
    return refuse("no parameter is called '" + name + "', did you mean " + std::string(base::nearest(name, names)) +
                  "?");
  if (equals == std::string::npos) return refuse("'" + name + "' has no value: expected NAME=VALUE");
  const std::string value = text.substr(equals + 1);
  if (name.starts_with("fat-tree.") || name.starts_with("packets.")) {
    if (const auto number = positive(name, value); !number) return std::unexpected(number.error());
  }
  if (name.starts_with("library.")) {
    const auto size = base::parse_size(value);
    if (!size) return refuse(name + ": " + size.error().fact, size.error().remedy);
  }
  changes_[name] = value;
  if (name.starts_with("library.")) {
    const auto good = base::resolve(options({}), base::Environment{});
    if (!good) return std::unexpected(good.error());
  }
  for (const std::string_view shape : kSmallFabrics)
    if (shape.substr(0, shape.find(':')) == name.substr(0, name.find('.')))
      if (const auto good = sim::parse_fabric(fabric(shape)); !good) return std::unexpected(good.error());
  return {};
}

Result<Parameters> Parameters::with(std::span<const std::string> changes) {
  Parameters parameters;
  for (const std::string& each : changes)
    if (auto changed = parameters.change(each); !changed) return std::unexpected(changed.error());
  return parameters;
}

Result<Parameters> Parameters::with(const std::string& name, const std::string& value) const {
  Parameters parameters = *this;
  if (auto changed = parameters.change(name + "=" + value); !changed) return std::unexpected(changed.error());
  return parameters;
}

routing::AlltoallMachine Parameters::machine() const {
  routing::AlltoallMachine machine;
  for (const MachineParameter& each : kMachineParameters)
    if (const auto change = changes_.find(std::string(each.name)); change != changes_.end())
      machine.*each.place = positive(each.name, change->second).value_or(machine.*each.place);
  return machine;
}

PacketScale Parameters::packets() const {
  PacketScale scale;
  for (const ScaleParameter& each : kScaleParameters)
    if (const auto change = changes_.find(std::string(each.name)); change != changes_.end())
      scale.*each.place = positive(each.name, change->second).value_or(scale.*each.place);
  return scale;
}

Options Parameters::options(Options given) const {
  for (const LibraryParameter& each : kLibraryParameters)
    if (const auto change = changes_.find(std::string(each.name)); change != changes_.end() && !(given.*each.place))
      if (const auto size = base::parse_size(change->second)) given.*each.place = *size;
  // A job whose rings are made smaller than the default takes as much of it as they have room for, as it does of the default.
  if (given.eager_limit && given.ring_bytes) given.eager_limit = std::min(*given.eager_limit, *given.ring_bytes / 4);
  return given;
}

std::string Parameters::fabric(std::string_view text) const {
  const std::size_t own = std::min(text.find(','), text.size()); // of two settings the later one counts
  const std::string kind = std::string(text.substr(0, text.find(':'))) + ".";
  std::string whole(text.substr(0, own));
  for (const auto& [name, value] : changes_)
    if (name.starts_with(kind)) whole += "," + name.substr(kind.size()) + "=" + value;
  return whole.append(text.substr(own));
}

sim::RhinetParameters Parameters::rhinet() const {
  const auto fabric_made = sim::parse_fabric(fabric(kSmallFabrics[2]));
  return fabric_made ? *fabric_made->rhinet : sim::RhinetParameters{}; // a change that does not work was refused before
}

} // namespace heddle::tool
