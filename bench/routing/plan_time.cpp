// Times the planning of one tree: plan_time TREE REPETITIONS. One JSON object on stdout.
//   tables_ms     LIDs and forwarding tables of the whole tree
//   colouring_ms  the path of every ordered pair of a job on all hosts
//   check_ms      following every path of every stage through the tables, link by link
//   free, sets    random node sets without hot spots, of those tried
#include "routing/load.hpp"
#include "routing/methods.hpp"
#include "routing/tree.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>

using namespace heddle::routing;

namespace {

using Clock = std::chrono::steady_clock;

template <typename Work>
double milliseconds(Work&& work) {
  const auto begin = Clock::now();
  work();
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

bool is_free(const Subnet& subnet, const JobHosts& job) {
  const Pattern pattern = Pattern::shift(job.nodes());
  const Selection selection = select_colouring(subnet, job, pattern);
  const auto report = check_load(subnet, job, selection, pattern);
  return report && report->hot_spots.empty();
}

} // namespace

int main(int count, char** arguments) {
  const auto shape = parse_tree(count > 1 ? arguments[1] : "");
  const int repetitions = count > 2 ? std::atoi(arguments[2]) : 0;
  if (!shape || repetitions < 1) {
    std::fputs("usage: plan_time TREE REPETITIONS\n", stderr);
    return 2;
  }
  const Subnet subnet = make_subnet(build_tree(*shape)).value();
  const JobHosts job = whole_job(subnet.fabric);
  const Pattern pattern = Pattern::shift(job.nodes());
  std::vector<double> tables;
  std::vector<double> colouring;
  std::vector<double> check;
  bool whole_is_free = true;
  for (int i = 0; i < repetitions; ++i) {
    Selection selection(0);
    tables.push_back(milliseconds([&] { (void)make_subnet(subnet.fabric); }));
    colouring.push_back(milliseconds([&] { selection = select_colouring(subnet, job, pattern); }));
    check.push_back(
        milliseconds([&] { whole_is_free = check_load(subnet, job, selection, pattern)->hot_spots.empty(); }));
  }
  const int sets = std::max(3, static_cast<int>(60'000 / (job.nodes() * job.nodes() / 100 + 1)));
  std::mt19937 dice(1);
  int free = 0;
  for (int set = 0; set < sets; ++set) {
    std::vector<HostIndex> hosts = job.hosts;
    std::ranges::shuffle(hosts, dice);
    hosts.resize(2 + dice() % (hosts.size() - 1));
    free += is_free(subnet, make_job(subnet.fabric, hosts).value()) ? 1 : 0;
  }
  std::printf(
      "{\"tables_ms\": %.3f, \"colouring_ms\": %.3f, \"check_ms\": %.3f, \"whole_is_free\": %s, \"free\": %d, "
      "\"sets\": %d, \"limit\": \"%s\"}\n",
      median(tables), median(colouring), median(check), whole_is_free ? "true" : "false", free, sets,
      subnet.lids.limit.c_str());
  return 0;
}
