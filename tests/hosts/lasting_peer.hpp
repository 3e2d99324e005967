// What one process of lasting_program does with another, and what it must see of it.
#pragma once

#include "tests/job/member.hpp"

#include <heddle/heddle.hpp>
#include <heddle/onesided.hpp>

#include <array>
#include <cstring>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace heddle::tests {

enum class Manner : std::uint8_t { whole, cut, idle };

inline constexpr Tag kData{1};
inline constexpr Tag kUnsolicited{2};
inline constexpr Tag kCount{4};
inline constexpr AreaId kArea{1};
inline constexpr std::size_t kBlockWords = 4096;
inline constexpr std::size_t kSlotBytes = (1 + kBlockWords) * 8; // a counter, then a block, of each process
inline constexpr std::size_t kLargestWords = 1 << 17;
inline constexpr std::size_t kAtOnce = 4;

class Peer {
 public:
  Peer(Context& context, std::uint32_t other, Manner manner)
      : context_(context),
        other_(other),
        slot_(static_cast<std::uint32_t>(context.rank()) * kSlotBytes),
        cut_(manner == Manner::cut) {
    for (auto& receive : receives_) {
      receive.words.resize(kLargestWords);
      post(receive);
    }
    block_.resize(kBlockWords);
    back_.resize(kBlockWords);
  }

  [[nodiscard]] bool failed() const { return failed_; }
  void fail() { failed_ = true; }
  [[nodiscard]] std::uint64_t heard() const { return received_; }
  [[nodiscard]] std::uint64_t sent() const { return next_; }
  [[nodiscard]] std::uint64_t lost() const { return lost_; }
  // Nothing that this side began is under way.
  [[nodiscard]] bool quiet() const {
    for (const Send& send : sends_)
      if (send.busy) return false;
    return !unsolicited_.busy && one_sided_ended_;
  }

  // Whether something has happened.
  bool step(bool begin) {
    bool moved = false;
    for (Send& send : sends_) moved = go_on(send, begin, kData) || moved;
    moved = go_on(unsolicited_, begin, kUnsolicited) || moved;
    moved = go_on_one_sided(begin) || moved;
    while (!failed_) {
      Receive& oldest = receives_[oldest_];
      if (!oldest.posted) post(oldest);
      const auto ended = oldest.posted ? context_.test(oldest.request) : std::nullopt;
      if (!ended) break;
      moved = true;
      oldest.posted = false;
      if (ended->code == ErrorCode::ok)
        take(oldest, *ended);
      else
        expect_sound(ended->code, "receive");
      post(oldest);
      oldest_ = (oldest_ + 1) % kAtOnce;
    }
    if (awaits_count_ && !failed_) post_count();
    if (count_) look_at_count();
    return moved;
  }

  void take_unsolicited(const UnsolicitedMessage& message) {
    std::vector<std::uint64_t> words(message.bytes / 8);
    std::memcpy(words.data(), message.data, message.bytes);
    check(words, "unsolicited message");
    const std::uint64_t number = words[0];
    demand(unsolicited_seen_.insert(number).second, "an unsolicited message came twice");
    if (words.size() > 16) return; // a large one may be overtaken
    demand(number > last_small_, "unsolicited messages came out of order");
    last_small_ = number;
  }

  // --- the end ---

  void expect_count() { post_count(); }
  // The other has said how much it has sent, and where nothing may be lost all of it has come.
  [[nodiscard]] bool complete() const {
    return counted_ && (cut_ || received_ + unsolicited_seen_.size() == their_count_);
  }
  void expect_sound(ErrorCode code, const std::string& what) {
    if (code == ErrorCode::ok) return;
    if (code == ErrorCode::peer_left && counted_) return; // it is done, and so is all that matters here
    ++lost_;
    const ErrorCode allowed = cut_ ? ErrorCode::connection_lost : ErrorCode::peer_failed;
    demand(code == allowed,
           what + " with rank " + std::to_string(other_) + " ended with " + std::string(to_string(code)));
    if (code == ErrorCode::peer_failed) refused_ = true; // its event comes
  }

 private:
  struct Receive {
    Request request;
    bool posted = false;
    std::vector<std::uint64_t> words;
  };
  struct Send {
    Request request;
    bool busy = false;
    std::vector<std::uint64_t> words;
  };

  static void fill(std::vector<std::uint64_t>& words, std::uint64_t number) {
    for (std::size_t i = 0; i < words.size(); ++i) words[i] = number * 1'000'003 + i;
    words[0] = number;
  }
  static void check(const std::vector<std::uint64_t>& words, const char* what) {
    for (std::size_t i = 1; i < words.size(); ++i)
      demand(words[i] == words[0] * 1'000'003 + i, std::string("damaged: ") + what);
  }

