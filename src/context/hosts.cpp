#include "context/hosts.hpp"

#include <unistd.h>

#include <algorithm>
#include <unordered_map>

namespace heddle::context {

namespace {

std::string printable(const HostName& name) {
  std::string text(name.begin(), std::ranges::find(name, '\0'));
  for (char& character : text)
    if (character <= ' ' || character > '~') character = '?';
  return text.empty() ? "unknown" : text;
}

} // namespace

HostName own_host_name() {
  HostName name{};
  if (::gethostname(name.data(), name.size()) != 0 && name.front() == '\0') return host_name_of("unknown");
  return name;
}

HostName host_name_of(std::string_view text) {
  HostName name{};
  std::ranges::copy(text.substr(0, name.size()), name.begin());
  return name;
}

Hosts::Hosts(std::span<const std::uint64_t> machines, std::span<const HostName> names) {
  std::unordered_map<std::uint64_t, std::uint32_t> numbers;
  std::vector<std::uint32_t> counts;
  seats_.reserve(machines.size());
  for (std::size_t rank = 0; rank < machines.size(); ++rank) {
    const auto [at, fresh] = numbers.emplace(machines[rank], static_cast<std::uint32_t>(names_.size()));
    if (fresh) {
      names_.push_back(printable(names[rank]));
      counts.push_back(0);
    }
    seats_.push_back({.machine = at->second, .place = counts[at->second]++});
  }
}

} // namespace heddle::context
