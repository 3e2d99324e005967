// Matching of messages and receives: MPI's rules, in constant time for receives that name their source and whole tag, and for those
// of a few other classes (match_class.hpp).
//
//   A message goes to the oldest posted receive that accepts it; a receive takes the oldest unexpected message it accepts.
//   Receives are kept in groups: exact (source and whole tag), one for each class, and the rest. A message looks at the oldest
//   candidate of each and takes the oldest of those. Only the rest is searched one by one.
//   Unexpected messages stand in several structures at once: by (source, tag), in order of arrival, and for each class that a
//   receive has asked for by the key that it has there.
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
  [[nodiscard]] UnexpectedMessage* find(const Match& match) {
    return unexpected_count_ == 0 ? nullptr : find_unexpected(match);
  }
  void add(UnexpectedMessage& message);
  // Takes an unexpected message out.
  void take(UnexpectedMessage& message);

  [[nodiscard]] std::size_t posted() const { return exact_.size() + wild_count_; }
  [[nodiscard]] std::size_t unexpected() const { return unexpected_count_; }
  // Classes that have a table, of receives and of unexpected messages; receives that are in none; and how often something was
  // searched one by one.
  [[nodiscard]] std::size_t classes() const { return posted_classes_.count() + unexpected_classes_.count(); }
  [[nodiscard]] std::size_t outside_classes() const { return others_count_; }
  [[nodiscard]] std::uint64_t searches() const { return searches_; }

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

  struct InExact {
    static Hook<Operation>& hook(Operation& receive) { return receive.posted; }
    static MatchKey key(const Operation& receive) {
      return {.source = static_cast<std::uint32_t>(receive.match.source),
              .tag = static_cast<std::uint64_t>(receive.match.tag)};
    }
  };
  struct UnexpectedInExact {
    static Hook<UnexpectedMessage>& hook(UnexpectedMessage& message) { return message.by_source_and_tag; }
    static MatchKey key(const UnexpectedMessage& message) { return {.source = message.source, .tag = message.tag}; }
  };
  struct UnexpectedInClass {
    MatchClass match_class;
    std::size_t slot = 0;
    Hook<UnexpectedMessage>& hook(UnexpectedMessage& message) const { return message.by_class[slot]; }
    [[nodiscard]] MatchKey key(const UnexpectedMessage& message) const {
      return match_class.key(message.source, message.tag);
    }
  };
  using ReceiveTable = KeyTable<Operation, InExact>; // a receive's source and tag are its key in every class
  struct PostedClass : ReceiveTable {
    PostedClass(const MatchClass& which, std::size_t /*slot*/) : which_(which) {}
    [[nodiscard]] const MatchClass& match_class() const { return which_; }

   private:
    MatchClass which_;
  };
  struct UnexpectedClass : KeyTable<UnexpectedMessage, UnexpectedInClass> {
    UnexpectedClass(const MatchClass& which, std::size_t slot) : KeyTable({.match_class = which, .slot = slot}) {}
    [[nodiscard]] const MatchClass& match_class() const { return access().match_class; }
  };

  void post_wild(Operation& receive);
  Operation* take_oldest(Operation* exact, std::uint32_t source, std::uint64_t tag);
  [[nodiscard]] UnexpectedMessage* find_unexpected(const Match& match);
  // The table of that class, made of all unexpected messages if need be. Null: it has none.
  [[nodiscard]] UnexpectedClass* unexpected_class(const MatchClass& wanted);

  ReceiveTable exact_;
  MatchClasses<PostedClass> posted_classes_;
  OperationList others_;
  std::size_t others_count_ = 0;
  std::size_t wild_count_ = 0; // all but the exact ones
  std::uint64_t order_ = 0;

  KeyTable<UnexpectedMessage, UnexpectedInExact> unexpected_exact_;
  MatchClasses<UnexpectedClass> unexpected_classes_;
  bool wants_other_classes_ = false; // a match of a class without a table has come
  UnexpectedMessage* oldest_ = nullptr;
  UnexpectedMessage* newest_ = nullptr;
  std::size_t unexpected_count_ = 0;
  std::uint64_t searches_ = 0;
};

} // namespace heddle::engine
