#include "routing/job_hosts.hpp"

#include <algorithm>
#include <charconv>

namespace heddle::routing {
namespace {

constexpr std::size_t kMostNodes = 49'151; // as many as there are unicast LIDs

Error bad_nodes(std::string fact) {
  return {.code = ErrorCode::bad_argument,
          .fact = std::move(fact),
          .remedy = "write nodes and ranges, such as 0-5,9,12-14"};
}

Error not_a_part(std::string_view part, std::string_view why) {
  return bad_nodes("node list: '" + std::string(part.substr(0, 40)) + "' " + std::string(why));
}

} // namespace

Result<std::vector<HostIndex>> parse_node_list(std::string_view text) {
  std::vector<HostIndex> nodes;
  while (true) {
    const std::string_view part = text.substr(0, text.find(','));
    const char* const last = part.data() + part.size();
    HostIndex first = 0;
    auto [end, status] = std::from_chars(part.data(), last, first);
    HostIndex final = first;
    if (status == std::errc{} && end != last && *end == '-') {
      const auto second = std::from_chars(end + 1, last, final);
      end = second.ptr;
      status = second.ec;
    }
    if (status != std::errc{} || end != last) return std::unexpected(not_a_part(part, "is neither a node nor a range"));
    if (final < first) return std::unexpected(not_a_part(part, "runs backwards"));
    if (std::size_t{final} - first + nodes.size() >= kMostNodes)
      return std::unexpected(not_a_part(part, "makes more than " + std::to_string(kMostNodes) + " nodes"));
    for (std::size_t node = first; node <= final; ++node) nodes.push_back(static_cast<HostIndex>(node));
    if (part.size() == text.size()) return nodes;
    text.remove_prefix(part.size() + 1);
  }
}

Result<JobHosts> make_job(const Fabric& fabric, std::vector<HostIndex> hosts) {
  std::ranges::sort(hosts);
  JobHosts job;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    const HostIndex host = hosts[i];
    if (host >= fabric.hosts.size())
      return std::unexpected(bad_nodes("node " + std::to_string(host) +
                                       " is outside the fabric, which has nodes 0 to " +
                                       std::to_string(fabric.hosts.size() - 1)));
    if (i > 0 && hosts[i - 1] == host)
      return std::unexpected(bad_nodes("node " + std::to_string(host) + " is listed twice"));
    if (!fabric.hosts[host].present) return std::unexpected(bad_nodes("node " + std::to_string(host) + " has failed"));
    job.leaves.push_back(fabric.hosts[host].leaf);
  }
  job.hosts = std::move(hosts);
  return job;
}

JobHosts whole_job(const Fabric& fabric) {
  JobHosts job;
  for (HostIndex host = 0; host < fabric.hosts.size(); ++host) {
    if (!fabric.hosts[host].present) continue;
    job.hosts.push_back(host);
    job.leaves.push_back(fabric.hosts[host].leaf);
  }
  return job;
}

} // namespace heddle::routing
