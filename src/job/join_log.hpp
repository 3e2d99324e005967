// What joining has decided, told at log level info: which translator serves whom, why another does not, which options are
// set and by what. Every option, also those at their defaults, at debug.
#pragma once

#include "base/log.hpp"
#include "base/options.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::job {

// A translator in use: the peers that it serves, and what it says of itself.
struct Service {
  std::string_view translator;
  std::vector<std::uint32_t> peers;
  std::string remark;
};

struct Joined {
  std::uint32_t rank = 0;
  std::uint32_t size = 1;
  std::string host;              // as Context::host_name says it
  std::vector<Service> services; // in order of preference
};

// One line for people: how many processes there are, and which translator serves whom, as this one sees it.
std::string announcement(const Joined& joined);
void log_join(const base::Log& log, const Joined& joined, const base::ResolvedOptions& options);

} // namespace heddle::job
