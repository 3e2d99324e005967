#include "translators/verbs/device.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>
#include <span>

namespace heddle::translators::verbs {

namespace {

constexpr std::string_view kAutomatic = "automatic";

std::unexpected<Error> none(std::string fact, std::string remedy, int number = 0) {
  return std::unexpected(Error{
      .code = ErrorCode::unsupported, .fact = std::move(fact), .remedy = std::move(remedy), .system_code = number});
}

std::optional<std::uint8_t> number_in(std::string_view text) {
  std::uint8_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

const char* state_of(ibv_port_state state) {
  if (state == IBV_PORT_ACTIVE) return "up";
  if (state == IBV_PORT_INIT) return "waiting for a subnet manager";
  return state == IBV_PORT_ARMED ? "being brought up by the subnet manager" : "down";
}

// The lower the better. Without IP behind it, an address leads no further than its own switch.
int rank_of(const ibv_gid_entry& entry) {
  constexpr std::array<std::uint8_t, 12> kIpv4{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  const bool ipv4 = std::memcmp(entry.gid.raw, kIpv4.data(), kIpv4.size()) == 0;
  const bool local = entry.gid.raw[0] == 0xfe && (entry.gid.raw[1] & 0xc0U) == 0x80;
  const int kind = ipv4 ? 0 : local ? 2 : 1;
  return entry.gid_type == IBV_GID_TYPE_ROCE_V2 ? kind : 3 + kind;
}

} // namespace

Result<Port> Device::take_port(std::uint8_t number, const std::string& wanted_address) const {
  Port port{.number = number, .about = {}, .own = {}};
  if (const int error = library_->query_port(context_, number, reinterpret_cast<_compat_ibv_port_attr*>(&port.about));
      error != 0)
    return none(name_ + ":" + std::to_string(number) + " cannot be asked", "", error);
  if (!port.up())
    return none(name_ + ":" + std::to_string(number) + " is " + state_of(port.about.state),
                "check the cable, and that a subnet manager runs (ibv_devinfo shows the state)");
  if (auto found = find_addresses(port, wanted_address); !found) return std::unexpected(std::move(found.error()));
  return port;
}

bool Device::look_at_port(std::size_t which) {
  Port& port = ports_[which];
  ibv_port_attr now{};
  if (library_->query_port(context_, port.number, reinterpret_cast<_compat_ibv_port_attr*>(&now)) != 0) return false;
  port.about = now;
  return port.up();
}

bool Device::is_alike(const Port& port) const {
  if (ports_.empty()) return true;
  const Gid& first = ports_.front().own.front().gid;
  return port.ethernet() == ethernet() &&
         (ethernet() || std::equal(first.begin(), first.begin() + 8, port.own.front().gid.begin()));
}

ibv_qp* Device::create_pair(ibv_qp_init_attr& wanted) const {
  wanted.cap.max_inline_data = std::min(wanted.cap.max_inline_data, most_inline_);
  for (;;) {
    const ibv_qp_cap asked =
        wanted.cap; // the library writes there what it gives, on some adapters when it refuses, too
    ibv_qp* pair = library_->create_qp(domain_, &wanted);
    if (pair != nullptr || errno != EINVAL || asked.max_inline_data == 0) return pair;
    wanted.cap = asked;
    wanted.cap.max_inline_data = most_inline_ = asked.max_inline_data > 32 ? asked.max_inline_data / 2 : 0;
  }
}

Result<void> Device::find_addresses(Port& port, const std::string& wanted) const {
  const auto asked = wanted == kAutomatic ? std::nullopt : number_in(wanted);
  if (wanted != kAutomatic && !asked)
    return std::unexpected(Error{.code = ErrorCode::bad_option,
                                 .fact = "option verbs.gid is '" + wanted + "'",
                                 .remedy = "expected automatic, or a number from 0 to 255"});
  std::vector<std::pair<int, Own>> found;
  for (int i = 0; i < port.about.gid_tbl_len && i < 256; ++i) {
    ibv_gid_entry entry{};
    const auto index = static_cast<std::uint8_t>(i);
    if (library_->query_gid(context_, port.number, index, &entry, 0, sizeof entry) != 0) continue;
    Own own{.index = index};
    std::memcpy(own.gid.data(), entry.gid.raw, own.gid.size());
    if (own.gid == Gid{}) continue;
    found.emplace_back(asked && index == *asked ? -1 : rank_of(entry), own);
    if (!port.ethernet()) break;
  }
  std::ranges::stable_sort(found, {}, [](const auto& each) { return each.first; });
  if (port.ethernet() && (found.empty() || (asked && found.front().first != -1)))
    return none(name_ + ":" + std::to_string(port.number) + " has no address " + (asked ? wanted : "(GID)"),
                "give its network interface an IP address, or set option verbs.gid to one that ibv_devinfo -v lists");
  // Those that are as good as the first are further paths.
  for (const auto& [rank, own] : found)
    if (port.own.empty() || (port.ethernet() && (rank == found.front().first || (asked && rank == 0))))
      port.own.push_back(own);
  if (port.own.empty()) port.own.emplace_back(); // on InfiniBand the LID is enough
  return {};
}

Result<std::unique_ptr<Device>> Device::open(const Wanted& wanted) {
  auto library = Library::load(wanted.library);
  if (!library) return std::unexpected(std::move(library.error()));
  // Pages that the adapter writes to stay this process's when it forks: newer kernels see to that themselves.
  if ((*library)->is_fork_initialized() == IBV_FORK_DISABLED) (*library)->fork_init();

  const std::size_t colon = wanted.device.find(':');
  const std::string wanted_name = wanted.device.substr(0, colon);
  const auto wanted_port =
      colon == std::string::npos ? std::optional<std::uint8_t>{0} : number_in(wanted.device.substr(colon + 1));
  const bool any = wanted_name == kAutomatic;
  if (!wanted_port)
    return std::unexpected(Error{.code = ErrorCode::bad_option,
                                 .fact = "option verbs.device is '" + wanted.device + "'",
                                 .remedy = "expected automatic, or such as mlx5_0 or mlx5_0:1"});
  int count = 0;
  ibv_device** list = (*library)->get_device_list(&count);
  const int listing = errno;
  if (list == nullptr)
    return none("this machine's InfiniBand devices cannot be listed", "load kernel module ib_uverbs", listing);
  Error last{.code = ErrorCode::unsupported,
             .fact = "this machine has no InfiniBand or RoCE adapter",
             .remedy = "see what ibv_devices lists, or use another translator"};
  std::unique_ptr<Device> chosen;
  std::string names;
  for (ibv_device* each : std::span(list, static_cast<std::size_t>(count))) {
    const std::string name = (*library)->get_device_name(each);
    names += (names.empty() ? "" : ", ") + name;
    if (chosen != nullptr || (!any && name != wanted_name)) continue;
    std::unique_ptr<Device> device(new Device);
    device->library_ = *library;
    device->name_ = name;
    device->context_ = (*library)->open_device(each);
    if (device->context_ == nullptr) {
      last = {.code = ErrorCode::unsupported,
              .fact = "device " + name + " cannot be opened",
              .remedy = "let this user read and write /dev/infiniband/uverbs*",
              .system_code = errno};
      continue;
    }
    (*library)->query_device(device->context_, &device->limits_);
    const std::uint8_t first = *wanted_port == 0 ? 1 : *wanted_port;
    const std::uint8_t end = *wanted_port == 0 ? device->limits_.phys_port_cnt : *wanted_port;
    for (int number = first; number <= end && device->ports_.size() < wanted.ports; ++number) {
      auto port = device->take_port(static_cast<std::uint8_t>(number), wanted.gid);
      if (!port)
        last = port.error();
      else if (device->is_alike(*port))
        device->ports_.push_back(std::move(*port));
    }
    if (!device->ports_.empty()) chosen = std::move(device);
  }
  (*library)->free_device_list(list);
  if (chosen == nullptr && !any && (", " + names + ",").find(", " + wanted_name + ",") == std::string::npos)
    return std::unexpected(Error{.code = ErrorCode::bad_option,
                                 .fact = "option verbs.device names '" + wanted_name + "', and this machine has " +
                                         (names.empty() ? "no adapter" : names),
                                 .remedy = "name one of those, or automatic"});
  if (chosen == nullptr) return std::unexpected(std::move(last));
  chosen->domain_ = (*library)->alloc_pd(chosen->context_);
  if (chosen->domain_ == nullptr) return none("device " + chosen->name_ + " gives no protection domain", "", errno);
  return chosen;
}

Device::~Device() {
  if (domain_ != nullptr) library_->dealloc_pd(domain_);
  if (context_ != nullptr) library_->close_device(context_);
}

Place Device::place() const {
  const Port& first = port();
  Place place{.gid = first.own.front().gid,
              .lid = first.about.lid,
              .lmc = first.about.lmc,
              .addresses = ethernet() ? static_cast<std::uint8_t>(std::min<std::size_t>(first.own.size(), 127))
                                      : std::uint8_t{0}};
  if (!ethernet()) std::fill(place.gid.begin() + 8, place.gid.end(), std::byte{0}); // the LID says it
  return place;
}

double Port::rate() const {
  // Gbit/s of one lane by code, and lanes: InfiniBand specification, PortInfo.
  double lane = 0;
  switch (about.active_speed) {
    case 1: lane = 2; break;      // SDR, 8b/10b
    case 2: lane = 4; break;      // DDR
    case 4: lane = 8; break;      // QDR
    case 8: lane = 10; break;     // FDR10
    case 16: lane = 13.64; break; // FDR
    case 32: lane = 25; break;    // EDR
    case 64: lane = 50; break;    // HDR
    case 128: lane = 100; break;  // NDR
    default: return 0;
  }
  const int lanes = about.active_width == 1    ? 1
                    : about.active_width == 2  ? 4
                    : about.active_width == 4  ? 8
                    : about.active_width == 8  ? 12
                    : about.active_width == 16 ? 2
                                               : 0;
  return lane * lanes / 8;
}

double Device::rate() const {
  return std::ranges::min(ports_, {}, &Port::rate).rate();
}

} // namespace heddle::translators::verbs
