// heddle mpi: runs an MPI program over Heddle, by way of libfabric and libheddle-fi.so. It sets what Open MPI, or an MPICH built on libfabric, needs
// in the environment, and afterwards looks whether the program did use Heddle. --compare: in turns with the MPI's own transport (mpi_compare.hpp).
#include "mpi_compare.hpp"
#include "mpi_run.hpp"
#include "progress.hpp"
#include "route.hpp"
#include "subcommands.hpp"

#include <fmt/core.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace heddle::tool {
namespace {

struct MpiArguments {
  std::string via;
  std::string svg;
  unsigned rounds = 0;
  bool print_env = false;
  bool json = false;
};

// What there is to say of a command that has ended with that status, and of whose processes so many have opened an endpoint. Nothing: all is well.
std::string complaint(int status, std::size_t endpoints, std::optional<std::size_t> processes) {
  if (endpoints > 0 && processes && endpoints < *processes && status == 0)
    return fmt::format(
        "of {} processes only {} used Heddle: the others are no MPI programs, or chose another transport", *processes,
        endpoints);
  if (endpoints > 0) return {};
  const std::string none = "no process here has used Heddle: ";
  if (status == 0)
    return none +
           "the program is no MPI program, or its MPI is not built on libfabric (ldd shows libfabric.so; Debian's "
           "Open MPI is, its MPICH is not)";
  if (status == 126 || status == 127) return none + "the command did not start (see above)";
  return none + fmt::format("the command ended with status {} before any of them opened an endpoint", status);
}

int run_mpi(const MpiArguments& arguments, const std::vector<std::string>& command) {
  const auto provider = find_provider();
  if (!provider)
    return failed("mpi", {.code = ErrorCode::bad_argument,
                          .fact = "libheddle-fi.so is not beside this program (lib/libfabric)",
                          .remedy = "install libfabric-dev and build again"});
  Variables variables = variables_for(arguments.via, *provider);
  if (arguments.print_env) {
    pass_on(variables, {});
    for (const auto& [name, value] : variables) fmt::print("export {}={}\n", name, quoted_for_shell(value));
    return 0;
  }
  if (command.empty()) return bad_usage("mpi", "a command is required: -- mpiexec -n N PROGRAM");
  const Register used;
  if (!used.made()) return failed("mpi", no_register());
  variables.emplace_back("FI_HEDDLE_REGISTER", used.path());
  pass_on(variables, command);
  const int status = run_command({.command = command, .variables = variables, .output = {}, .folder = {}});
  const std::string said = complaint(status, used.text().size(), processes_of(command));
  if (said.empty()) return status;
  fmt::print(stderr, "heddle mpi: {}\n", said);
  return status == 0 ? 1 : status;
}

int run_comparison(const MpiArguments& arguments, const std::vector<std::string>& command) {
  if (arguments.print_env) return bad_usage("mpi", "--print-env starts nothing that could be compared");
  if (command.empty()) return bad_usage("mpi", "a command is required: -- mpiexec -n N PROGRAM");
  std::string line;
  for (const std::string& word : command) line += (line.empty() ? "" : " ") + word;
  Progress progress("heddle mpi");
  const auto compared =
      compare({.name = line, .command = command, .via = arguments.via, .folder = {}, .rounds = arguments.rounds},
              [&](std::string_view what) { progress.at(what); });
  progress.wipe();
  if (!compared) return failed("mpi", compared.error());
  fmt::print("{}", arguments.json ? to_json(*compared).dump() + "\n" : to_text(*compared));
  if (arguments.svg.empty()) return 0;
  Compared drawn = *compared;
  drawn.name = fmt::format("{} processes", compared->own.front().processes);
  const auto written = write_whole_files({{arguments.svg, to_svg(line, {drawn})}});
  return written ? 0 : failed("mpi", written.error());
}

} // namespace

void add_mpi(CLI::App& program, Invocation& invocation) {
  auto arguments = std::make_shared<MpiArguments>();
  CLI::App* mpi = program.add_subcommand(
      "mpi", "Run an MPI program over Heddle: heddle mpi [OPTIONS] -- mpiexec -n N PROGRAM [ARGS...]");
  mpi->add_option(
         "--via", arguments->via,
         "One network for all processes (else HEDDLE_TRANSLATORS, or else shm on one machine and tcp between them)")
      ->check(CLI::IsMember({"shm", "tcp"}).description(""))
      ->type_name("NAME");
  mpi->add_flag("--print-env", arguments->print_env, "Print what is set, for a script to eval; start nothing");
  mpi->add_option(
         "--compare", arguments->rounds,
         "Run it so often in turns on the MPI's own transport and on Heddle, and print how long it ran and how "
         "long it waited in MPI")
      ->check(CLI::Range(1U, 1000U))
      ->type_name("ROUNDS");
  CLI::Option* svg = mpi->add_option("--svg", arguments->svg, "Of --compare: draw it into this file, too");
  svg->type_name("FILE");
  add_json_flag(*mpi, arguments->json);
  mpi->footer(
      "The MPI must be built on libfabric, as Debian's Open MPI is. The exit status is the command's; 1 where it ended "
      "well "
      "without\nall its processes having used Heddle. With --compare it is 0 where every run ended well and used the "
      "transport that it "
      "was to use; "
      "what\nthe program prints is not shown.\n"
      "Example: heddle mpi -- mpiexec.openmpi -n 4 ./my_mpi_program\n"
      "         heddle mpi --compare 5 --svg times.svg -- mpiexec.openmpi -n 4 ./my_mpi_program\n"
      "         eval \"$(heddle mpi --print-env)\"");
  mpi->callback([arguments, &invocation] {
    if (arguments->rounds == 0 && (arguments->json || !arguments->svg.empty()))
      invocation.exit_status = bad_usage("mpi", "--json and --svg are of --compare ROUNDS");
    else
      invocation.exit_status = arguments->rounds > 0 ? run_comparison(*arguments, invocation.program)
                                                     : run_mpi(*arguments, invocation.program);
  });
}

} // namespace heddle::tool
