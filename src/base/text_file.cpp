#include "base/text_file.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "base/descriptor.hpp"
#include "base/size_text.hpp"

namespace heddle::base {
namespace {

constexpr std::size_t kFirstRoom = 16 << 10;

// Waits until a pipe has something to read, or nobody writes to it any more.
void wait_for_writer(int file) {
  pollfd entry{.fd = file, .events = POLLIN, .revents = 0};
  ::poll(&entry, 1, -1);
}

} // namespace

Result<std::string> read_text_file(const std::string& path, const TextFile& file) {
  const auto refused = [&](std::string_view why, int system_code = 0) {
    return std::unexpected(Error{.code = ErrorCode::bad_argument,
                                 .fact = std::string(file.what) + " '" + path + "' " + std::string(why),
                                 .system_code = system_code});
  };
  if (path.find('\0') != std::string::npos) return refused("has a zero character in its name");
  // Opening a pipe without a writer, or some devices, would wait otherwise.
  const Descriptor opened(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
  if (!opened.open()) return refused("cannot be opened", errno);
  struct stat status{};
  if (::fstat(opened.number(), &status) != 0) return refused("cannot be inspected", errno);
  if (S_ISDIR(status.st_mode)) return refused("is a folder: expected a file");
  const bool pipe = S_ISFIFO(status.st_mode);
  if (!S_ISREG(status.st_mode) && !(pipe && file.pipes)) return refused("is not a regular file");

  std::string text;
  std::size_t filled = 0;
  while (true) {
    if (filled == text.size()) text.resize(std::min<std::uint64_t>(file.most + 1, std::max(2 * filled, kFirstRoom)));
    const ssize_t count = ::read(opened.number(), text.data() + filled, text.size() - filled);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) {
      wait_for_writer(opened.number());
      continue;
    }
    if (count < 0) return refused("cannot be read", errno);
    filled += static_cast<std::size_t>(count);
    if (filled > file.most)
      return refused("is larger than " + print_size(file.most) + ", more than any such file needs");
    if (count == 0) break;
  }
  text.resize(filled);
  return text;
}

} // namespace heddle::base
