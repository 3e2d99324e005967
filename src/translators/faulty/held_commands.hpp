// Commands that a faulty network has taken and not yet carried out.
#pragma once

#include "ir/command.hpp"

#include <concepts>
#include <cstdint>
#include <deque>
#include <map>
#include <vector>

namespace heddle::translators {

struct HeldCommand {
  ir::Command command;
  std::uint64_t due = 0; // at this poll
  bool refused = false;  // ends as refused when its turn comes
  // The contents of a put whose memory the caller may reuse at once; `command.local` points here.
  std::vector<std::byte> contents;
};

class HeldCommands {
 public:
  explicit HeldCommands(bool keep_order) : keep_order_(keep_order) {}

  // `copy`: the memory at command.local is the caller's again when this returns.
  void push(const ir::Command& command, std::uint64_t due, bool refused, bool copy);

  [[nodiscard]] bool keeps_order() const { return keep_order_; }
  [[nodiscard]] bool any_for(ir::Peer peer) const { return waiting_.contains(peer); }
  [[nodiscard]] std::size_t size() const { return size_; }

  // Hands each command whose time has come to `pass_on`, until that says no; a command for one peer waits for those
  // before it if order is kept.
  void release(std::uint64_t now, std::predicate<const HeldCommand&> auto pass_on) {
    for (auto peer = waiting_.begin(); peer != waiting_.end();)
      peer = release(peer, now, pass_on) ? waiting_.erase(peer) : std::next(peer);
  }
  // The same for one peer's, whatever their time.
  void release_all(ir::Peer peer, std::predicate<const HeldCommand&> auto pass_on) {
    const auto found = waiting_.find(peer);
    if (found != waiting_.end() && release(found, ~std::uint64_t{0}, pass_on)) waiting_.erase(found);
  }

 private:
  using Waiting = std::map<ir::Peer, std::deque<HeldCommand>>; // never an empty queue

  // True when nothing is left for that peer.
  bool release(Waiting::iterator peer, std::uint64_t now, auto& pass_on) {
    std::deque<HeldCommand>& queue = peer->second;
    for (auto held = queue.begin(); held != queue.end();) {
      if (held->due > now) {
        if (keep_order_) return false;
        ++held;
        continue;
      }
      if (!pass_on(*held)) return false;
      held = queue.erase(held);
      --size_;
    }
    return queue.empty();
  }

  bool keep_order_;
  Waiting waiting_;
  std::size_t size_ = 0;
};

} // namespace heddle::translators