  void post(Receive& receive) {
    if (failed_ || refused_) return;
    const auto posted =
        context_.receive({.source = Rank{other_}, .tag = kData}, Layout(receive.words.data(), kLargestWords * 8));
    if (!posted) return expect_sound(posted.error().code, "receive");
    receive.request = *posted;
    receive.posted = true;
  }

  void take(const Receive& receive, const Completion& ended) {
    std::vector<std::uint64_t> words(receive.words.begin(),
                                     receive.words.begin() + static_cast<std::ptrdiff_t>(ended.bytes / 8));
    check(words, "message");
    demand(words[0] > last_, "a message came twice, or out of order");
    last_ = words[0];
    ++received_;
  }

  bool go_on(Send& send, bool begin, Tag tag) {
    if (send.busy) {
      const auto ended = context_.test(send.request);
      if (!ended) return false;
      send.busy = false;
      expect_sound(ended->code, "send");
      return true;
    }
    if (!begin || failed_ || refused_) return false;
    const std::uint64_t number = ++number_;
    const std::size_t large = tag == kData ? kLargestWords : 1 << 14;
    send.words.resize(number % 16 == 15 ? large : number % 5 == 4 ? 700 : 1 + number % 16);
    fill(send.words, number);
    const ConstLayout data(send.words.data(), send.words.size() * 8);
    const auto begun =
        tag == kData ? context_.send(Rank{other_}, tag, data) : context_.send_unsolicited(Rank{other_}, tag, data);
    if (!begun) {
      expect_sound(begun.error().code, "send");
      return false;
    }
    ++next_;
    send.request = *begun;
    send.busy = true;
    return true;
  }

  // In turn: one is added to a counter of the other's, a block is pushed to it, and pulled back.
  bool go_on_one_sided(bool begin) {
    OneSided& one = context_.one_sided();
    if (!one_sided_ended_) {
      if (!one.test(tracker_)) return false;
      one_sided_ended_ = true;
      const bool well = tracker_.code() == ErrorCode::ok;
      expect_sound(tracker_.code(), "one-sided operation");
      if (stage_ == 0) {
        added_ += well ? 1 : 0;
        ++tried_;
        demand(!well || (tracker_.value() + 1 >= added_ && tracker_.value() < tried_),
               "an addition was made twice, or not");
        demand(!well || cut_ || tracker_.value() + 1 == added_, "an addition was made twice, or not");
      }
      if (stage_ == 2 && well && pushed_) demand(back_ == block_, "a block came back damaged");
      pushed_ = stage_ == 1 && well;
      stage_ = well ? (stage_ + 1) % 3 : 0;
      tracker_.reset();
      return true;
    }
    if (!begin || failed_ || refused_) return false;
    one_sided_ended_ = false;
    const Place place{Rank{other_}, kArea, slot_ + (stage_ == 0 ? 0 : 8)};
    if (stage_ == 1) fill(block_, tried_);
    if (stage_ == 0)
      one.atomic(place, Atomic::add(1), tracker_);
    else if (stage_ == 1)
      one.push(place, std::as_bytes(std::span(block_)), tracker_);
    else
      one.pull(place, std::as_writable_bytes(std::span(back_)), tracker_);
    return true;
  }

  void post_count() {
    const auto posted = context_.receive({.source = Rank{other_}, .tag = kCount}, Layout(&their_count_, 8));
    if (posted)
      count_ = *posted;
    else
      expect_sound(posted.error().code, "receive of the count");
    awaits_count_ = !posted;
  }
  void look_at_count() {
    const auto ended = context_.test(*count_);
    if (!ended) return;
    counted_ = counted_ || ended->code == ErrorCode::ok;
    expect_sound(ended->code, "receive of the count");
    count_.reset();
    if (!counted_ || cut_) post_count(); // where its sender has not learnt that it arrived, it comes again
  }

  Context& context_;
  std::uint32_t other_;
  std::uint64_t slot_; // of this process, in the other's area
  bool cut_;
  bool failed_ = false;
  bool refused_ = false;
  std::uint64_t number_ = 0; // of the last message begun
  std::uint64_t next_ = 0;   // messages that were begun
  std::uint64_t lost_ = 0;
  std::uint64_t received_ = 0;
  std::uint64_t last_ = 0;
  std::uint64_t last_small_ = 0;
  std::set<std::uint64_t> unsolicited_seen_;
  std::size_t oldest_ = 0;
  std::array<Receive, kAtOnce> receives_;
  std::array<Send, kAtOnce> sends_;
  Send unsolicited_;
  Tracker tracker_;
  bool one_sided_ended_ = true;
  bool pushed_ = false;
  int stage_ = 0;
  std::uint64_t added_ = 0;
  std::uint64_t tried_ = 0;
  std::vector<std::uint64_t> block_;
  std::vector<std::uint64_t> back_;
  std::optional<Request> count_;
  bool awaits_count_ = false; // and could not say so
  bool counted_ = false;
  std::uint64_t their_count_ = 0;
};

} // namespace heddle::tests
