#include "job/join_log.hpp"

#include "base/rank_list.hpp"
#include "job/registry.hpp"

#include <unistd.h>

#include <algorithm>

namespace heddle::job {
namespace {

std::string sentence(const Service& service) {
  std::string text(service.translator);
  if (service.peers.empty())
    text += " serves no peer";
  else
    text += std::string(" serves rank") + (service.peers.size() == 1 ? " " : "s ") + base::print_ranks(service.peers);
  return service.remark.empty() ? text : text + " (" + service.remark + ")";
}

} // namespace

void log_join(const base::Log& log, const Joined& joined, const base::ResolvedOptions& options) {
  if (!log.enabled(LogLevel::info)) return;
  log.info("joined as rank " + std::to_string(joined.rank) + " of " + std::to_string(joined.size) + ", process " +
           std::to_string(::getpid()) + " on " + joined.host);
  for (const Service& service : joined.services) log.info(sentence(service));
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

std::string announcement(const Joined& joined) {
  std::string text = std::to_string(joined.size) + (joined.size == 1 ? " process" : " processes");
  for (const Service& service : joined.services)
    if (!service.peers.empty()) text += "; " + sentence(service);
  return text;
}

} // namespace heddle::job
