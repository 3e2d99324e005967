#include "engine/matching/matching.hpp"

namespace heddle::engine {

// A receive is in the table of its class, or among the others: in_class tells which, since classes come and go.
void Matching::post_wild(Operation& receive) {
  ++wild_count_;
  const MatchClass wanted = MatchClass::of(receive.match);
  PostedClass* table = posted_classes_.find(wanted);
  if (table == nullptr) table = posted_classes_.make(wanted);
  receive.in_class = table != nullptr;
  if (table != nullptr) {
    table->push_back(receive);
  } else {
    others_.push_back(receive);
    ++others_count_;
  }
}

void Matching::remove(Operation& receive) {
  if (is_exact(receive.match)) {
    exact_.remove(receive);
    return;
  }
  --wild_count_;
  if (receive.in_class) {
    posted_classes_.find(MatchClass::of(receive.match))->remove(receive);
  } else {
    others_.remove(receive);
    --others_count_;
  }
}

Operation* Matching::take_oldest(Operation* exact, std::uint32_t source, std::uint64_t tag) {
  Operation* oldest = exact;
  const auto consider = [&oldest](Operation* candidate) {
    if (candidate != nullptr && (oldest == nullptr || candidate->order < oldest->order)) oldest = candidate;
  };
  posted_classes_.visit([&](const PostedClass& table) {
    if (table.size() != 0) consider(table.find(table.match_class().key(source, tag)));
  });
  if (others_count_ != 0) {
    ++searches_;
    Operation* other = others_.front();
    while (other != nullptr && !accepts(other->match, source, tag)) other = other->next;
    consider(other);
  }
  if (oldest != nullptr) remove(*oldest);
  return oldest;
}

Matching::UnexpectedClass* Matching::unexpected_class(const MatchClass& wanted) {
  if (UnexpectedClass* table = unexpected_classes_.find(wanted)) return table;
  UnexpectedClass* table = unexpected_classes_.make(wanted);
  if (table == nullptr) {
    wants_other_classes_ = true;
    return nullptr;
  }
  for (UnexpectedMessage* message = oldest_; message != nullptr; message = message->in_order.next)
    table->push_back(*message);
  return table;
}

UnexpectedMessage* Matching::find_unexpected(const Match& match) {
  const MatchKey wanted{.source = static_cast<std::uint32_t>(match.source),
                        .tag = static_cast<std::uint64_t>(match.tag)};
  if (is_exact(match)) return unexpected_exact_.find(wanted);
  // The oldest of all is often the one, and then no table need be made for it.
  if (accepts(match, oldest_->source, oldest_->tag)) return oldest_;
  if (unexpected_count_ == 1) return nullptr;
  if (const UnexpectedClass* table = unexpected_class(MatchClass::of(match))) return table->find(wanted);
  ++searches_;
  UnexpectedMessage* message = oldest_;
  while (message != nullptr && !accepts(match, message->source, message->tag)) message = message->in_order.next;
  return message;
}

void Matching::add(UnexpectedMessage& message) {
  unexpected_exact_.push_back(message);
  unexpected_classes_.visit([&message](UnexpectedClass& table) { table.push_back(message); });
  message.in_order = {.next = nullptr, .previous = newest_};
  (newest_ == nullptr ? oldest_ : newest_->in_order.next) = &message;
  newest_ = &message;
  ++unexpected_count_;
}

void Matching::take(UnexpectedMessage& message) {
  unexpected_exact_.remove(message);
  unexpected_classes_.visit([&message](UnexpectedClass& table) { table.remove(message); });
  Hook<UnexpectedMessage>& hook = message.in_order;
  (hook.previous == nullptr ? oldest_ : hook.previous->in_order.next) = hook.next;
  (hook.next == nullptr ? newest_ : hook.next->in_order.previous) = hook.previous;
  hook = {};
  // Nothing is in the tables: those that are wanted now are made anew, first come.
  if (--unexpected_count_ == 0 && wants_other_classes_) {
    unexpected_classes_.forget();
    wants_other_classes_ = false;
  }
}

} // namespace heddle::engine
