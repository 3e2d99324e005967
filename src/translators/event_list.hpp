// Events that wait to be polled. For translators that carry commands out as they come.
#pragma once

#include "base/reserve.hpp"
#include "ir/event.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>
#include <span>
#include <vector>

namespace heddle::translators {

// With base::BackedAllocator a push needs no memory that could be lacking: for events that come unasked.
template <template <typename> typename Allocator>
class BasicEventList {
 public:
  void push(const ir::Event& event) { events_.push_back(event); }
  // That a command has ended, where it asked to be told.
  void complete(const ir::Command& command, ir::Status status, std::uint64_t value = 0, std::int64_t vendor_code = 0) {
    if (!ir::has(command.flags, ir::Flags::signalled)) return;
    push({.kind = ir::EventKind::completed,
          .status = status,
          .peer = command.peer,
          .cookie = command.cookie,
          .value = value,
          .vendor_code = vendor_code});
  }
  // Whether the next pushes need no memory. Asked before a command is carried out, which cannot be taken back.
  [[nodiscard]] bool make_room(std::size_t count = 1) {
    if (events_.capacity() - events_.size() >= count) [[likely]]
      return true;
    try {
      events_.reserve(std::max<std::size_t>(16, 2 * events_.size() + count));
    } catch (const std::bad_alloc&) {
      return false;
    }
    return true;
  }

  std::size_t pop(std::span<ir::Event> to) {
    const std::size_t count = std::min(to.size(), events_.size() - next_);
    std::copy_n(events_.begin() + static_cast<std::ptrdiff_t>(next_), count, to.begin());
    next_ += count;
    // Rare enough that moving the rest costs less than one copy an event; so the list is never twice as long as needed.
    if (next_ * 2 >= events_.size()) {
      events_.erase(events_.begin(), events_.begin() + static_cast<std::ptrdiff_t>(next_)); // keeps its memory
      next_ = 0;
    }
    return count;
  }
  [[nodiscard]] bool empty() const { return next_ == events_.size(); }
  // Events for which memory is in use, also those already given.
  [[nodiscard]] std::size_t stored() const { return events_.size(); }

 private:
  std::vector<ir::Event, Allocator<ir::Event>> events_;
  std::size_t next_ = 0;
};

using EventList = BasicEventList<std::allocator>;
using BackedEventList = BasicEventList<base::BackedAllocator>;

} // namespace heddle::translators
