// MPI programs in turns on their MPI's own transport and over Heddle, as the report compared MPICH over its library with the makers' MPIs. These are
// other programs on another machine: beside the report's changes stand ours, and none of them is a prediction.
#include "mpi_compare.hpp"
#include "mpi_run.hpp"
#include "reproduce.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace heddle::tool {
namespace {

namespace fs = std::filesystem;

struct MpiProgram {
  std::string name;
  std::vector<std::string> command; // without mpiexec
  unsigned processes = 0;
  bool in_average = true; // as the report's were of NAS programs
  std::string missing;    // why it cannot be run, where it cannot
};

// For what hpcc and NetPIPE read and write; gone with the object.
class Scratch {
 public:
  Scratch() {
    const char* folder = std::getenv("TMPDIR");
    path_ = (fs::path(folder != nullptr ? folder : "/tmp") / "heddle-reproduce-XXXXXX").string();
    made_ = ::mkdtemp(path_.data()) != nullptr;
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() {
    std::error_code error;
    if (made_) fs::remove_all(path_, error);
  }
  [[nodiscard]] bool made() const { return made_; }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
  bool made_ = false;
};

bool is_program(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error) && ::access(path.c_str(), X_OK) == 0;
}

// The first of the names that PATH has; empty where it has none.
std::string find_program(std::initializer_list<const char*> names) {
  const char* path = std::getenv("PATH");
  for (const char* name : names) {
    std::istringstream folders(path != nullptr ? path : "");
    for (std::string folder; std::getline(folders, folder, ':');)
      if (is_program(fs::path(folder) / name)) return (fs::path(folder) / name).string();
  }
  return "";
}

// Of cg.A.4 the 4; of a name that is not NAME.CLASS.PROCESSES what was asked for.
unsigned processes_of(const std::string& name, unsigned otherwise) {
  const std::size_t last = name.rfind('.');
  const bool has_class = last != std::string::npos && last >= 2 && name[last - 2] == '.';
  unsigned count = 0;
  if (!has_class) return otherwise;
  const char* const end = name.data() + name.size();
  const auto read = std::from_chars(name.data() + last + 1, end, count);
  return read.ec == std::errc{} && read.ptr == end && count > 0 ? count : otherwise;
}

Result<std::vector<MpiProgram>> programs_in(const MpiOptions& options) {
  std::error_code error;
  std::vector<MpiProgram> programs;
  for (const auto& entry : fs::directory_iterator(options.programs, error)) {
    const std::string name = entry.path().filename().string();
    if (is_program(entry.path()))
      programs.push_back({.name = name,
                          .command = {fs::absolute(entry.path(), error).string()},
                          .processes = processes_of(name, options.processes),
                          .in_average = true,
                          .missing = {}});
  }
  if (programs.empty())
    return std::unexpected(Error{
        .code = ErrorCode::bad_argument,
        .fact = fmt::format("--programs: {}: {}", options.programs, error ? error.message() : "no program is there"),
        .remedy = "name a folder of MPI programs, such as bin of the NAS Parallel Benchmarks"});
  std::ranges::sort(programs, {}, &MpiProgram::name);
  return programs;
}

// The file that hpcc wants to find where it runs: HPL of a size that takes a second, all else by default.
std::string hpcc_input(unsigned processes) {
  return fmt::format(
      "HPLinpack benchmark input file\n\nHPL.out\n8\n1\n1000 Ns\n1\n80 NBs\n0\n1\n1 Ps\n{} "
      "Qs\n16.0\n1\n2\n1\n4\n1\n2\n1\n1\n"
      "1\n1\n1\n1\n2\n64\n0\n0\n1\n8\n\n0\n0\n0\n0\n",
      processes);
}

std::vector<MpiProgram> known_programs(const MpiOptions& options, const std::string& scratch) {
  std::vector<MpiProgram> programs;
  const auto kernels = find_folder("kernels");
  for (const char* name : {"ep", "is", "cg", "mg", "ft", "lu"}) {
    const std::string path = kernels.value_or("") + "/" + name;
    programs.push_back(
        {.name = name,
         .command = {path, options.size},
         .processes = options.processes,
         .in_average = true,
         .missing = is_program(path) ? "" : "it was not built (install libopenmpi-dev and build again)"});
  }
  const std::string hpcc = find_program({"hpcc"});
  std::ofstream(scratch + "/hpccinf.txt") << hpcc_input(options.processes);
  programs.push_back({.name = "hpcc",
                      .command = {hpcc},
                      .processes = options.processes,
                      .in_average = false,
                      .missing = hpcc.empty() ? "it is not installed (Debian: hpcc)" : ""});
  const std::string netpipe = find_program({"NPopenmpi", "NPmpi"});
  programs.push_back(
      {.name = "netpipe",
       .command = {netpipe, "-u", "4194304", "-n", "100"}, // without a count it runs for a time of its own
       .processes = 2,
       .in_average = false,
       .missing = netpipe.empty() ? "it is not installed (Debian: netpipe-openmpi)" : ""});
  return programs;
}

double change_of(double ratio) {
  return 100 * (ratio - 1);
}

void add_change(Reproduction& all, std::string id, std::optional<double> report, double ours) {
  all.figures.push_back({.id = std::move(id),
                         .report = report,
                         .ours = ours,
                         .unit = "%",
                         .kind = Kind::measured,
                         .tolerance = kTolerance,
                         .is_change = true});
}

// A program that waits less than this part of its time is left out of the averages of waiting: what it waits is chance.
constexpr double kLeastWaiting = 0.01;

void add_changes(Reproduction& all, const std::vector<Compared>& averaged) {
  const auto changes = [&](double Timed::* member) {
    std::vector<double> values;
    for (const Compared& each : averaged)
      if (median_of(each.own, member) >= kLeastWaiting * median_of(each.own, &Timed::run))
        values.push_back(change_of(ratio_of(each, member)));
    return values;
  };
  // 001, 5.2: on InfiniBand against MVAPICH2 2.0, on Tofu against Fujitsu's MPI, which could not be made to tell how long it waits.
  struct OfReport {
    const char* name;
    double Timed::* member;
    double average;
    double largest;
  };
  for (const OfReport& report :
       {OfReport{"run/infiniband", &Timed::run, -0.3094, 1.995}, OfReport{"run/tofu", &Timed::run, 15.05, 34.74},
        OfReport{"waiting/infiniband", &Timed::waiting, -0.1125, 16.25}}) {
    const std::vector<double> values = changes(report.member);
    if (values.empty()) continue;
    double sum = 0;
    for (const double value : values) sum += value;
    add_change(all, fmt::format("mpi/average/{}", report.name), report.average,
               sum / static_cast<double>(values.size()));
    add_change(all, fmt::format("mpi/largest/{}", report.name), report.largest, std::ranges::max(values));
  }
}

Result<void> add_programs(Reproduction& all, const Run& run) {
  const Scratch scratch;
  if (!scratch.made()) return std::unexpected(no_register());
  const std::string mpiexec = find_program({"mpiexec.openmpi", "mpiexec"});
  if (mpiexec.empty())
    return std::unexpected(Error{.code = ErrorCode::bad_argument,
                                 .fact = "there is no mpiexec to run MPI programs with",
                                 .remedy = "install openmpi-bin"});
  const bool own_programs = !run.mpi.programs.empty();
  auto programs = own_programs ? programs_in(run.mpi) : known_programs(run.mpi, scratch.path());
  if (!programs) return std::unexpected(programs.error());
  const bool for_all = run.wants("mpi/average") || run.wants("mpi/largest");
  std::vector<Compared> averaged;
  for (const MpiProgram& program : *programs) {
    const std::string id = "mpi/" + program.name;
    if (!run.wants(id) && !(for_all && program.in_average)) continue;
    if (!program.missing.empty()) {
      all.not_run.push_back({.id = id, .why = program.missing, .has_failed = false});
      continue;
    }
    std::vector<std::string> command{mpiexec, "--oversubscribe", "-n", std::to_string(program.processes)};
    command.insert(command.end(), program.command.begin(), program.command.end());
    const auto compared = compare({.name = program.name,
                                   .command = std::move(command),
                                   .via = {},
                                   .folder = own_programs ? std::string() : scratch.path(),
                                   .rounds = run.mpi.rounds},
                                  [&](std::string_view what) { run.at(what); });
    if (!compared && asked_to_end() != 0) return std::unexpected(compared.error());
    if (!compared) {
      all.not_run.push_back({.id = id, .why = compared.error().message(), .has_failed = true});
      continue;
    }
    add_change(all, id + "/run", {}, change_of(ratio_of(*compared, &Timed::run)));
    add_change(all, id + "/waiting", {}, change_of(ratio_of(*compared, &Timed::waiting)));
    all.compared.push_back(*compared);
    if (program.in_average) averaged.push_back(*compared);
  }
  add_changes(all, averaged);
  return {};
}

} // namespace

std::vector<Part> mpi_parts() {
  return {{{"mpi"}, "MPI programs on their own transport and over Heddle", {}, add_programs}};
}

} // namespace heddle::tool
