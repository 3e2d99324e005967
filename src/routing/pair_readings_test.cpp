// The listing of `pair` has come down to us damaged, without its beginning and with a name that it nowhere explains. Here it is with a
// parameter for each thing that has to be read into it; what the readings come to stands as a table in docs/routing.md. The
// moving rule itself is tested in methods_test.cpp.
#include <gmock/gmock.h>

#include <functional>

#include "routing/testing.hpp"

namespace heddle::routing {
namespace {

using testing::job_of;
using testing::shift_load;
using testing::subnet_of;

// The table before the first stage, of which the excerpt says nothing.
enum class Start : std::uint8_t {
  per_node,   // the report's other method: l mod M, M the most nodes of a leaf where that divides their number, else K
  local_node, // l mod K
  host,       // the destination host's number mod K, as without the method
  distance,   // sd mod K: the legend says rs(s,sd), so a row may have been filled by distance
  source,     // s mod K
  one,        // all by root 0: the base LIDs of the report
};
// `if (rs_tmp == rs(s,d)) rs_likely = j;`, where rs_tmp is assigned nowhere.
enum class Tmp : std::uint8_t {
  rs_likely, // the first likely-idle root is kept
  rs_new,    // or a variable of its own with the same beginning: the last is
};
// Which flows the lines after "update path counters and root switch table" are for; there are fewer closing braces than opening ones.
enum class Update : std::uint8_t {
  every_flow,
  busy,  // those whose root is in use
  moved, // those that get another root
};
struct Reading {
  Start start = Start::per_node;
  Tmp tmp = Tmp::rs_likely;
  Update update = Update::every_flow;
};
constexpr std::array kTmps{Tmp::rs_likely, Tmp::rs_new};
constexpr std::array kUpdates{Update::every_flow, Update::busy, Update::moved};

using Table = std::vector<UpPath>; // [s * nodes + d]

Table start_table(Start start, const JobHosts& job, std::uint32_t k) {
  if (start == Start::per_node) return node_table(job.leaves, k);
  const std::uint32_t n = job.nodes();
  Table table(std::size_t{n} * n, 0);
  for (std::uint32_t s = 0; s < n; ++s) {
    for (std::uint32_t d = 0; d < n; ++d) {
      const auto number = [&]() -> std::uint32_t {
        switch (start) {
          case Start::local_node: return d;
          case Start::host: return job.hosts[d];
          case Start::distance: return (d + n - s) % n;
          case Start::source: return s;
          case Start::per_node: // made above
          case Start::one: break;
        }
        return 0;
      };
      table[std::size_t{s} * n + d] = number() % k;
    }
  }
  return table;
}

// By leaf and root.
class Counter {
 public:
  Counter(const JobHosts& job, std::uint32_t k) : k_(k), counts_((std::size_t{job.leaves.back()} + 1) * k) {}
  int& operator()(SwitchIndex leaf, UpPath root) { return counts_[std::size_t{leaf} * k_ + root]; }
  void clear() { std::ranges::fill(counts_, 0); }

