// Where the memory of simulated processes comes from: large pieces, on huge pages where the system has them. A job of a thousand
// processes has gigabytes of small rings that are visited in no order, and finding their pages would take longer than
// the visits.
#pragma once

#include <cstddef>
#include <memory_resource>

namespace heddle::translators::simulated {

class LargePages final : public std::pmr::memory_resource {
 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override;
  void do_deallocate(void* memory, std::size_t bytes, std::size_t alignment) override;
  [[nodiscard]] bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override {
    return this == &other;
  }
};

} // namespace heddle::translators::simulated
