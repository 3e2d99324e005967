#include "launch/pipes.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "launch/agent_wire.hpp"

namespace heddle::launch {

namespace {

// The near end does not wait; the far one does, as programs expect.
Result<std::array<base::Descriptor, 2>> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return std::unexpected(system_error("cannot create a pipe", errno));
  return std::array{base::Descriptor(ends[0]), base::Descriptor(ends[1])};
}

void never_wait(const base::Descriptor& descriptor) {
  ::fcntl(descriptor.number(), F_SETFL, ::fcntl(descriptor.number(), F_GETFL) | O_NONBLOCK);
}

} // namespace

Result<Pipes> Pipes::make(std::uint32_t first, std::uint32_t count, bool input) {
  Pipes made;
  made.first_ = first;
  made.pairs_.resize(count);
  for (Pair& pair : made.pairs_) {
    for (Pipe& pipe : pair) {
      auto ends = make_pipe();
      if (!ends) return std::unexpected(std::move(ends.error()));
      pipe = {.near = std::move((*ends)[0]), .far = std::move((*ends)[1])};
      never_wait(pipe.near);
    }
  }
  if (!input) return made;
  auto ends = make_pipe();
  if (!ends) return std::unexpected(std::move(ends.error()));
  made.input_ = {.near = std::move((*ends)[1]), .far = std::move((*ends)[0])};
  never_wait(made.input_.near);
  return made;
}

ProcessStreams Pipes::streams_of(std::uint32_t rank) const {
  const Pair& pair = pairs_[rank - first_];
  return {.in = rank == 0 ? input_.far.number() : -1, .out = pair[0].far.number(), .error = pair[1].far.number()};
}

void Pipes::close_far_ends() {
  for (Pair& pair : pairs_)
    for (Pipe& pipe : pair) pipe.far.reset();
  input_.far.reset();
}

void Pipes::add_to(std::vector<pollfd>& entries, bool output) const {
  if (output)
    for (const Pair& pair : pairs_)
      for (const Pipe& pipe : pair)
        if (pipe.near.open()) entries.push_back({.fd = pipe.near.number(), .events = POLLIN, .revents = 0});
  if (input_.near.open() && !input_bytes_.empty())
    entries.push_back({.fd = input_.near.number(), .events = POLLOUT, .revents = 0});
}

std::size_t Pipes::read_once(std::uint32_t index, std::size_t stream, const Take& take, bool& goes_on) {
  Pipe& pipe = pairs_[index][stream];
  if (!pipe.near.open()) return 0;
  std::array<std::byte, kLargestPiece> bytes;
  ssize_t got = 0;
  while ((got = ::read(pipe.near.number(), bytes.data(), bytes.size())) < 0 && errno == EINTR) {
  }
  if (got == 0) pipe.near.reset();
  if (got <= 0) return 0;
  const auto count = static_cast<std::size_t>(got);
  goes_on = take(first_ + index, static_cast<std::uint8_t>(stream + 1), std::span(bytes).first(count));
  return count;
}

void Pipes::read(const Take& take) {
  bool goes_on = true;
  for (std::uint32_t i = 0; i < pairs_.size() && goes_on; ++i)
    for (std::size_t stream = 0; stream < 2 && goes_on; ++stream) read_once(i, stream, take, goes_on);
}

void Pipes::read_all_of(std::uint32_t rank, const Take& take) {
  bool goes_on = true;
  for (std::size_t stream = 0; stream < 2; ++stream) {
    Pipe& pipe = pairs_[rank - first_][stream];
    int left = 0;
    if (pipe.near.open()) ::ioctl(pipe.near.number(), FIONREAD, &left);
    while (left > 0) {
      const std::size_t count = read_once(rank - first_, stream, take, goes_on);
      if (count == 0) break;
      left -= static_cast<int>(count);
    }
    pipe.near.reset();
  }
}

void Pipes::close_stream(std::uint8_t stream) {
  if (stream < 1 || stream > 2) return;
  for (Pair& pair : pairs_) pair[stream - 1].near.reset();
}

void Pipes::add_input(std::span<const std::byte> bytes) {
  if (bytes.empty()) input_ends_ = true;
  if (input_bytes_.size() + bytes.size() <= kMostInput) // more than it was told to send is dropped
    input_bytes_.insert(input_bytes_.end(), bytes.begin(), bytes.end());
}

std::size_t Pipes::write_input() {
  std::size_t taken = 0;
  while (input_.near.open() && taken < input_bytes_.size()) {
    const ssize_t count = ::write(input_.near.number(), input_bytes_.data() + taken, input_bytes_.size() - taken);
    if (count > 0)
      taken += static_cast<std::size_t>(count);
    else if (errno == EAGAIN)
      break;
    else if (errno != EINTR)
      input_.near.reset(); // nobody reads it
  }
  if (!input_.near.open()) taken = input_bytes_.size();
  input_bytes_.erase(input_bytes_.begin(), input_bytes_.begin() + static_cast<std::ptrdiff_t>(taken));
  if (input_ends_ && input_bytes_.empty()) input_.near.reset();
  return taken;
}

} // namespace heddle::launch
