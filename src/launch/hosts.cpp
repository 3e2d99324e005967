#include "launch/hosts.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>
#include <sstream>

#include "base/number_text.hpp"
#include "base/text_file.hpp"

namespace heddle::launch {

namespace {

constexpr std::uint32_t kMostOnOne = 65536;
constexpr const char* kExpected = "expected HOST or HOST:PROCESSES, such as node1:4 or [fd00::1]:4";

std::unexpected<Error> no_host(std::string_view text) {
  return std::unexpected(Error{.code = ErrorCode::bad_argument,
                               .fact = "'" + std::string(text.substr(0, 80)) + "' names no host",
                               .remedy = kExpected});
}

std::optional<std::uint32_t> count_in(std::string_view text) {
  const auto count = base::number_in<std::uint32_t>(text);
  return count && *count >= 1 && *count <= kMostOnOne ? count : std::nullopt;
}

// A name that begins with a dash would be an option of the remote shell.
bool is_name(std::string_view text) {
  constexpr std::string_view kOthers = ".-_@:%";
  return !text.empty() && text.size() <= 255 && text.front() != '-' && std::ranges::all_of(text, [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || kOthers.contains(c);
  });
}

Result<Host> parse_host(std::string_view text) {
  std::string_view name = text;
  std::string_view count = "1";
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) return no_host(text);
    name = text.substr(1, end - 1);
    if (end + 1 < text.size()) {
      if (text[end + 1] != ':') return no_host(text);
      count = text.substr(end + 2);
    }
  } else if (const std::size_t colon = text.find(':'); colon != std::string_view::npos) {
    name = text.substr(0, colon);
    count = text.substr(colon + 1);
  }
  const auto processes = count_in(count);
  if (!is_name(name) || !processes) return no_host(text);
  return Host{.name = std::string(name), .processes = *processes};
}

} // namespace

bool Host::is_here() const {
  std::array<char, 256> own{};
  return name == "localhost" || (::gethostname(own.data(), own.size() - 1) == 0 && name == own.data());
}

Result<std::vector<Host>> parse_hosts(std::string_view text) {
  std::vector<Host> hosts;
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t comma = std::min(text.find(',', from), text.size());
    auto host = parse_host(text.substr(from, comma - from));
    if (!host) return std::unexpected(std::move(host.error()));
    hosts.push_back(std::move(*host));
    from = comma + 1;
  }
  return hosts;
}

Result<std::vector<Host>> read_host_file(const std::string& path) {
  const auto text = base::read_text_file(path, {.what = "host file", .most = 1 << 20, .pipes = true});
  if (!text) return std::unexpected(text.error());
  std::vector<Host> hosts;
  std::istringstream lines(*text);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    std::istringstream words(line.substr(0, line.find('#')));
    std::string name;
    std::string slots;
    std::string more;
    if (!(words >> name)) continue;
    words >> slots >> more;
    constexpr std::string_view kSlots = "slots=";
    auto host = parse_host(name);
    if (host && !slots.empty()) {
      const auto count =
          slots.starts_with(kSlots) ? count_in(std::string_view(slots).substr(kSlots.size())) : std::nullopt;
      if (count && more.empty())
        host->processes = *count;
      else
        host = no_host(line);
    }
    if (!host) {
      host.error().fact = path + ", line " + std::to_string(number) + ": " + host.error().fact;
      return std::unexpected(std::move(host.error()));
    }
    hosts.push_back(std::move(*host));
  }
  if (hosts.empty())
    return std::unexpected(
        Error{.code = ErrorCode::bad_argument, .fact = path + " names no host", .remedy = kExpected});
  return hosts;
}

std::uint32_t processes_of(const std::vector<Host>& hosts) {
  std::uint64_t sum = 0;
  for (const Host& host : hosts) sum += host.processes;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(sum, UINT32_MAX));
}

} // namespace heddle::launch
