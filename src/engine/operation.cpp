#include "engine/operation.hpp"

namespace heddle::engine {

void OperationPool::grow() {
  const std::uint32_t first = count_;
  auto& block = blocks_.emplace_back(std::make_unique<Operation[]>(kBlock)); // may fail, and then nothing has changed
  count_ += kBlock;
  for (std::uint32_t i = kBlock; i-- > 0;) {
    block[i].name = kGeneration + first + i; // never 0, so that a Request made of zeros names nothing
    block[i].next = free_;
    free_ = &block[i];
  }
}

} // namespace heddle::engine
