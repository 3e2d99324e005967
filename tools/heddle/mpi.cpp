// heddle mpi: runs an MPI program over Heddle, by way of libfabric and libheddle-fi.so. It sets what Open MPI, or an MPICH built on libfabric, needs
// in the environment, and afterwards looks whether the program did use Heddle.
#include <fmt/core.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "auth/secret.hpp"
#include "subcommands.hpp"

namespace heddle::tool {
namespace {

namespace fs = std::filesystem;
using Variables = std::vector<std::pair<std::string, std::string>>;

struct MpiArguments {
  std::string via;
  bool print_env = false;
};

bool is_set(const char* name) {
  return std::getenv(name) != nullptr;
}

// Beside the program where it was built or installed: bin/heddle and lib*/libfabric/libheddle-fi.so, also below a folder of the machine's
// architecture.
std::optional<std::string> find_provider() {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  const fs::path root = self.parent_path().parent_path();
  for (const char* libraries : {"lib", "lib64"}) {
    if (fs::exists(root / libraries / "libfabric" / "libheddle-fi.so", error))
      return (root / libraries / "libfabric").string();
    for (const auto& folder : fs::directory_iterator(root / libraries, error))
      if (fs::exists(folder.path() / "libfabric" / "libheddle-fi.so", error))
        return (folder.path() / "libfabric").string();
  }
  return std::nullopt;
}

// What an MPI needs; each variable is set for all MPIs, since each leaves alone what it does not know.
Variables variables_for(const MpiArguments& arguments, const std::string& provider) {
  Variables set{{"FI_PROVIDER_PATH", provider},
                {"FI_PROVIDER", "heddle"},
                {"OMPI_MCA_pml", "cm"},
                {"OMPI_MCA_mtl", "ofi"},
                {"OMPI_MCA_mtl_ofi_provider_include", "heddle"},
                {"MPIR_CVAR_NOLOCAL", "1"}};
  if (!arguments.via.empty())
    set.emplace_back("HEDDLE_TRANSLATORS", arguments.via);
  else if (!is_set("HEDDLE_TRANSLATORS"))
    set.emplace_back("HEDDLE_TRANSLATORS", "shm");
  if (!is_set("HEDDLE_SECRET")) set.emplace_back("HEDDLE_SECRET", auth::Secret::draw().text());
  if (::geteuid() == 0) {
    set.emplace_back("OMPI_ALLOW_RUN_AS_ROOT", "1");
    set.emplace_back("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
  }
  return set;
}

// Single quotes, for a shell.
std::string quoted(const std::string& text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

// A file that every process of the program notes itself in when it opens an endpoint of Heddle's. Gone with the object.
class Register {
 public:
  Register() {
    const char* folder = std::getenv("TMPDIR");
    path_ = (fs::path(folder != nullptr ? folder : "/tmp") / "heddle-mpi-XXXXXX").string();
    const int descriptor = ::mkstemp(path_.data());
    made_ = descriptor >= 0;
    if (made_) ::close(descriptor);
  }
  Register(const Register&) = delete;
  Register& operator=(const Register&) = delete;
  ~Register() {
    if (made_) ::unlink(path_.c_str());
  }
  [[nodiscard]] bool made() const { return made_; }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] bool has_entries() const {
    std::error_code error;
    const auto bytes = fs::file_size(path_, error);
    return !error && bytes > 0;
  }

 private:
  std::string path_;
  bool made_ = false;
};

volatile pid_t running_command = 0;

// The terminal's signals reach the command without help; those meant for this process are passed on, so that the command ends first.
void heed_signals() {
  struct sigaction passed_on{};
  passed_on.sa_handler = [](int signal) {
    if (running_command > 0) ::kill(running_command, signal);
  };
  for (const int signal : {SIGTERM, SIGHUP}) ::sigaction(signal, &passed_on, nullptr);
  for (const int signal : {SIGINT, SIGQUIT}) ::signal(signal, SIG_IGN);
}

// Waits for the command. 128 + signal where it was killed, 127 where it could not be started.
int run_command(const std::vector<std::string>& command, const Variables& variables) {
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child < 0) return 127;
  if (child == 0) {
    for (const auto& [name, value] : variables) ::setenv(name.c_str(), value.c_str(), 1);
    std::vector<char*> arguments;
    arguments.reserve(command.size() + 1);
    for (const std::string& each : command) arguments.push_back(const_cast<char*>(each.c_str()));
    arguments.push_back(nullptr);
    ::execvp(arguments[0], arguments.data());
    fmt::print(stderr, "heddle mpi: {} cannot be started: {}\n", command[0], std::strerror(errno));
    std::fflush(stderr);
    ::_exit(127);
  }
  running_command = child;
  heed_signals();
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

// Environment variables of the other machines' processes: Open MPI passes only those on that it is told to.
void pass_on(Variables& variables, const std::vector<std::string>& command) {
  if (std::ranges::find(command, "-x") != command.end() || is_set("OMPI_MCA_mca_base_env_list")) return; // excludes it
  std::string names;
  for (const auto& [name, value] : variables)
    if (!name.starts_with("OMPI_")) names += (names.empty() ? "" : ";") + name;
  variables.emplace_back("OMPI_MCA_mca_base_env_list", names);
}

int run_mpi(const MpiArguments& arguments, const std::vector<std::string>& command) {
  const auto provider = find_provider();
  if (!provider)
    return failed("mpi", {.code = ErrorCode::bad_argument,
                          .fact = "libheddle-fi.so is not beside this program (lib/libfabric)",
                          .remedy = "install libfabric-dev and build again"});
  Variables variables = variables_for(arguments, *provider);
  if (arguments.print_env) {
    for (const auto& [name, value] : variables) fmt::print("export {}={}\n", name, quoted(value));
    return 0;
  }
  if (command.empty()) return bad_usage("mpi", "a command is required: -- mpiexec -n N PROGRAM");
  const Register used;
  if (!used.made())
    return failed("mpi", {.code = ErrorCode::system_failed,
                          .fact = "no file can be made in the folder for temporary ones",
                          .remedy = "set TMPDIR",
                          .peer = kNoPeer,
                          .system_code = errno});
  variables.emplace_back("FI_HEDDLE_REGISTER", used.path());
  pass_on(variables, command);
  const int status = run_command(command, variables);
  if (used.has_entries()) return status;
  fmt::print(stderr, "heddle mpi: no process here has used Heddle: {}\n",
             status == 0 ? "the program is no MPI program, or its MPI is not built on libfabric (ldd shows "
                           "libfabric.so; Debian's Open MPI is, "
                           "its MPICH is not)"
                         : "the command failed before, as said above");
  return status == 0 ? 1 : status;
}

} // namespace

void add_mpi(CLI::App& program, Invocation& invocation) {
  auto arguments = std::make_shared<MpiArguments>();
  CLI::App* mpi = program.add_subcommand(
      "mpi", "Run an MPI program over Heddle: heddle mpi [OPTIONS] -- mpiexec -n N PROGRAM [ARGS...]");
  mpi->add_option("--via", arguments->via,
                  "The network: shm on one machine, tcp between several (HEDDLE_TRANSLATORS, or else shm)")
      ->check(CLI::IsMember({"shm", "tcp"}).description(""))
      ->type_name("NAME");
  mpi->add_flag("--print-env", arguments->print_env, "Print what is set, for a script to eval; start nothing");
  mpi->footer(
      "The MPI must be built on libfabric, as Debian's Open MPI is. The exit status is the command's; 1 where it ended "
      "well "
      "without\nhaving used Heddle.\n"
      "Example: heddle mpi -- mpiexec.openmpi -n 4 ./my_mpi_program\n"
      "         eval \"$(heddle mpi --print-env)\"");
  mpi->callback([arguments, &invocation] { invocation.exit_status = run_mpi(*arguments, invocation.program); });
}

} // namespace heddle::tool
