// A region of memory that several processes hold copies of and write at once: words written by different processes between two
// meetings all survive, wherever they lie. Each process works on its own copy; release sends what it has changed home, acquire
// brings what others have sent. A multiple-writer protocol by twin and diff, as in TreadMarks (Amza et al. 1996), on one-sided
// operations. The home of each page is fixed, in turn over the processes.
//
//   auto region = SharedRegion::create(context, AreaId{3}, bytes);   // collective
//   double* grid = reinterpret_cast<double*>(region->memory().data());
//   ... write words that no other process writes before the next barrier ...
//   region->barrier();                                               // now every copy has everybody's words
//
// Two processes that write the same 4-byte word between two meetings race: one of the values wins, in every copy the same.
#pragma once

#include <heddle/onesided.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#pragma GCC visibility push(default)
namespace heddle {

class SharedRegion {
 public:
  struct Traffic {
    std::uint64_t pushed = 0; // bytes sent home: all 4 of each word of which any has changed
    std::uint64_t pulled = 0; // bytes brought from homes: all of the region each time
  };

  // Every process of the job calls it, with the same id and size; zeroed. The id names an area of each process until the
  // region is destroyed. Fails as OneSided::allocate and Context::barrier do. The context outlives the region.
  [[nodiscard]] static Result<SharedRegion> create(Context& context, AreaId id, std::size_t bytes);
  ~SharedRegion();
  SharedRegion(SharedRegion&& other) noexcept;
  SharedRegion& operator=(SharedRegion&& other) noexcept;

  // This process's copy.
  [[nodiscard]] std::span<std::byte> memory() { return copy_; }

  // The words that this process has changed since the last acquire or release are home when it returns.
  [[nodiscard]] ErrorCode release();
  // Releases, then brings everything that has been released: after a lock that the last writer has released before unlocking.
  [[nodiscard]] ErrorCode acquire();
  // All processes: everybody's changes are in every copy.
  [[nodiscard]] ErrorCode barrier();

  [[nodiscard]] const Traffic& traffic() const { return traffic_; }

 private:
  static constexpr std::size_t kPage = 4096;

  SharedRegion(Context& context, AreaId id, std::size_t bytes);
  [[nodiscard]] std::size_t pages() const { return (copy_.size() + kPage - 1) / kPage; }
  // Where a page is at home.
  [[nodiscard]] Place home_of(std::size_t page) const;
  [[nodiscard]] std::span<std::byte> part(std::vector<std::byte>& of, std::size_t page) const;

  Context* context_;
  AreaId id_;
  bool open_ = false; // its part of the homes is allocated
  std::vector<std::byte> copy_;
  std::vector<std::byte> twin_; // the copy as the homes know it
  Traffic traffic_;
};

} // namespace heddle
#pragma GCC visibility pop
