// Matching of messages and receives: MPI's rules, in constant time for receives that name their source and whole tag.
//
//   A message goes to the oldest posted receive that accepts it; a receive takes the oldest unexpected message it accepts.
//   Receives are kept in three groups: exact (source and whole tag), any source with whole tag, and all others. A message
//   looks at the oldest candidate of each and takes the oldest of those. Only the third group is searched one by one.
//   Unexpected messages stand in three structures at once: by (source, tag), by tag, and in order of arrival.
//
// Not here: what happens to a matched pair (messages/).
#pragma once

#include "engine/matching/unexpected_message.hpp"
#include "engine/operation.hpp"

namespace heddle::engine {

constexpr bool accepts(const Match& match, std::uint32_t source, std::uint64_t tag) {
  return (match.source == kAnySource || static_cast<std::uint32_t>(match.source) == source) &&
         (tag & match.mask) == static_cast<std::uint64_t>(match.tag);
}

class Matching {
 public:
  // The receive that the message goes to, taken out; or null.
  Operation* take_receive(std::uint32_t source, std::uint64_t tag) {
    if (wild_count_ != 0) [[unlikely]]
      return take_oldest(exact_.find({source, tag}), source, tag);
    return exact_.take({source, tag});
  }
  void post(Operation& receive) {
    receive.order = ++order_;
    if (is_exact(receive.match)) [[likely]]
      exact_.push_back(receive);
    else
      post_wild(receive);
  }
  // Takes a posted receive back.
  void remove(Operation& receive);

  // The unexpected message that a receive with this match gets, or null. It stays.
  [[nodiscard]] UnexpectedMessage* find(const Match& match) const {
    return unexpected_count_ == 0 ? nullptr : find_unexpected(match);
  }
  void add(UnexpectedMessage& message);
  // Takes an unexpected message out.
  void take(UnexpectedMessage& message);

  [[nodiscard]] std::size_t posted() const { return exact_.size() + wild_count_; }
  [[nodiscard]] std::size_t unexpected() const { return unexpected_count_; }

  // Calls visit for every unexpected message, oldest first. It may take the one visited.
  template <typename Visit>
  void visit_unexpected(Visit&& visit) {
    for (UnexpectedMessage* message = oldest_; message != nullptr;) {
      UnexpectedMessage* next = message->in_order.next;
      visit(*message);
      message = next;
    }
  }

 private:
  static bool is_exact(const Match& match) { return match.mask == kWholeTag && match.source != kAnySource; }
  static bool is_tag_only(const Match& match) { return match.mask == kWholeTag && match.source == kAnySource; }
  static MatchKey key_of(const Operation& receive) {
    return {.source = static_cast<std::uint32_t>(receive.match.source),
            .tag = static_cast<std::uint64_t>(receive.match.tag)};
  }
  static MatchKey full_key(const UnexpectedMessage& message) { return {.source = message.source, .tag = message.tag}; }
  static MatchKey tag_key(const UnexpectedMessage& message) { return {.source = 0, .tag = message.tag}; }

  void post_wild(Operation& receive);
  Operation* take_oldest(Operation* exact, std::uint32_t source, std::uint64_t tag);
  [[nodiscard]] UnexpectedMessage* find_unexpected(const Match& match) const;

  using ReceiveTable = KeyTable<Operation, &Operation::posted, &Matching::key_of>;
  ReceiveTable exact_;
  ReceiveTable tag_only_; // any source, whole tag
  OperationList others_;
  std::size_t wild_count_ = 0; // tag_only_ and others_ together
  std::uint64_t order_ = 0;

  KeyTable<UnexpectedMessage, &UnexpectedMessage::by_source_and_tag, &Matching::full_key> unexpected_exact_;
  KeyTable<UnexpectedMessage, &UnexpectedMessage::by_tag, &Matching::tag_key> unexpected_by_tag_;
  UnexpectedMessage* oldest_ = nullptr;
  UnexpectedMessage* newest_ = nullptr;
  std::size_t unexpected_count_ = 0;
};

} // namespace heddle::engine
