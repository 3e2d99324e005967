#include "routing/opensm_files.hpp"

#include <array>
#include <charconv>
#include <cstdio>
#include <optional>

namespace heddle::routing {
namespace {

// As OpenSM writes them: it compares GUIDs in its cache as text of 16 digits.
std::string guid_text(std::uint64_t guid) {
  std::array<char, 24> text{};
  std::snprintf(text.data(), text.size(), "0x%016llx", static_cast<unsigned long long>(guid));
  return text.data();
}

std::string lid_text(Lid lid) {
  std::array<char, 8> text{};
  std::snprintf(text.data(), text.size(), "0x%04x", lid);
  return text.data();
}

std::string port_text(Port port) {
  std::array<char, 8> text{};
  std::snprintf(text.data(), text.size(), "%03u", port);
  return text.data();
}

std::string cable_text(const Fabric& fabric, std::size_t port, const Peer& peer) {
  const std::string& name =
      peer.kind == Peer::Kind::host ? fabric.hosts[peer.index].name : fabric.switches[peer.index].name;
  return "[" + std::to_string(port) + "] \"" + name + "\"[" + std::to_string(peer.port) + "]\n";
}

// "... guid 0x0002c90100000001 ..." of a heading.
std::optional<std::uint64_t> guid_of(std::string_view line) {
  constexpr std::string_view kBefore = " guid 0x";
  const std::size_t at = line.find(kBefore);
  if (at == std::string_view::npos) return {};
  std::uint64_t guid = 0;
  const auto [end, status] = std::from_chars(line.data() + at + kBefore.size(), line.data() + line.size(), guid, 16);
  if (status != std::errc{}) return {};
  return guid;
}

// "0x0008 001 ..." -> (8, 1); nullopt for any other line.
std::optional<LftEntry> entry_of(std::string_view line) {
  if (!line.starts_with("0x")) return {};
  LftEntry entry;
  const char* const last = line.data() + line.size();
  const auto lid = std::from_chars(line.data() + 2, last, entry.lid, 16);
  if (lid.ec != std::errc{} || lid.ptr == last || *lid.ptr != ' ') return {};
  const auto port = std::from_chars(lid.ptr + 1, last, entry.port);
  if (port.ec != std::errc{} || (port.ptr != last && *port.ptr != ' ')) return {};
  return entry;
}

} // namespace

std::string lft_file(const Subnet& subnet) {
  std::string text;
  const Fabric& fabric = subnet.fabric;
  for (SwitchIndex at = 0; at < fabric.switches.size(); ++at) {
    const Switch& one = fabric.switches[at];
    if (!one.present) continue;
    text += "Unicast lids [0-" + std::to_string(subnet.tables.largest()) + "] of switch Lid " +
            std::to_string(subnet.lids.switch_lid(at)) + " guid " + guid_text(one.guid) + " ('" + one.name + "'):\n";
    for (std::uint32_t lid = 1; lid <= subnet.tables.largest(); ++lid) {
      const Port port = subnet.tables.port(at, static_cast<Lid>(lid));
      if (port != kUnset) text += lid_text(static_cast<Lid>(lid)) + " " + port_text(port) + "\n";
    }
    text += "\n";
  }
  return text;
}

std::string guid2lid_file(const Subnet& subnet) {
  std::string text;
  const Fabric& fabric = subnet.fabric;
  for (HostIndex host = 0; host < fabric.hosts.size(); ++host)
    if (fabric.hosts[host].present)
      text += guid_text(fabric.hosts[host].port_guid) + " " + lid_text(subnet.lids.lid(host, 0)) + " " +
              lid_text(subnet.lids.lid(host, subnet.lids.per_host() - 1)) + "\n\n";
  for (SwitchIndex at = 0; at < fabric.switches.size(); ++at) {
    const std::string lid = lid_text(subnet.lids.switch_lid(at));
    if (fabric.switches[at].present) text += guid_text(fabric.switches[at].guid) + " " + lid + " " + lid + "\n\n";
  }
  return text;
}

std::string ibsim_file(const Fabric& fabric) {
  std::string text;
  for (const Host& host : fabric.hosts) {
    if (!host.present) continue;
    text += "caguid=" + guid_text(host.guid) + "\nCa " + std::to_string(host.port) + " \"" + host.name + "\"\n[" +
            std::to_string(host.port) + "](" + guid_text(host.port_guid) + ") \"" + fabric.switches[host.leaf].name +
            "\"[" + std::to_string(host.leaf_port) + "]\n\n";
  }
  for (const Switch& one : fabric.switches) {
    if (!one.present) continue;
    text += "switchguid=" + guid_text(one.guid) + "\nSwitch " + std::to_string(one.ports.size() - 1) + " \"" +
            one.name + "\"\n";
    for (std::size_t port = 1; port < one.ports.size(); ++port)
      if (one.ports[port].kind != Peer::Kind::nothing) text += cable_text(fabric, port, one.ports[port]);
    text += "\n";
  }
  return text;
}

Result<std::vector<LftEntry>> parse_lfts(std::string_view text) {
  std::vector<LftEntry> entries;
  std::optional<std::uint64_t> guid;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.starts_with("Unicast lids")) {
      guid = guid_of(line);
      continue;
    }
    if (!line.starts_with("0x")) continue; // headings and counts
    auto entry = entry_of(line);
    if (!entry || !guid)
      return std::unexpected(Error{.code = ErrorCode::bad_argument,
                                   .fact = "line " + std::to_string(number) + ": '" + std::string(line.substr(0, 60)) +
                                           (entry ? "' comes before any switch" : "' is not a LID and port")});
    entry->guid = *guid;
    entries.push_back(*entry);
  }
  return entries;
}

} // namespace heddle::routing
