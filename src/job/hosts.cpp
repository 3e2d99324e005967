#include "job/hosts.hpp"

#include <unistd.h>

#include <array>
#include <unordered_map>

namespace heddle::job {

namespace {

std::string printable(const std::string& name) {
  std::string text = name.substr(0, kLongestHostName);
  for (char& character : text)
    if (character <= ' ' || character > '~') character = '?';
  return text.empty() ? "unknown" : text;
}

} // namespace

std::string own_host_name(std::string_view told) {
  if (told.find_first_not_of("0123456789") != std::string_view::npos) return printable(std::string(told));
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "unknown";
  return printable(name.data());
}

Hosts::Hosts(std::span<const std::uint64_t> machines, std::span<const std::string> names) {
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

} // namespace heddle::job
