#include "base/reserve.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <mutex>

namespace heddle::base {

namespace {

// Handed out from front to back, and whole again when all of it is back.
struct Block {
  std::byte* memory = nullptr;
  std::size_t used = 0;
  std::size_t handed_out = 0; // pieces

  [[nodiscard]] bool holds(const void* piece) const {
    const std::less_equal<const void*> not_after;
    return not_after(memory, piece) && !not_after(memory + Reserve::kBytes, piece);
  }
};

// What waits long may hold a piece for long: then another block is kept beside it, but not without end. Blocks stay for good.
constexpr std::size_t kMostBlocks = 8;
// The heap counts as having memory again when it has this much.
constexpr std::size_t kEnough = 64 << 10;

std::mutex mutex;
std::array<Block, kMostBlocks> blocks;
Block* current = nullptr;

bool heap_has_memory() {
  void* memory = ::operator new(kEnough, std::nothrow);
  ::operator delete(memory);
  return memory != nullptr;
}

} // namespace

bool Reserve::keep() {
  const std::scoped_lock lock(mutex);
  if (current != nullptr) return true;
  auto* memory = static_cast<std::byte*>(::operator new(kBytes, std::nothrow));
  if (memory == nullptr) return false;
  blocks[0].memory = memory;
  current = blocks.data();
  blocks_.store(1, std::memory_order_release);
  return true;
}

void* Reserve::draw(std::size_t bytes) {
  const std::scoped_lock lock(mutex);
  constexpr std::size_t kAlignment = alignof(std::max_align_t);
  if (current == nullptr || bytes > kBytes) throw std::bad_alloc();
  const std::size_t rounded = (std::max<std::size_t>(bytes, 1) + kAlignment - 1) / kAlignment * kAlignment;
  drawn_on_.store(true, std::memory_order_relaxed);
  if (rounded > kBytes - current->used) throw std::bad_alloc();
  void* memory = current->memory + current->used;
  current->used += rounded;
  ++current->handed_out;
  return memory;
}

bool Reserve::put_back(void* memory) noexcept {
  const std::size_t count = blocks_.load(std::memory_order_acquire);
  const auto found = std::ranges::find_if(blocks.begin(), blocks.begin() + count,
                                          [memory](const Block& block) { return block.holds(memory); });
  if (found == blocks.begin() + count) return false;
  const std::scoped_lock lock(mutex);
  if (--found->handed_out == 0) found->used = 0;
  return true;
}

bool Reserve::refill() {
  const std::scoped_lock lock(mutex);
  if (!heap_has_memory()) return false;
  const std::size_t count = blocks_.load(std::memory_order_relaxed);
  const auto whole = std::ranges::find(blocks.begin(), blocks.begin() + count, std::size_t{0}, &Block::used);
  if (whole != blocks.begin() + count) {
    current = &*whole;
  } else if (count < kMostBlocks) { // after that, what is left of the last must do
    blocks[count].memory = static_cast<std::byte*>(::operator new(kBytes, std::nothrow));
    if (blocks[count].memory == nullptr) return false;
    current = &blocks[count];
    blocks_.store(count + 1, std::memory_order_release);
  }
  drawn_on_.store(false, std::memory_order_relaxed);
  return true;
}

} // namespace heddle::base
