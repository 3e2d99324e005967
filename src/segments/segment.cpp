#include "segments/segment.hpp"

#include "base/free_memory.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

namespace heddle::segments {

namespace {

constexpr std::uint64_t kPieceAlignment = 64;
// Asking costs less than taking from this size on.
constexpr std::uint64_t kAskedFrom = 1U << 20U;
constexpr int kSizeSeals = F_SEAL_SHRINK | F_SEAL_GROW;

Error failure(ErrorCode code, std::string fact, std::string remedy) {
  return {.code = code, .fact = std::move(fact), .remedy = std::move(remedy), .peer = kNoPeer, .system_code = errno};
}

Error no_descriptor(std::string what) {
  return failure(ErrorCode::out_of_descriptors, "no file descriptor left for " + std::move(what),
                 "raise the limit on open files (ulimit -n)");
}

Error no_memory(std::uint64_t bytes) {
  return failure(
      ErrorCode::out_of_memory, "the system refuses " + std::to_string(bytes) + " bytes of shared memory",
      "lower ring_memory or ring_bytes, or raise the memory limit of the process or container (ulimit -v, -f)");
}

bool out_of_descriptors(int error) {
  return error == EMFILE || error == ENFILE;
}

// Growing a file beyond the process's limit ends the process by SIGXFSZ, so it is asked for beforehand.
bool beyond_file_limit(std::size_t bytes) {
  rlimit limit{};
  return ::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && bytes > limit.rlim_cur;
}

// Takes the memory from the system. Piece by piece, because a signal ends the call with nothing done: a large request
// would never end under a steady stream of them.
bool take_memory(int file, std::uint64_t offset, std::uint64_t bytes) {
  constexpr std::uint64_t kPiece = 1U << 20U;
  for (std::uint64_t done = 0; done < bytes;) {
    const std::uint64_t piece = std::min(kPiece, bytes - done);
    if (::fallocate(file, 0, static_cast<off_t>(offset + done), static_cast<off_t>(piece)) == 0)
      done += piece;
    else if (errno != EINTR)
      return false;
  }
  return true;
}

void give_back_memory(int file, std::uint64_t offset, std::uint64_t bytes) {
  const int error = errno;
  ::fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset), static_cast<off_t>(bytes));
  errno = error;
}

} // namespace

