#include "mpi_run.hpp"
#include "auth/secret.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
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
  const Variables root = variables_for_root();
  set.insert(set.end(), root.begin(), root.end());
  return set;
}

Variables variables_for_root() {
  if (::geteuid() != 0) return {};
  return {{"OMPI_ALLOW_RUN_AS_ROOT", "1"}, {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"}};
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
  const pid_t child = ::fork();
  if (child < 0) return 127;
  if (child == 0) become(started);
  running_command = child;
  heed_signals();
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
