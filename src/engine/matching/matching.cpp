#include "engine/matching/matching.hpp"

namespace heddle::engine {

void Matching::post_wild(Operation& receive) {
  ++wild_count_;
  if (is_tag_only(receive.match))
    tag_only_.push_back(receive);
  else
    others_.push_back(receive);
}

void Matching::remove(Operation& receive) {
  if (is_exact(receive.match)) {
    exact_.remove(receive);
    return;
  }
  --wild_count_;
  if (is_tag_only(receive.match))
    tag_only_.remove(receive);
  else
    others_.remove(receive);
}

Operation* Matching::take_oldest(Operation* exact, std::uint32_t source, std::uint64_t tag) {
  Operation* oldest = exact;
  const auto consider = [&oldest](Operation* candidate) {
    if (candidate != nullptr && (oldest == nullptr || candidate->order < oldest->order)) oldest = candidate;
  };
  consider(tag_only_.find({static_cast<std::uint32_t>(kAnySource), tag}));
  Operation* other = others_.front();
  while (other != nullptr && !accepts(other->match, source, tag)) other = other->next;
  consider(other);
  if (oldest != nullptr) remove(*oldest);
  return oldest;
}

UnexpectedMessage* Matching::find_unexpected(const Match& match) const {
  const auto tag = static_cast<std::uint64_t>(match.tag);
  if (is_exact(match)) return unexpected_exact_.find({static_cast<std::uint32_t>(match.source), tag});
  if (is_tag_only(match)) return unexpected_by_tag_.find({0, tag});
  UnexpectedMessage* message = oldest_;
  while (message != nullptr && !accepts(match, message->source, message->tag)) message = message->in_order.next;
  return message;
}

void Matching::add(UnexpectedMessage& message) {
  unexpected_exact_.push_back(message);
  unexpected_by_tag_.push_back(message);
  message.in_order = {.next = nullptr, .previous = newest_};
  (newest_ == nullptr ? oldest_ : newest_->in_order.next) = &message;
  newest_ = &message;
  ++unexpected_count_;
}

void Matching::take(UnexpectedMessage& message) {
  unexpected_exact_.remove(message);
  unexpected_by_tag_.remove(message);
  Hook<UnexpectedMessage>& hook = message.in_order;
  (hook.previous == nullptr ? oldest_ : hook.previous->in_order.next) = hook.next;
  (hook.next == nullptr ? newest_ : hook.next->in_order.previous) = hook.previous;
  hook = {};
  --unexpected_count_;
}

} // namespace heddle::engine
