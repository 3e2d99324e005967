// What a run knows of its members: who is who, who has closed, and who has removed whom. So it can say which ends a member must be
// told of, and which not.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>

namespace heddle {

class Ledger {
 public:
  // Members have numbers in the run, unique ids on the wire.
  void opened(std::uint64_t number, std::uint64_t uid) { numbers_[uid] = number; }
  [[nodiscard]] bool is_free(std::uint64_t uid) const { return !numbers_.contains(uid); }
  [[nodiscard]] std::uint64_t number_of(std::uint64_t uid) const { return numbers_.at(uid); }

  void closed(std::uint64_t number) { closed_.insert(number); }
  [[nodiscard]] bool has_closed(std::uint64_t number) const { return closed_.contains(number); }

  // `who` knew `whom` by that rank.
  void removed(std::uint64_t who, std::uint32_t rank, std::uint64_t whom) {
    removed_.insert({who, rank});
    ++removals_[{who, whom}];
  }
  [[nodiscard]] bool has_removed(std::uint64_t who, std::uint32_t rank) const { return removed_.contains({who, rank}); }

  // A member is told that another has left. False: it has not, nor has it removed the member that often.
  bool told(std::uint64_t whom, std::uint64_t of) {
    const std::uint64_t causes = removals_[{of, whom}] + (has_closed(of) ? 1 : 0);
    return ++told_[{whom, of}] <= causes;
  }

 private:
  using Two = std::pair<std::uint64_t, std::uint64_t>;
  std::map<std::uint64_t, std::uint64_t> numbers_; // by unique id
  std::set<std::uint64_t> closed_;
  std::set<std::pair<std::uint64_t, std::uint32_t>> removed_; // who, and by which rank
  std::map<Two, std::uint64_t> removals_;                     // who, whom
  std::map<Two, std::uint64_t> told_;                         // whom, of whom
};

} // namespace heddle
