#include "tests/traffic/judge.hpp"

#include "tests/scenario/content.hpp"

#include <algorithm>
#include <cstring>

namespace heddle::tests {

namespace {

std::string describe(const Sent& sent) {
  return "message " + std::to_string(sent.number) + " from " + std::to_string(sent.from) + " to " +
         std::to_string(sent.to) + " of " + std::to_string(sent.bytes) + " bytes, tag " + std::to_string(sent.tag);
}

} // namespace

// The number, as much of it as there is room for, then bytes that tell messages apart.
std::vector<std::byte> Sent::content() const {
  const std::byte* pattern = pattern_bytes(number * 31 + from * 7 + to * 3 + 1, bytes);
  std::vector<std::byte> all(pattern, pattern + bytes);
  put_bytes(all.data(), &number, std::min<std::uint64_t>(bytes, sizeof number));
  return all;
}

bool Sent::begins_with(std::span<const std::byte> got) const {
  if (got.size() > bytes) return false;
  const std::size_t head = std::min<std::size_t>(got.size(), sizeof number);
  const std::byte* pattern = pattern_bytes(number * 31 + from * 7 + to * 3 + 1, bytes);
  return same_bytes(got.data(), &number, head) && same_bytes(got.data() + head, pattern + head, got.size() - head);
}

void Operation::end(const Completion& how) {
  ended = true;
  completion = how;
  if (is_send) {
    region->scribble();
    return;
  }
  const bool has_message = how.code == ErrorCode::ok || how.code == ErrorCode::truncated;
  if (has_message) {
    got = region->read(std::min(how.bytes, room));
    rest_untouched = region->rest_untouched(got.size());
  }
  // A failed receive may have been written in part, and its peer's kernel may still be at it.
  if (!ended_with_its_peer(how.code)) region.reset();
}

std::string Judge::verdict(bool partly) {
  if (auto problem = assign(); !problem.empty()) return problem;
  for (const auto check : {&Judge::check_nothing_lost, &Judge::check_overtaking, &Judge::check_passing_over}) {
    if (partly && check == &Judge::check_nothing_lost) continue;
    if (auto problem = (this->*check)(); !problem.empty()) return problem;
  }
  return {};
}

// Which receive got which message: of equal sender and tag the first posted gets the first sent.
std::string Judge::assign() {
  std::map<Key, std::vector<Sent*>> sent_by;
  for (Sent* sent : messages_)
    if (!sent->unsolicited) sent_by[{sent->from, sent->tag}].push_back(sent);
  std::map<Key, std::vector<const Operation*>> got_by;
  for (const Operation* receive : receives_) {
    if (!receive->ended) return "a receive has no end";
    const Completion& completion = receive->completion;
    if (receive->cancelled != (completion.code == ErrorCode::cancelled)) return "a receive was cancelled and was not";
    if (receive->cancelled) continue;
    if (ended_with_its_peer(completion.code)) {
      // Once one is gone, receives may be left over, as their messages went to those that waited for the dead; when the
      // others leave, these end too.
      if (std::ranges::find(gone_, true) == gone_.end()) return "a receive failed and nobody is gone";
      continue;
    }
    got_by[{static_cast<std::uint32_t>(completion.peer), static_cast<std::uint64_t>(completion.tag)}].push_back(
        receive);
  }
  for (auto& [key, receives] : got_by)
    if (auto problem = assign_of(key, receives, sent_by[key]); !problem.empty()) return problem;
  return {};
}

// Of a dead sender some may have failed, and the number at the start of the message tells.
std::string Judge::assign_of(const Key& key, std::vector<const Operation*>& receives, std::vector<Sent*>& sends) {
  std::sort(receives.begin(), receives.end(), [](const auto* a, const auto* b) { return a->order < b->order; });
  if (receives.size() > sends.size()) return "more was received than sent from rank " + std::to_string(key.first);
  for (std::size_t i = 0; i < receives.size(); ++i) {
    Sent* sent = sends[i];
    if (dead_[key.first]) {
      std::uint64_t number = 0;
      if (receives[i]->got.size() < 8) return "a message of the dead is too short to be one of its";
      for (std::uint64_t byte = 0; byte < 8; ++byte)
        number |= static_cast<std::uint64_t>(receives[i]->got[byte]) << (8 * byte);
      const auto found = std::find_if(sends.begin(), sends.end(), [&](auto* at) { return at->number == number; });
      if (found == sends.end()) return "a message of the dead that it never sent";
      sent = *found;
    }
    if (auto problem = check_content(*receives[i], *sent); !problem.empty()) return describe(*sent) + ": " + problem;
    if (sent->receive != nullptr) return describe(*sent) + ": received twice";
    sent->receive = receives[i];
  }
  return {};
}

std::string Judge::check_content(const Operation& receive, const Sent& sent) {
  const std::uint64_t taken = std::min(sent.bytes, receive.room);
  if (receive.completion.message_bytes != sent.bytes)
    return "was said to have " + std::to_string(receive.completion.message_bytes) + " bytes";
  if (receive.completion.bytes != taken || receive.got.size() != taken) return "another part of it was delivered";
  if (receive.completion.code != (sent.bytes > receive.room ? ErrorCode::truncated : ErrorCode::ok))
    return "ended with " + std::string(to_string(receive.completion.code));
  if (!sent.begins_with(receive.got)) {
    const auto wrong = std::ranges::mismatch(receive.got, sent.content()).in1;
    return "byte " + std::to_string(wrong - receive.got.begin()) + " is wrong";
  }
  if (!receive.rest_untouched) return "memory beside it was touched";
  if (!accepts(receive.match, sent)) return "went to a receive that does not accept it";
  return {};
}

std::string Judge::check_nothing_lost() const {
  for (const Sent* sent : messages_)
    if (((!from_dead(*sent) && !sent->may_fail) || sent->sure) &&
        !(sent->unsolicited ? sent->arrived : sent->receive != nullptr))
      return describe(*sent) + ": got lost";
  return {};
}

// MPI's rules. A receive does not get a message while an earlier one of that sender that it accepts is left or goes to a
// later receive ...
std::string Judge::check_overtaking() const {
  for (const Sent* sent : messages_) {
    if (sent->unsolicited || sent->receive == nullptr || from_dead(*sent)) continue;
    for (const Sent* earlier : messages_) {
      if (earlier->unsolicited || earlier->from != sent->from || earlier->number >= sent->number ||
          !accepts(sent->receive->match, *earlier))
        continue;
      if (earlier->receive == nullptr || earlier->receive->order >= sent->receive->order)
        return describe(*sent) + ": overtook an earlier one";
    }
  }
  return {};
}

// ... and no earlier receive that accepts the message is left, or gets a later message of that sender.
std::string Judge::check_passing_over() const {
  std::map<const Operation*, const Sent*> message_of;
  for (const Sent* sent : messages_)
    if (sent->receive != nullptr) message_of[sent->receive] = sent;
  for (const auto& [receive, sent] : message_of) {
    for (const Operation* earlier : receives_) {
      if (earlier->order >= receive->order || earlier->cancelled || !accepts(earlier->match, *sent)) continue;
      const auto got = message_of.find(earlier);
      if (got == message_of.end()) {
        if (!ended_with_its_peer(earlier->completion.code)) return describe(*sent) + ": passed over a receive";
        continue;
      }
      if (got->second->from == sent->from && got->second->number >= sent->number)
        return describe(*sent) + ": an earlier receive got a later message";
    }
  }
  return {};
}

} // namespace heddle::tests
