#include "tests/traffic/region.hpp"

#include "tests/scenario/lot.hpp"

#include <algorithm>
#include <cstring>

namespace heddle::tests {

namespace {

constexpr std::byte kUntouched{0xee};

} // namespace

Region::Region(std::uint64_t bytes, std::mt19937_64& random, bool only_contiguous) : bytes_(bytes) {
  make(random, only_contiguous);
}

Region::Region(std::uint64_t bytes, std::uint64_t form) : bytes_(bytes) {
  Lot lot(form);
  make(lot, false);
}

template <typename Random>
void Region::make(Random& random, bool only_contiguous) {
  const std::uint64_t choice = only_contiguous || bytes_ == 0 ? 0 : random() % 4;
  if (choice <= 1)
    make_contiguous(random() % 16);
  else if (choice == 2)
    make_strided(random);
  else
    make_pieces(random);
}

Layout Region::layout() {
  if (!pieces_.empty()) return Layout::pieces(pieces_);
  std::byte* first = memory_.data() + runs_.front().offset;
  if (block_ == 0) return {first, bytes_};
  return Layout::strided(first, bytes_ / block_, block_, stride_);
}

void Region::write(std::span<const std::byte> message) {
  for (const Run& run : runs_) {
    std::ranges::copy(message.first(run.bytes), memory_.begin() + static_cast<std::ptrdiff_t>(run.offset));
    message = message.subspan(run.bytes);
  }
}

std::vector<std::byte> Region::read(std::uint64_t bytes) const {
  std::vector<std::byte> message;
  message.reserve(bytes);
  for (const Run& run : runs_) {
    const auto from = memory_.begin() + static_cast<std::ptrdiff_t>(run.offset);
    const std::uint64_t part = std::min(run.bytes, bytes - message.size());
    message.insert(message.end(), from, from + static_cast<std::ptrdiff_t>(part));
  }
  return message;
}

void Region::scribble() {
  std::ranges::fill(memory_, std::byte{0xdd});
}

bool Region::rest_untouched(std::uint64_t bytes) {
  for (const Run& run : runs_) {
    const std::uint64_t part = std::min(run.bytes, bytes);
    std::fill_n(memory_.begin() + static_cast<std::ptrdiff_t>(run.offset), part, kUntouched);
    bytes -= part;
  }
  // Each byte equals the one before it, and the first is as it should be: as quick as memory can be compared.
  return memory_.front() == kUntouched && std::memcmp(memory_.data(), memory_.data() + 1, memory_.size() - 1) == 0;
}

void Region::make_contiguous(std::uint64_t start) {
  memory_.assign(bytes_ + start + 8, kUntouched);
  runs_.push_back({.offset = start, .bytes = bytes_});
}

template <typename Random>
void Region::make_strided(Random& random) {
  std::uint64_t count = 1 + random() % 40;
  while (bytes_ % count != 0) --count;
  block_ = bytes_ / count;
  const std::uint64_t step = block_ + random() % 24;
  const bool backwards = random() % 2 == 0;
  stride_ = static_cast<std::int64_t>(step) * (backwards ? -1 : 1);
  memory_.assign(count * step + 8, kUntouched);
  for (std::uint64_t i = 0; i < count; ++i)
    runs_.push_back({.offset = (backwards ? count - 1 - i : i) * step, .bytes = block_});
}

template <typename Random>
void Region::make_pieces(Random& random) {
  std::vector<std::uint64_t> sizes;
  for (std::uint64_t left = bytes_; left > 0;) {
    const std::uint64_t size = random() % 8 == 0 ? 0 : std::min<std::uint64_t>(left, 1 + random() % (bytes_ / 3 + 1));
    sizes.push_back(size);
    left -= size;
  }
  memory_.assign(bytes_ + 8 * sizes.size() + 8, kUntouched);
  // Laid out from the back, so that pieces are out of order in memory.
  std::uint64_t end = memory_.size() - 3;
  for (const std::uint64_t size : sizes) {
    end -= size + 5;
    pieces_.push_back({.data = memory_.data() + end, .bytes = size});
    runs_.push_back({.offset = end, .bytes = size});
  }
}

} // namespace heddle::tests
