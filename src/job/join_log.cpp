#include "job/join_log.hpp"

#include "base/rank_list.hpp"
#include "job/registry.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>

namespace heddle::job {
namespace {

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown";
}

void log_service(const base::Log& log, const Service& service) {
  const std::string name(service.translator);
  const std::string remark = service.remark.empty() ? "" : ": " + service.remark;
  if (service.peers.empty())
    log.info(name + " serves no peer" + remark);
  else
    log.info(name + " serves rank" + (service.peers.size() == 1 ? " " : "s ") + base::print_ranks(service.peers) +
             remark);
}

} // namespace

void log_join(const base::Log& log, const Joined& joined, const base::ResolvedOptions& options) {
  if (!log.enabled(LogLevel::info)) return;
  log.info("joined as rank " + std::to_string(joined.rank) + " of " + std::to_string(joined.size) + ", process " +
           std::to_string(::getpid()) + " on " + host_name());
  for (const Service& service : joined.services) log_service(log, service);
  for (const translators::Entry& entry : registry())
    if (std::ranges::find(joined.services, entry.name, &Service::translator) == joined.services.end())
      log.info(std::string(entry.name) + " is not used: option translators does not name it");
  for (const base::ResolvedOption& option : options.list) {
    const bool set = !option.origin.starts_with("default");
    log.write(
        set ? LogLevel::info : LogLevel::debug,
        "option " + option.name + " is " + (option.value.empty() ? "empty" : option.value) + ", by " + option.origin);
  }
}

} // namespace heddle::job
