#include "mpi_run.hpp"
#include "auth/secret.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace heddle::tool {
namespace {

namespace fs = std::filesystem;

bool is_set(const char* name) {
  return std::getenv(name) != nullptr;
}

fs::path installed_root() {
  std::error_code error;
  return fs::read_symlink("/proc/self/exe", error).parent_path().parent_path();
}

volatile pid_t running_command = 0;
volatile int ending_signal = 0;

constexpr std::array kEndingSignals = {SIGTERM, SIGHUP, SIGINT, SIGQUIT};

// Those signals wait as long as it exists: between the start of a command and the moment from which on it is told of them.
class SignalsHeld {
 public:
  SignalsHeld() {
    sigset_t held;
    ::sigemptyset(&held);
    for (const int signal : kEndingSignals) ::sigaddset(&held, signal);
    ::sigprocmask(SIG_BLOCK, &held, &before_);
  }
  SignalsHeld(const SignalsHeld&) = delete;
  SignalsHeld& operator=(const SignalsHeld&) = delete;
  ~SignalsHeld() { ::sigprocmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

// The terminal's signals reach the command without help; those meant for this process are passed on, so that the command ends first.
void heed_signals() {
  struct sigaction passed_on{};
  passed_on.sa_handler = [](int signal) {
    ending_signal = signal;
    if (running_command > 0) ::kill(running_command, signal);
  };
  for (const int signal : {SIGTERM, SIGHUP}) ::sigaction(signal, &passed_on, nullptr);
  struct sigaction noted{};
  noted.sa_handler = [](int signal) { ending_signal = signal; };
  for (const int signal : {SIGINT, SIGQUIT}) ::sigaction(signal, &noted, nullptr);
}

// In the command's process, which a signal still has to end until it has become the command.
void heed_no_signals() {
  for (const int signal : kEndingSignals) {
    struct sigaction now{};
    ::sigaction(signal, nullptr, &now);
    if (now.sa_handler != SIG_IGN) ::signal(signal, SIG_DFL);
  }
}

[[noreturn]] void become(const Started& started) {
  for (const auto& [name, value] : started.variables) ::setenv(name.c_str(), value.c_str(), 1);
  if (!started.output.empty()) {
    const int file = ::open(started.output.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
    if (file >= 0) {
      ::dup2(file, STDOUT_FILENO);
      ::dup2(file, STDERR_FILENO);
    }
  }
  std::vector<char*> arguments;
  arguments.reserve(started.command.size() + 1);
  for (const std::string& each : started.command) arguments.push_back(const_cast<char*>(each.c_str()));
  arguments.push_back(nullptr);
  if (started.folder.empty() || ::chdir(started.folder.c_str()) == 0) ::execvp(arguments[0], arguments.data());
  fmt::print(stderr, "heddle mpi: {} cannot be started: {}\n", started.command[0], std::strerror(errno));
  std::fflush(stderr);
  ::_exit(127);
}

} // namespace

// bin/heddle and lib*/NAME, also below a folder of the machine's architecture.
std::optional<std::string> find_library(const std::string& name) {
  std::error_code error;
  const fs::path root = installed_root();
  for (const char* libraries : {"lib", "lib64"}) {
    if (fs::exists(root / libraries / name, error)) return (root / libraries / name).string();
    for (const auto& folder : fs::directory_iterator(root / libraries, error))
      if (fs::exists(folder.path() / name, error)) return (folder.path() / name).string();
  }
  return std::nullopt;
}

std::optional<std::string> find_provider() {
  const auto library = find_library("libfabric/libheddle-fi.so");
  if (!library) return std::nullopt;
  return fs::path(*library).parent_path().string();
}

std::optional<std::string> find_folder(const std::string& name) {
  std::error_code error;
  const fs::path folder = installed_root() / "libexec" / "heddle" / name;
  return fs::is_directory(folder, error) ? std::optional(folder.string()) : std::nullopt;
}

// Each variable is set for all MPIs, since each leaves alone what it does not know.
Variables variables_for(const std::string& via, const std::string& provider) {
  Variables set{{"FI_PROVIDER_PATH", provider},
                {"FI_PROVIDER", "heddle"},
                {"OMPI_MCA_pml", "cm"},
                {"OMPI_MCA_mtl", "ofi"},
                {"OMPI_MCA_mtl_ofi_provider_include", "heddle"},
                {"MPIR_CVAR_NOLOCAL", "1"}};
  if (!via.empty())
    set.emplace_back("HEDDLE_TRANSLATORS", via);
  else if (!is_set("HEDDLE_TRANSLATORS"))
    set.emplace_back("HEDDLE_TRANSLATORS", "shm,tcp");
  if (!is_set("HEDDLE_SECRET")) set.emplace_back("HEDDLE_SECRET", auth::Secret::draw().text());
  const Variables at_all = variables_to_start();
  set.insert(set.end(), at_all.begin(), at_all.end());
  return set;
}

Variables variables_to_start() {
  Variables set;
  // Open MPI takes the cores for all that it may start.
  if (!is_set("OMPI_MCA_rmaps_base_oversubscribe")) set.emplace_back("OMPI_MCA_rmaps_base_oversubscribe", "1");
  if (::geteuid() != 0) return set;
  for (const char* name : {"OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"}) set.emplace_back(name, "1");
  return set;
}

void pass_on(Variables& variables, const std::vector<std::string>& command) {
  if (std::ranges::find(command, "-x") != command.end() || is_set("OMPI_MCA_mca_base_env_list")) return; // excludes it
  std::string names;
  const auto add = [&names](const std::string& name) { names += (names.empty() ? "" : ";") + name; };
  for (const auto& [name, value] : variables)
    if (!name.starts_with("OMPI_")) add(name);
  for (char** each = environ; *each != nullptr; ++each) { // what the user has set of Heddle's and libfabric's own
    const std::string_view whole(*each);
    const std::string name(whole.substr(0, whole.find('=')));
    if (!name.starts_with("HEDDLE_") && !name.starts_with("FI_")) continue;
    if (std::ranges::find(variables, name, &Variables::value_type::first) == variables.end()) add(name);
  }
  variables.emplace_back("OMPI_MCA_mca_base_env_list", names);
}

std::optional<std::size_t> processes_of(const std::vector<std::string>& command) {
  using namespace std::string_view_literals;
  constexpr std::array kCounts = {"-n"sv, "--n"sv, "-np"sv, "--np"sv};
  constexpr std::array kElsewhere = {":"sv,          "-H"sv,           "-host"sv,         "--host"sv,
                                     "-hosts"sv,     "-hostfile"sv,    "--hostfile"sv,    "--default-hostfile"sv,
                                     "-f"sv,         "-machinefile"sv, "--machinefile"sv, "--app"sv,
                                     "-configfile"sv};
  constexpr std::array kFollowed = {"-x"sv, "-bind-to"sv, "--bind-to"sv, "--map-by"sv, "--rank-by"sv, "-genv"sv};
  const auto is_one_of = [](const auto& list, std::string_view word) {
    return std::ranges::find(list, word) != list.end();
  };
  for (const char* manager : {"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID"}) // it may choose the machines
    if (is_set(manager)) return std::nullopt;
  if (command.empty()) return std::nullopt;
  const std::string launcher = fs::path(command[0]).filename();
  if (!launcher.starts_with("mpiexec") && !launcher.starts_with("mpirun")) return std::nullopt;
  if (std::ranges::any_of(command, [&](const auto& word) { return is_one_of(kElsewhere, word); })) return std::nullopt;
  for (std::size_t i = 1; i + 1 < command.size(); ++i) { // up to the program, whose own options are none of ours
    const std::string& word = command[i];
    if (is_one_of(kCounts, word)) {
      std::size_t count = 0;
      const std::string& text = command[i + 1];
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
      return error == std::errc{} && *end == '\0' && count > 0 ? std::optional(count) : std::nullopt;
    }
    if (word == "--mca" || word == "-mca")
      i += 2;
    else if (is_one_of(kFollowed, word))
      ++i;
    else if (word != "--oversubscribe" && word != "--allow-run-as-root")
      break;
  }
  return std::nullopt;
}

std::string quoted_for_shell(const std::string& text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

Register::Register() {
  const char* folder = std::getenv("TMPDIR");
  path_ = (fs::path(folder != nullptr ? folder : "/tmp") / "heddle-mpi-XXXXXX").string();
  const int descriptor = ::mkstemp(path_.data());
  made_ = descriptor >= 0;
  if (made_) ::close(descriptor);
}

Register::~Register() {
  if (made_) ::unlink(path_.c_str());
}

std::string Register::text() const {
  std::ifstream file(path_, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

Error no_register() {
  return {.code = ErrorCode::system_failed,
          .fact = "no file can be made in the folder for temporary ones",
          .remedy = "set TMPDIR",
          .peer = kNoPeer,
          .system_code = errno};
}

int run_command(const Started& started) {
  std::fflush(nullptr);
  pid_t child = -1;
  {
    auto held = std::make_optional<SignalsHeld>();
    child = ::fork();
    if (child == 0) {
      heed_no_signals();
      held.reset();
      become(started);
    }
    if (child < 0) return 127;
    running_command = child;
    heed_signals();
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  running_command = 0;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int asked_to_end() {
  return ending_signal;
}

} // namespace heddle::tool
