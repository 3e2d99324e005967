#include "translators/shm/segment.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

namespace heddle::translators {

namespace {

constexpr std::uint64_t kAlignment = 64;
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

Error failure(ErrorCode code, std::string fact, std::string remedy) {
  return {.code = code, .fact = std::move(fact), .remedy = std::move(remedy), .peer = kNoPeer, .system_code = errno};
}

Error no_descriptor(std::string what) {
  return failure(ErrorCode::out_of_descriptors, "no file descriptor left for " + std::move(what),
                 "raise the limit with ulimit -n");
}

Error no_memory(std::uint64_t bytes) {
  return failure(
      ErrorCode::out_of_memory, "the system refuses " + std::to_string(bytes) + " bytes of shared memory",
      "lower ring_memory or ring_bytes, or raise the memory limit of the process or container (ulimit -v, -f)");
}

bool out_of_descriptors(int error) {
  return error == EMFILE || error == ENFILE;
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
  if (::ftruncate(segment.file_.number(), static_cast<off_t>(bytes)) != 0) return std::unexpected(no_memory(bytes));
  if (::fcntl(segment.file_.number(), F_ADD_SEALS, kSeals) != 0)
    return std::unexpected(
        failure(ErrorCode::system_failed, "the shared segment cannot be sealed", "use a kernel with memfd seals"));
  struct stat status{};
  if (::fstat(segment.file_.number(), &status) != 0)
    return std::unexpected(failure(ErrorCode::system_failed, "the shared segment cannot be looked at", ""));
  segment.inode_ = status.st_ino;
  void* data = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, segment.file_.number(), 0);
  if (data == MAP_FAILED) return std::unexpected(no_memory(bytes));
  segment.mapping_ = Mapping(static_cast<std::byte*>(data), bytes);
  segment.free_[0] = bytes;
  if (auto header = segment.allocate(sizeof(SegmentHeader)); !header) return std::unexpected(header.error());
  segment.mapping_.header().mark = kSegmentMark;
  return segment;
}

Result<std::uint64_t> Segment::allocate(std::size_t bytes) {
  const std::uint64_t needed = (bytes + kAlignment - 1) & ~(kAlignment - 1);
  for (auto place = free_.begin(); place != free_.end(); ++place) {
    const auto [offset, available] = *place;
    if (available < needed) continue;
    // Taken from the system now: later it would end in a SIGBUS instead of an error.
    if (::fallocate(file_.number(), 0, static_cast<off_t>(offset), static_cast<off_t>(needed)) != 0)
      return std::unexpected(no_memory(needed));
    free_.erase(place);
    if (available > needed) free_[offset + needed] = available - needed;
    used_[offset] = needed;
    std::memset(mapping_.data() + offset, 0, needed);
    return offset;
  }
  return std::unexpected(Error{.code = ErrorCode::out_of_memory,
                               .fact = "the shared segment of " + std::to_string(mapping_.bytes()) + " bytes has no " +
                                       std::to_string(needed) + " left",
                               .remedy = "raise ring_memory"});
}

void Segment::deallocate(std::uint64_t offset) {
  const auto used = used_.find(offset);
  if (used == used_.end()) return;
  auto freed = free_.emplace(offset, used->second).first;
  used_.erase(used);
  const auto next = std::next(freed);
  if (next != free_.end() && freed->first + freed->second == next->first) {
    freed->second += next->second;
    free_.erase(next);
  }
  if (freed == free_.begin()) return;
  const auto previous = std::prev(freed);
  if (previous->first + previous->second == freed->first) {
    previous->second += freed->second;
    free_.erase(freed);
  }
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
  const bool known =
      ::fstat(file.number(), &status) == 0 && status.st_ino == name.inode &&
      static_cast<std::uint64_t>(status.st_size) == name.bytes &&
      (::fcntl(file.number(), F_GET_SEALS) & (F_SEAL_SHRINK | F_SEAL_GROW)) == (F_SEAL_SHRINK | F_SEAL_GROW);
  if (!known || name.bytes < sizeof(SegmentHeader))
    return std::unexpected(
        failure(ErrorCode::unreachable,
                "process " + std::to_string(name.process) + " is not the peer that published its segment", ""));
  void* data = ::mmap(nullptr, name.bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file.number(), 0);
  if (data == MAP_FAILED) return std::unexpected(no_memory(name.bytes));
  Mapping mapping(static_cast<std::byte*>(data), name.bytes);
  if (mapping.header().mark != kSegmentMark)
    return std::unexpected(failure(ErrorCode::unreachable,
                                   "the peer's segment has another layout: it runs another version",
                                   "use one version in a job"));
  return mapping;
}

} // namespace heddle::translators
