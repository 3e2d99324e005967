#include "sim/description.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <variant>

#include "base/nearest.hpp"
#include "base/refusal.hpp"
#include "base/size_text.hpp"
#include "base/text_file.hpp"
#include "sim/infiniband.hpp"
#include "sim/rhinet.hpp"
#include "sim/text.hpp"
#include "sim/tofu.hpp"

namespace heddle::sim {
namespace {

std::string in_quotes(std::string_view text) {
  return "'" + std::string(text) + "'";
}

// One value out of a list of words.
struct Word {
  std::string_view name;
  std::int64_t value;
};

// One parameter of a fabric: where it is kept and what it may be. Words stand for numbers where a list of them is given.
template <typename Parameters>
struct Row {
  std::string_view name;
  std::variant<std::uint32_t Parameters::*, Picoseconds Parameters::*, Rate Parameters::*, bool Parameters::*,
               Switching Parameters::*, RhinetRouting Parameters::*>
      place;
  std::uint64_t least = 0;
  std::uint64_t most = 0;
  std::span<const Word> words;
};

constexpr std::uint64_t kLargestBuffer = 1 << 30;
constexpr std::uint64_t kLongestTime = 1'000'000'000'000; // a second
constexpr std::uint64_t kHighestRate = 10'000'000'000'000;
constexpr std::uint64_t kLongestCable = 1'000'000;
constexpr std::uint64_t kLongestMetre = 1'000'000; // picoseconds
constexpr std::uint64_t kMostEngines = 256;
constexpr std::uint64_t kMostQueued = 256;  // packets ahead of a link
constexpr std::uint64_t kMostCycles = 1000; // of one step of RHiNET's interface

// Data rates of four lanes, after coding.
constexpr std::array kSpeeds{Word{"sdr", 1'000'000'000}, Word{"ddr", 2'000'000'000},  Word{"qdr", 4'000'000'000},
                             Word{"fdr", 6'818'000'000}, Word{"edr", 12'500'000'000}, Word{"hdr", 25'000'000'000}};
constexpr std::array kSwitchings{Word{"cut_through", static_cast<int>(Switching::cut_through)},
                                 Word{"store_and_forward", static_cast<int>(Switching::store_and_forward)}};
constexpr std::array kRoutings{Word{"up_down", static_cast<int>(RhinetRouting::up_down)},
                               Word{"shortest", static_cast<int>(RhinetRouting::shortest)},
                               Word{"structured", static_cast<int>(RhinetRouting::structured)},
                               Word{"reduced", static_cast<int>(RhinetRouting::reduced)}};

using I = InfinibandParameters;
constexpr std::array kInfiniband{
    Row<I>{"speed", &I::rate, kLowestRate, kHighestRate, kSpeeds},
    Row<I>{"rate", &I::rate, kLowestRate, kHighestRate},
    Row<I>{"mtu", &I::mtu, 1, kLargestPiece / 2},
    Row<I>{"header", &I::header_bytes, 0, 4096},
    Row<I>{"lanes", &I::lanes, 1, 16},
    Row<I>{"buffer", &I::buffer_bytes, 1, kLargestBuffer},
    Row<I>{"engines", &I::send_engines, 1, kMostEngines},
    Row<I>{"metres", &I::cable_metres, 0, kLongestCable},
    Row<I>{"switch_delay", &I::switch_delay, 0, kLongestTime},
    Row<I>{"startup", &I::startup, 0, kLongestTime},
    Row<I>{"send_latency", &I::send_latency, 0, kLongestTime},
    Row<I>{"receive_latency", &I::receive_latency, 0, kLongestTime},
    Row<I>{"bus", &I::bus, kLowestRate, kHighestRate},
    Row<I>{"switching", &I::switching, 0, 0, kSwitchings},
    Row<I>{"queue_packets", &I::queue_packets, 1, kMostQueued},
    Row<I>{"metre_delay", &I::metre_delay, 0, kLongestMetre},
};

using T = TofuParameters;
constexpr std::array kTofu{
    Row<T>{"engines", &T::engines, 1, kMostEngines},
    Row<T>{"rate", &T::rate, kLowestRate, kHighestRate},
    Row<T>{"engine_rate", &T::engine_rate, kLowestRate, kHighestRate},
    Row<T>{"node_rate", &T::node_rate, kLowestRate, kHighestRate},
    Row<T>{"mtu", &T::mtu, 1, kLargestPiece / 2},
    Row<T>{"header", &T::header_bytes, 0, 4096},
    Row<T>{"classes", &T::classes, 1, 8},
    Row<T>{"buffer", &T::buffer_bytes, 1, kLargestBuffer},
    Row<T>{"hop", &T::hop, 0, kLongestTime},
    Row<T>{"queue_access", &T::queue_access, 0, kLongestTime},
    Row<T>{"startup", &T::startup, 0, kLongestTime},
    Row<T>{"send_latency", &T::send_latency, 0, kLongestTime},
    Row<T>{"receive_latency", &T::receive_latency, 0, kLongestTime},
    Row<T>{"queue_packets", &T::queue_packets, 1, kMostQueued},
};

using R = RhinetParameters;
constexpr std::array kRhinet{
    Row<R>{"pci_cycle", &R::pci_cycle, 1, kLongestTime / 1000},
    Row<R>{"controller_cycle", &R::controller_cycle, 1, kLongestTime / 1000},
    Row<R>{"rate", &R::rate, kLowestRate, kHighestRate},
    Row<R>{"overlap", &R::overlap, 0, 1},
    Row<R>{"read_multiple", &R::read_multiple, 0, 1},
    Row<R>{"mtu", &R::mtu, 1, kLargestPiece / 2},
    Row<R>{"header", &R::header_bytes, 0, 4096},
    Row<R>{"lanes", &R::lanes, 1, 16},
    Row<R>{"buffer", &R::buffer_bytes, 1, kLargestBuffer},
    Row<R>{"switch_delay", &R::switch_delay, 0, kLongestTime},
    Row<R>{"metres", &R::cable_metres, 0, kLongestCable},
    Row<R>{"routing", &R::routing, 0, 0, kRoutings},
    Row<R>{"channels", &R::channels, 1, kMostLanes},
    Row<R>{"cached", &R::cached, 0, kMostLanes},
    Row<R>{"spill", &R::spill, 0, kLongestTime},
    Row<R>{"pci_start", &R::pci_start, 0, kMostCycles},
    Row<R>{"dma_set_up", &R::dma_set_up, 0, kMostCycles},
    Row<R>{"read_latency", &R::read_latency, 0, kMostCycles},
    Row<R>{"burst_words", &R::burst_words, 1, kMostCycles},
    Row<R>{"write_start", &R::write_start, 0, kMostCycles},
    Row<R>{"into_pci", &R::into_pci, 0, kMostCycles},
    Row<R>{"local_start", &R::local_start, 0, kMostCycles},
    Row<R>{"decode", &R::decode, 0, kMostCycles},
    Row<R>{"area", &R::area, 0, kMostCycles},
    Row<R>{"translate", &R::translate, 0, kMostCycles},
    Row<R>{"prepare", &R::prepare, 0, kMostCycles},
    Row<R>{"header_words", &R::header_words, 0, kMostCycles},
    Row<R>{"header_out", &R::header_out, 0, kMostCycles},
    Row<R>{"dma_request", &R::dma_request, 0, kMostCycles},
    Row<R>{"through", &R::through, 0, kMostCycles},
    Row<R>{"notice_end", &R::notice_end, 0, kMostCycles},
    Row<R>{"into_controller", &R::into_controller, 0, kMostCycles},
    Row<R>{"into_network", &R::into_network, 0, kMostCycles},
    Row<R>{"primitive_words", &R::primitive_words, 1, kMostCycles},
    Row<R>{"almost_empty_words", &R::almost_empty_words, 0, 15},
    Row<R>{"metre_delay", &R::metre_delay, 0, kLongestMetre},
    Row<R>{"prepared", &R::prepared, 1, kMostQueued},
    Row<R>{"handshake_period", &R::handshake_period, 16, kLongestTime},
    Row<R>{"missed_handshakes", &R::missed_handshakes, 1, 1000},
    Row<R>{"message_processing", &R::message_processing, 0, kLongestTime},
};

Result<std::int64_t> choose(std::span<const Word> words, std::string_view name, std::string_view value) {
  std::string expected;
  for (const Word& word : words) {
    if (word.name == value) return word.value;
    expected += expected.empty() ? "" : ", ";
    expected += word.name;
  }
  return refuse("parameter " + std::string(name) + " cannot be " + in_quotes(value) + ": expected one of " + expected);
}

// The value as a number in the parameter's own unit: picoseconds, bytes per second, bytes or a count.
template <typename Parameters>
Result<std::int64_t> read_value(const Row<Parameters>& row, std::string_view text) {
  if (!row.words.empty()) return choose(row.words, row.name, text);
  const auto in_context = [&](const Error& error) {
    return refuse("parameter " + std::string(row.name) + ": " + error.fact, error.remedy);
  };
  std::uint64_t value = 0;
  if (std::holds_alternative<Picoseconds Parameters::*>(row.place)) {
    const auto time = parse_time(text);
    if (!time) return in_context(time.error());
    value = static_cast<std::uint64_t>(time->count());
  } else if (std::holds_alternative<Rate Parameters::*>(row.place)) {
    const auto rate = parse_rate(text);
    if (!rate) return in_context(rate.error());
    value = static_cast<std::uint64_t>(rate->bytes_per_second);
    if (value == 0) return refuse("parameter " + std::string(row.name) + " is a rate of zero");
  } else {
    const auto size = base::parse_size(text);
    if (!size) return in_context(size.error());
    value = *size;
  }
  if (value < row.least || value > row.most) {
    return refuse("parameter " + std::string(row.name) + "=" + std::string(text) +
                  " is out of range: " + std::to_string(row.least) + " to " + std::to_string(row.most));
  }
  return static_cast<std::int64_t>(value);
}

template <typename Parameters>
void store(Parameters& parameters, const Row<Parameters>& row, std::int64_t value) {
  std::visit(
      [&](auto place) {
        using Field = std::remove_reference_t<decltype(parameters.*place)>;
        if constexpr (std::is_same_v<Field, Rate>) {
          parameters.*place = Rate{value};
        } else {
          parameters.*place = static_cast<Field>(value);
        }
      },
      row.place);
}

template <typename Parameters>
std::string written(const Parameters& parameters, const Row<Parameters>& row) {
  std::string text;
  const auto write = [&](auto place) {
    using Field = std::remove_cvref_t<decltype(parameters.*place)>;
    const Field& value = parameters.*place;
    if constexpr (std::is_same_v<Field, Rate>) {
      text = print_rate(value);
      if (value.bytes_per_second == 0) text = "no limit";
    } else if constexpr (std::is_same_v<Field, Picoseconds>) {
      text = print_time(value);
    } else if constexpr (std::is_enum_v<Field>) {
      for (const Word& word : row.words)
        if (word.value == static_cast<std::int64_t>(value)) text = word.name;
    } else {
      text = std::to_string(static_cast<std::uint64_t>(value));
    }
  };
  std::visit(write, row.place);
  return text;
}

template <typename Parameters, typename Rows>
std::vector<FabricParameter> written_all(const Parameters& parameters, const Rows& rows) {
  std::vector<FabricParameter> all;
  for (const auto& row : rows)
    if (row.name != "speed") all.push_back({row.name, written(parameters, row)}); // another name of rate
  return all;
}

template <typename Rows>
std::vector<std::string_view> names_of(const Rows& rows) {
  std::vector<std::string_view> names;
  for (const auto& row : rows) names.push_back(row.name);
  return names;
}

// The settings after the shape, "name=value" each, into `parameters`.
template <typename Parameters, typename Rows>
Result<void> apply(Parameters& parameters, const Rows& rows, std::string_view settings,
                   const std::vector<std::string_view>& known) {
  while (!settings.empty()) {
    const Halves next = cut_at(settings, ',');
    const Halves setting = cut_at(next.before, '=');
    settings = next.after;
    if (!setting.cut) return refuse("parameter " + in_quotes(next.before) + " has no value: expected name=value");
    const auto row =
        std::find_if(rows.begin(), rows.end(), [&](const auto& each) { return each.name == setting.before; });
    if (row == rows.end()) {
      return refuse("parameter " + in_quotes(setting.before) + " is unknown",
                    "did you mean " + std::string(base::nearest(setting.before, known)) + "?");
    }
    const auto value = read_value(*row, setting.after);
    if (!value) return std::unexpected(value.error());
    store(parameters, *row, *value);
  }
  return {};
}

// Picks "generation=..." out of the settings: it sets all the others' defaults, so it counts first wherever it stands.
Result<TofuParameters> tofu_generation(std::string& settings) {
  constexpr std::string_view kName = "generation=";
  const std::size_t at = settings.starts_with(kName) ? 0 : settings.find("," + std::string(kName));
  if (at == std::string::npos) return TofuParameters{};
  const std::size_t value = at + kName.size() + (at == 0 ? 0 : 1);
  const std::size_t end = std::min(settings.find(',', value), settings.size());
  const std::string name = settings.substr(value, end - value);
  settings.erase(at, end - at + (at == 0 && end < settings.size() ? 1 : 0));
  if (name == "k") return TofuParameters{};
  if (name == "d") return tofu_d();
  return refuse("parameter generation cannot be " + in_quotes(name) + ": expected one of k, d");
}

Result<std::uint32_t> number(std::string_view text, std::string_view what, std::uint64_t most) {
  const auto count = parse_count(text);
  if (!count || *count == 0 || *count > most) {
    return refuse(in_quotes(text) + " is not a valid " + std::string(what) + ": expected 1 to " + std::to_string(most));
  }
  return static_cast<std::uint32_t>(*count);
}

// A subnet, whose own parameters (routing/subnet_text.hpp) may stand anywhere among the others.
Result<Fabric> parse_infiniband(std::string_view shape, std::string_view settings, const FabricReading& reading) {
  std::string subnet(shape);
  std::string others;
  const auto own = routing::subnet_parameters();
  while (!settings.empty()) {
    const Halves next = cut_at(settings, ',');
    if (std::ranges::find(own, cut_at(next.before, '=').before) != own.end())
      subnet.append(",").append(next.before);
    else
      others.append(others.empty() ? "" : ",").append(next.before);
    settings = next.after;
  }
  auto text = routing::parse_subnet(subnet);
  if (!text) return std::unexpected(text.error());
  if (reading.every_lid && !text->lmc) text->every_lid = true;
  InfinibandParameters parameters;
  if (auto good = apply(parameters, kInfiniband, others, parameter_names("infiniband")); !good)
    return std::unexpected(good.error());
  auto fabric = infiniband(*text, parameters, reading.read);
  if (fabric) fabric->subnet = std::move(subnet);
  return fabric;
}

// XxYxZ
Result<Fabric> parse_tofu(std::string_view shape, std::string settings) {
  auto parameters = tofu_generation(settings);
  if (!parameters) return std::unexpected(parameters.error());
  std::array<std::uint32_t T::*, 3> axes{&T::x, &T::y, &T::z};
  std::string_view rest = shape;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const Halves halves = cut_at(rest, 'x');
    if (halves.cut != (i < 2)) return refuse(in_quotes(shape) + " is not a torus: expected XxYxZ, such as 2x3x2");
    const auto size = number(halves.before, "size of a torus", 4096);
    if (!size) return std::unexpected(size.error());
    (*parameters).*axes[i] = *size;
    rest = halves.after;
  }
  if (auto good = apply(*parameters, kTofu, settings, parameter_names("tofu")); !good)
    return std::unexpected(good.error());
  return tofu(*parameters);
}

constexpr std::uint64_t kMostRhinetNodes = 4096; // tables grow with its square

Result<Topology> parse_shape(std::string_view shape, ReadFile read) {
  const Halves halves = cut_at(shape, ':');
  if (halves.cut && (halves.before == "star" || halves.before == "ring")) {
    const auto nodes = number(halves.after, "number of nodes", kMostRhinetNodes);
    if (!nodes) return std::unexpected(nodes.error());
    return halves.before == "star" ? star(*nodes) : ring(*nodes);
  }
  if (halves.cut && halves.before == "torus") {
    const Halves sides = cut_at(halves.after, 'x');
    const auto columns = number(sides.before, "number of columns", kMostRhinetNodes);
    if (!columns) return std::unexpected(columns.error());
    const auto rows = number(sides.after, "number of rows", kMostRhinetNodes / *columns);
    if (!rows) return std::unexpected(rows.error());
    return torus(*columns, *rows);
  }
  if (shape.empty()) return refuse("no topology is named: expected star:N, ring:N, torus:AxB or a file");
  const auto text = read(std::string(shape));
  if (!text) return std::unexpected(text.error());
  return parse_topology(*text, shape);
}

Result<Fabric> parse_rhinet(std::string_view shape, std::string_view settings, ReadFile read) {
  RhinetParameters parameters;
  if (auto good = apply(parameters, kRhinet, settings, parameter_names("rhinet")); !good)
    return std::unexpected(good.error());
  const auto topology = parse_shape(shape, read);
  if (!topology) return std::unexpected(topology.error());
  auto fabric = rhinet(parameters, *topology);
  if (fabric) fabric->name = "rhinet:" + std::string(shape);
  return fabric;
}

} // namespace

Result<std::string> read_file(const std::string& path) {
  constexpr std::uint64_t kLargestFile = 512 << 20; // room for as many parts as a topology may have
  return base::read_text_file(path, {.what = "topology", .most = kLargestFile});
}

Result<Fabric> parse_fabric(std::string_view text, const FabricReading& reading) {
  const Halves kind = cut_at(text, ':');
  const Halves shape = cut_at(kind.after, ',');
  const auto build = [&]() -> Result<Fabric> {
    if (kind.before == "infiniband") return parse_infiniband(shape.before, shape.after, reading);
    if (kind.before == "tofu") return parse_tofu(shape.before, std::string(shape.after));
    if (kind.before == "rhinet") return parse_rhinet(shape.before, shape.after, reading.read);
    return refuse(in_quotes(kind.before) + " is not a fabric: expected infiniband:, tofu: or rhinet:");
  };
  auto fabric = build();
  if (!fabric) return fabric;
  // What only the parts together show, such as a buffer smaller than a packet.
  if (auto wiring = wire(*fabric); !wiring) return std::unexpected(wiring.error());
  return fabric;
}

std::vector<FabricParameter> default_parameters(std::string_view kind) {
  static const InfinibandParameters infiniband_defaults;
  static const TofuParameters tofu_defaults;
  static const RhinetParameters rhinet_defaults;
  if (kind == "infiniband") return written_all(infiniband_defaults, kInfiniband);
  if (kind == "tofu") return written_all(tofu_defaults, kTofu);
  if (kind == "rhinet") return written_all(rhinet_defaults, kRhinet);
  return {};
}

std::vector<std::string_view> parameter_names(std::string_view kind) {
  if (kind == "rhinet") return names_of(kRhinet);
  if (kind == "infiniband") {
    std::vector<std::string_view> names = names_of(kInfiniband);
    const auto own = routing::subnet_parameters();
    names.insert(names.begin(), own.begin(), own.end());
    return names;
  }
  if (kind != "tofu") return {};
  std::vector<std::string_view> names = names_of(kTofu);
  names.insert(names.begin(), "generation");
  return names;
}

} // namespace heddle::sim
