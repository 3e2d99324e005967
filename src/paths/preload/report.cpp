#include "paths/preload/report.hpp"

#include "paths/preload/next.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace heddle::paths {
namespace {

using Count = std::atomic<std::uint64_t>;

Count connections[4]; // by Found
Count addresses[4];
Count past_verbs;

bool speaks;
pid_t process;
struct stat error_stream;
bool has_error_stream;

// The variables in which launchers tell a process its rank.
constexpr const char* kRanks[] = {"PMIX_RANK",           "OMPI_COMM_WORLD_RANK", "PMI_RANK",    "PMI_ID",
                                  "MV2_COMM_WORLD_RANK", "HEDDLE_RANK",          "SLURM_PROCID"};

bool is_first() {
  for (const char* name : kRanks)
    if (const char* rank = std::getenv(name); rank != nullptr) return std::strcmp(rank, "0") == 0;
  return true;
}

// A program may have closed standard error, and opened something else in its place.
void write_line(const char* text, int length) {
  struct stat now{};
  if (length <= 0 || !has_error_stream || ::fstat(STDERR_FILENO, &now) != 0 || now.st_dev != error_stream.st_dev ||
      now.st_ino != error_stream.st_ino)
    return;
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text, static_cast<std::size_t>(length));
}

std::uint64_t of(const Count (&counts)[4], Found found) {
  return counts[static_cast<unsigned>(found)].load(std::memory_order_relaxed);
}

std::uint64_t both(Found found) {
  return of(connections, found) + of(addresses, found);
}

void add(Count& count) {
  count.fetch_add(1, std::memory_order_relaxed);
}

// Appends to a line, as much as fits.
class Line {
 public:
  template <typename... Values>
  void add(const char* format, Values... values) {
    const int room = static_cast<int>(sizeof text_) - length_ - 1; // for the end of the line
    if (room <= 0) return;
    const int wanted = std::snprintf(text_ + length_, static_cast<std::size_t>(room), format, values...);
    length_ += wanted < room ? wanted : room - 1;
  }
  void send() {
    text_[length_] = '\n';
    write_line(text_, length_ + 1);
  }

 private:
  char text_[5000] = {};
  int length_ = 0;
};

using Number = unsigned long long;

} // namespace

void begin_report() {
  const char* wanted = std::getenv("HEDDLE_PATHS_REPORT");
  const bool all = wanted != nullptr && std::strcmp(wanted, "all") == 0;
  const bool none = wanted != nullptr && std::strcmp(wanted, "none") == 0;
  speaks = all || (!none && is_first());
  process = ::getpid();
  has_error_stream = ::fstat(STDERR_FILENO, &error_stream) == 0;
}

void count_connection(Found found) {
  add(connections[static_cast<unsigned>(found)]);
}

void count_address(Found found) {
  add(addresses[static_cast<unsigned>(found)]);
}

void count_past_verbs() {
  add(past_verbs);
}

void complain(const char* first, const char* second, const char* third) {
  if (!speaks) return;
  Line line;
  line.add("heddle paths: %s%s%s; nothing is planned", first, second, third);
  line.send();
}

void end_report() {
  if (!speaks || ::getpid() != process) return; // a child that was forked has its parent's counts
  const std::uint64_t past = past_verbs.load(std::memory_order_relaxed);
  std::uint64_t all = past;
  for (unsigned i = 0; i < 4; ++i) all += both(static_cast<Found>(i));
  if (all == 0 && !next::verbs_are_loaded()) return;
  Line line;
  line.add("heddle paths: %llu connections and %llu address handles planned",
           static_cast<Number>(of(connections, Found::planned)), static_cast<Number>(of(addresses, Found::planned)));
  if (const auto count = both(Found::unknown); count > 0)
    line.add("; %llu left alone, to LIDs that the plan does not know", static_cast<Number>(count));
  if (const auto count = both(Found::foreign_port); count > 0)
    line.add("; %llu left alone, from ports that the plan does not know", static_cast<Number>(count));
  if (const auto count = both(Found::no_lid); count > 0)
    line.add("; %llu left alone, by Ethernet or to groups", static_cast<Number>(count));
  if (past > 0)
    line.add("; %llu past libibverbs (DEVX), which cannot be planned: set UCX_IB_MLX5_DEVX=n",
             static_cast<Number>(past));
  if (all == 0) line.add("%s", ": libibverbs is loaded, and no call to connect came by");
  line.send();
}

} // namespace heddle::paths