Mapping::Mapping(Mapping&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

Mapping::~Mapping() {
  if (data_ != nullptr) ::munmap(data_, bytes_);
}

Result<Segment> Segment::create(std::size_t bytes) {
  Segment segment;
  segment.file_ = base::Descriptor(::memfd_create("heddle", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!segment.file_.open())
    return std::unexpected(out_of_descriptors(errno) ? no_descriptor("the shared segment") : no_memory(bytes));
  if (beyond_file_limit(bytes)) {
    errno = EFBIG;
    return std::unexpected(no_memory(bytes));
  }
  if (::ftruncate(segment.file_.number(), static_cast<off_t>(bytes)) != 0) return std::unexpected(no_memory(bytes));
  if (::fcntl(segment.file_.number(), F_ADD_SEALS, kSizeSeals | F_SEAL_SEAL) != 0)
    return std::unexpected(
        failure(ErrorCode::system_failed, "the shared segment cannot be sealed", "use a kernel with memfd seals"));
  struct stat status{};
  if (::fstat(segment.file_.number(), &status) != 0)
    return std::unexpected(failure(ErrorCode::system_failed, "the shared segment cannot be inspected", ""));
  segment.inode_ = status.st_ino;
  void* data = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, segment.file_.number(), 0);
  if (data == MAP_FAILED) return std::unexpected(no_memory(bytes));
  segment.mapping_ = Mapping(static_cast<std::byte*>(data), bytes);
  segment.space_ = base::FreeSpace(bytes);
  if (auto header = segment.allocate(sizeof(SegmentHeader)); !header) return std::unexpected(header.error());
  segment.mapping_.header().mark = kSegmentMark;
  return segment;
}

Result<std::uint64_t> Segment::allocate(std::size_t bytes) {
  // Nothing takes a place of its own too, so that it can be given back.
  const std::uint64_t needed = (std::max<std::uint64_t>(bytes, 1) + kPieceAlignment - 1) & ~(kPieceAlignment - 1);
  const auto offset = bytes <= mapping_.bytes() ? space_.take(needed) : std::nullopt;
  if (!offset)
    return std::unexpected(Error{.code = ErrorCode::out_of_memory,
                                 .fact = "the shared segment of " + std::to_string(mapping_.bytes()) +
                                         " bytes has no " + std::to_string(bytes) + " left",
                                 .remedy = "raise ring_memory"});
  // Where the machine has not so much, taking it would end other programs before it ended in an error.
  if (needed >= kAskedFrom && !base::memory_suffices(needed)) {
    space_.give_back(*offset);
    errno = ENOMEM;
    return std::unexpected(no_memory(needed));
  }
  // Taken from the system now: later it would end in a SIGBUS instead of an error.
  if (!take_memory(file_.number(), *offset, needed)) {
    give_back_memory(file_.number(), *offset, needed);
    space_.give_back(*offset);
    return std::unexpected(no_memory(needed));
  }
  std::memset(mapping_.data() + *offset, 0, needed);
  return *offset;
}

Result<Mapping> map_segment(const SegmentName& name) {
  const std::string path = "/proc/" + std::to_string(name.process) + "/fd/" + std::to_string(name.descriptor);
  const base::Descriptor file(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (!file.open()) {
    if (out_of_descriptors(errno)) return std::unexpected(no_descriptor("a peer's shared segment"));
    return std::unexpected(failure(
        ErrorCode::unreachable, "the shared segment of process " + std::to_string(name.process) + " cannot be opened",
        "run all processes of a node as one user in one process-id namespace"));
  }
  struct stat status{};
  const int seals = ::fcntl(file.number(), F_GET_SEALS); // negative for a file that cannot be sealed
  const bool known = ::fstat(file.number(), &status) == 0 && status.st_ino == name.inode && seals >= 0 &&
                     (seals & kSizeSeals) == kSizeSeals;
  const auto bytes = static_cast<std::uint64_t>(status.st_size);
  if (!known || bytes < sizeof(SegmentHeader))
    return std::unexpected(
        Error{.code = ErrorCode::unreachable,
              .fact = "process " + std::to_string(name.process) + " is not the peer that published its segment",
              .remedy = "restart the job: a process of it has ended"});
  void* data = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file.number(), 0);
  if (data == MAP_FAILED) return std::unexpected(no_memory(bytes));
  Mapping mapping(static_cast<std::byte*>(data), bytes);
  if (mapping.header().mark != kSegmentMark)
    return std::unexpected(Error{.code = ErrorCode::unreachable,
                                 .fact = "the peer's segment has a different layout: it runs another version",
                                 .remedy = "use one version in a job"});
  return mapping;
}

bool has_ended(std::int32_t process) {
  std::array<char, 64> path{}; // no memory is needed, since none may be left
  std::snprintf(path.data(), path.size(), "/proc/%d/statm", process);
  const base::Descriptor file(::open(path.data(), O_RDONLY | O_CLOEXEC));
  if (!file.open()) return ::kill(process, 0) != 0 && errno == ESRCH;
  // Its size in pages comes first: a process loses its memory before its files, and keeps its number until it is waited for.
  char first = 0;
  return ::read(file.number(), &first, 1) != 1 || first == '0';
}

bool is_stopped(std::int32_t process) {
  std::array<char, 64> path{};
  std::snprintf(path.data(), path.size(), "/proc/%d/stat", process);
  const base::Descriptor file(::open(path.data(), O_RDONLY | O_CLOEXEC));
  std::array<char, 256> text{};
  const ssize_t bytes = file.open() ? ::read(file.number(), text.data(), text.size()) : 0;
  // "NUMBER (NAME) STATE ...", and a name may hold anything.
  const std::string_view read(text.data(), static_cast<std::size_t>(std::max<ssize_t>(bytes, 0)));
  const std::size_t name = read.rfind(") ");
  return name != std::string_view::npos && name + 2 < read.size() && (read[name + 2] == 'T' || read[name + 2] == 't');
}

void close_and_drain(AccessGate& gate) {
  close_gate(gate);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  while (in_use(gate) && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::microseconds(50));
}

} // namespace heddle::segments