 private:
  std::uint32_t k_;
  std::vector<int> counts_;
};

// The listing line by line, with its own names; not the code of pair.cpp.
Table pair_by_listing(const JobHosts& job, std::uint32_t k, const Reading& reading) {
  const std::uint32_t n = job.nodes();
  Table table = start_table(reading.start, job, k);
  const auto rs = [&](std::uint32_t s, std::uint32_t d) -> UpPath& { return table[std::size_t{s} * n + d]; };
  const auto ls = [&](std::uint32_t node) { return job.leaves[node]; };
  Counter up_path_cnt(job, k), dn_path_cnt(job, k), up_path_likely(job, k), dn_path_likely(job, k);
  for (std::uint32_t sd = 1; sd < n; ++sd) {
    for (Counter* counter : {&up_path_cnt, &dn_path_cnt, &up_path_likely, &dn_path_likely}) counter->clear();
    for (std::uint32_t s = 0; s < n; ++s) {
      const std::uint32_t d = (s + sd) % n;
      if (ls(s) == ls(d)) continue;
      const bool first_leaf = ls(s) == ls(0);
      ++(first_leaf ? up_path_cnt : up_path_likely)(ls(s), rs(s, d));
      ++(first_leaf ? dn_path_cnt : dn_path_likely)(ls(d), rs(s, d));
    }
    for (std::uint32_t s = n - 1; ls(s) != ls(0); --s) {
      const std::uint32_t d = (s + sd) % n;
      if (ls(s) == ls(d)) continue;
      UpPath rs_new = rs(s, d);
      UpPath rs_likely = rs(s, d);
      const bool busy = up_path_cnt(ls(s), rs(s, d)) > 0 || dn_path_cnt(ls(d), rs(s, d)) > 0;
      for (std::uint32_t i = 1; busy && i < k; ++i) {
        const UpPath j = (rs(s, d) + k - i) % k;
        if (up_path_cnt(ls(s), j) > 0 || dn_path_cnt(ls(d), j) > 0) continue;
        const UpPath rs_tmp = reading.tmp == Tmp::rs_likely ? rs_likely : rs_new;
        if (rs_tmp == rs(s, d)) rs_likely = j;
        if (up_path_likely(ls(s), j) > 0 || dn_path_likely(ls(d), j) > 0) continue;
        rs_new = j;
        break;
      }
      if (rs_new == rs(s, d)) rs_new = rs_likely;
      if (reading.update == Update::busy && !busy) continue;
      if (reading.update == Update::moved && rs_new == rs(s, d)) continue;
      --up_path_likely(ls(s), rs(s, d));
      --dn_path_likely(ls(d), rs(s, d));
      rs(s, d) = rs_new;
      ++up_path_cnt(ls(s), rs_new);
      ++dn_path_cnt(ls(d), rs_new);
    }
  }
  return table;
}

// Whether any stage has two flows on one link, from leaves and roots alone.
bool has_hot_spot(const JobHosts& job, std::uint32_t k, const Table& table) {
  const std::uint32_t n = job.nodes();
  Counter up(job, k), down(job, k);
  for (std::uint32_t sd = 1; sd < n; ++sd) {
    up.clear();
    down.clear();
    for (std::uint32_t s = 0; s < n; ++s) {
      const std::uint32_t d = (s + sd) % n;
      if (job.same_leaf(s, d)) continue;
      const UpPath root = table[std::size_t{s} * n + d];
      if (++up(job.leaves[s], root) > 1 || ++down(job.leaves[d], root) > 1) return true;
    }
  }
  return false;
}

// As `heddle route sweep --seed 1` and `heddle reproduce fat-tree` draw them.
std::vector<JobHosts> random_jobs(const Subnet& subnet, std::uint32_t nodes, int count) {
  const std::vector<HostIndex> all = whole_job(subnet.fabric).hosts;
  std::mt19937_64 dice(1);
  std::vector<JobHosts> jobs;
  for (int set = 0; set < count; ++set) {
    std::vector<HostIndex> hosts = all;
    for (std::uint32_t i = 0; i < nodes; ++i) std::swap(hosts[i], hosts[i + dice() % (hosts.size() - i)]);
    hosts.resize(nodes);
    jobs.push_back(make_job(subnet.fabric, hosts).value());
  }
  return jobs;
}

// All sets of that many hosts of a K-ary-2-tree.
void for_all_jobs(const Subnet& subnet, std::uint32_t nodes, const std::function<void(const JobHosts&)>& visit) {
  const auto hosts = static_cast<std::uint32_t>(whole_job(subnet.fabric).nodes());
  std::vector<HostIndex> chosen(nodes);
  std::iota(chosen.begin(), chosen.end(), 0U);
  for (;;) {
    visit(make_job(subnet.fabric, chosen).value());
    std::uint32_t at = nodes;
    while (at > 0 && chosen[at - 1] == hosts - nodes + at - 1) --at;
    if (at == 0) return;
    std::iota(chosen.begin() + (at - 1), chosen.end(), chosen[at - 1] + 1);
  }
}

std::string k_ary(std::uint32_t k) {
  return std::to_string(k) + "-ary-2-tree";
}

bool has_hot_spot(const JobHosts& job, std::uint32_t k, const Reading& reading) {
  return has_hot_spot(job, k, pair_by_listing(job, k, reading));
}

// Of 1,000 random sets of 16 of 30 nodes, those with a hot spot: a row of the table in docs/routing.md.
using Row = std::array<int, kTmps.size() * kUpdates.size()>;
Row hot_sets(Start start) {
  const Subnet subnet = subnet_of("6-ary-2-tree:30");
  Row row{};
  for (const JobHosts& job : random_jobs(subnet, 16, 1000)) {
    std::size_t at = 0;
    for (const Tmp tmp : kTmps)
      for (const Update update : kUpdates) row[at++] += has_hot_spot(job, 6, {start, tmp, update}) ? 1 : 0;
  }
  return row;
}

TEST(PairReadings, FromThePerNodeTableLeaveFewestHotSpotsOfThoseByDestination) {
  EXPECT_EQ(hot_sets(Start::per_node), (Row{53, 317, 317, 53, 317, 317}));
  EXPECT_EQ(hot_sets(Start::local_node), (Row{53, 317, 317, 53, 317, 317}));
  EXPECT_EQ(hot_sets(Start::host), (Row{614, 997, 997, 614, 997, 997}));
}
TEST(PairReadings, FromATableByDistanceOrOfOneRootLeaveThemNearlyAlways) {
  EXPECT_EQ(hot_sets(Start::distance), (Row{953, 1000, 1000, 953, 1000, 1000}));
  EXPECT_EQ(hot_sets(Start::one), (Row{953, 1000, 1000, 953, 1000, 1000}));
}
TEST(PairReadings, FromATableBySourceLeaveSomeMore) {
  EXPECT_EQ(hot_sets(Start::source), (Row{71, 160, 160, 71, 203, 203}));
}

TEST(PairReadings, IncludeTheLibrarys) {
  const Subnet subnet = subnet_of("6-ary-2-tree:30");
  for (const std::uint32_t nodes : {3U, 10U, 16U, 25U, 30U})
    for (const JobHosts& job : random_jobs(subnet, nodes, 50)) {
      const Table table = pair_table(job.leaves, 6);
      ASSERT_EQ(pair_by_listing(job, 6, {}), table);
      ASSERT_EQ(has_hot_spot(job, 6, table), !shift_load(subnet, job, Method::pair).hot_spots.empty())
          << "by its tables";
    }
}

// All jobs of up to four nodes are free; of those with five, the eight with one node on the job's first leaf and two on each other.
TEST(PairReadings, HaveTheirSmallestHotSpotWithFiveNodes) {
  for (const std::uint32_t k : {2U, 3U, 4U}) {
    const Subnet subnet = subnet_of(k_ary(k));
    for (std::uint32_t nodes = 1; nodes <= 4; ++nodes)
      for_all_jobs(subnet, nodes, [&](const JobHosts& job) {
        ASSERT_FALSE(has_hot_spot(job, k, pair_table(job.leaves, k)))
            << k << " " << ::testing::PrintToString(job.hosts);
      });
  }
  int hot = 0;
  const Subnet subnet = subnet_of(k_ary(2));
  for_all_jobs(subnet, 5, [&](const JobHosts& job) {
    const bool one_two_two = job.leaves[1] != job.leaves[0] && job.same_leaf(1, 2) && job.same_leaf(3, 4);
    EXPECT_EQ(has_hot_spot(job, 2, pair_table(job.leaves, 2)), one_two_two) << ::testing::PrintToString(job.hosts);
    hot += one_two_two ? 1 : 0;
  });
  EXPECT_EQ(hot, 8);
}

// Which readings have the hot spot that docs/routing.md goes through: nodes 0, 2, 3, 4 and 5 of a 2-ary-2-tree. Those that begin with
// the host's number, the distance or one root have one with four nodes instead.
TEST(PairReadings, ShareTheSmallestHotSpotByStartingTable) {
  const Subnet subnet = subnet_of(k_ary(2));
  const JobHosts job = job_of(subnet, "0,2-5");
  for (const Tmp tmp : kTmps)
    for (const Update update : kUpdates) {
      const auto hot = [&](Start start) { return has_hot_spot(job, 2, {start, tmp, update}); };
      EXPECT_TRUE(hot(Start::per_node));
      EXPECT_TRUE(hot(Start::local_node));
      for (const Start start : {Start::host, Start::distance, Start::one})
        EXPECT_EQ(hot(start), update != Update::every_flow) << static_cast<int>(start);
      EXPECT_FALSE(hot(Start::source));
    }
  for (const Start start : {Start::host, Start::distance, Start::one}) {
    int four = 0;
    for_all_jobs(subnet, 4, [&](const JobHosts& each) { four += has_hot_spot(each, 2, {.start = start}) ? 1 : 0; });
    EXPECT_EQ(four, start == Start::host ? 8 : 22);
  }
}

// By source, no job on two roots has one; this one on three has.
TEST(PairReadings, FromATableBySourceHaveTheirsOnThreeRoots) {
  const Subnet two = subnet_of(k_ary(2));
  const Subnet three = subnet_of(k_ary(3));
  for (const Tmp tmp : kTmps)
    for (const Update update : kUpdates) {
      const Reading reading{Start::source, tmp, update};
      for (std::uint32_t nodes = 1; nodes <= 8; ++nodes)
        for_all_jobs(two, nodes, [&](const JobHosts& job) { ASSERT_FALSE(has_hot_spot(job, 2, reading)); });
      EXPECT_TRUE(has_hot_spot(job_of(three, "0,3-9"), 3, reading));
    }
}

} // namespace
} // namespace heddle::routing
