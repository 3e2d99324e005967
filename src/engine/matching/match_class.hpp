// A class of matches: those that look at the same bits of the tag, and at the source or not. Within a class, what fits has equal keys, so
// that a hash finds it however many others there are.
#pragma once

#include "engine/matching/key_table.hpp"

#include <heddle/heddle.hpp>

#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>

namespace heddle::engine {

struct MatchClass {
  std::uint64_t mask = kWholeTag;
  bool any_source = false;
  friend bool operator==(const MatchClass&, const MatchClass&) = default;

  [[nodiscard]] static MatchClass of(const Match& match) {
    return {.mask = match.mask, .any_source = match.source == kAnySource};
  }
  // What a message has to look like for a match of this class.
  [[nodiscard]] MatchKey key(std::uint32_t source, std::uint64_t tag) const {
    return {.source = any_source ? static_cast<std::uint32_t>(kAnySource) : source, .tag = tag & mask};
  }
};

// The classes that have a table of their own. Programs use few; each costs a look for every message, so there is a limit, and what is
// beyond it is searched one by one.
inline constexpr std::size_t kMatchClasses = 6;

// Table: made of a MatchClass and the number of its slot; size() and match_class().
template <typename Table>
class MatchClasses {
 public:
  // The table of that class, or null.
  [[nodiscard]] Table* find(const MatchClass& wanted) {
    for (std::size_t i = 0; i < used_; ++i)
      if (slots_[i]->match_class() == wanted) return &*slots_[i];
    return nullptr;
  }
  // A new one, in a slot that is free or whose table is empty. Null: there is none, or no memory for it.
  [[nodiscard]] Table* make(const MatchClass& wanted) try {
    if (used_ < kMatchClasses) {
      slots_[used_].emplace(wanted, used_);
      return &*slots_[used_++];
    }
    for (std::size_t i = 0; i < kMatchClasses; ++i)
      if (slots_[i]->size() == 0) {
        Table fresh(wanted, i);
        slots_[i].emplace(std::move(fresh));
        return &*slots_[i];
      }
    return nullptr;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
  void forget() {
    while (used_ > 0) slots_[--used_].reset();
  }
  [[nodiscard]] std::size_t count() const { return used_; }

  template <typename Visit>
  void visit(Visit&& visit) {
    for (std::size_t i = 0; i < used_; ++i) visit(*slots_[i]);
  }

 private:
  std::optional<Table> slots_[kMatchClasses];
  std::size_t used_ = 0; // slots that hold a table: the first ones
};

} // namespace heddle::engine
