// The messages of one plan that are under way, and what has become of those that are not.
#pragma once

#include "engine/engine.hpp"

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace heddle::collective {

class PlanMessages {
 public:
  // What may be under way before more is started: sends and receives together.
  struct Room {
    std::size_t messages = 32;
    std::uint64_t bytes = 128 << 10;
    std::size_t least = 1; // messages under way below which there is always room
  };
  PlanMessages(engine::Engine& engine, Tag tag, Room room) : engine_(engine), tag_(tag), room_(room) {
    under_way_.reserve(std::min<std::size_t>(room.messages, 2 * engine.size()) + 2);
  }

  // A partner that is known to have failed is an outcome like any other: the plan goes on with those that live. What there is no
  // memory for now is tried again by settle: the others wait for it.
  void send(std::uint32_t to, std::span<const std::byte> data);
  void receive(std::uint32_t from, std::span<std::byte> into);

  // Looks at those under way; returns how many have ended since.
  std::size_t settle();
  [[nodiscard]] bool all_ended() const { return under_way_.empty(); }
  [[nodiscard]] bool sends_ended() const { return std::ranges::all_of(under_way_, &Message::receives); }
  // Whether a few more may be started.
  [[nodiscard]] bool room() const;

  // Receives that no message has matched are taken back. The others, and sends, still end by themselves.
  void give_up();

  [[nodiscard]] ErrorCode code() const { return code_; }          // the first that was not ok
  [[nodiscard]] std::uint64_t received() const { return bytes_; } // by receives that have ended
  void note(ErrorCode code) {
    if (code_ == ErrorCode::ok) code_ = code;
  }

 private:
  struct Message {
    std::uint32_t peer = 0;
    bool receives = false;
    std::span<std::byte> memory;
    bool begun = false;
    Request request; // names nothing where the beginning was the end
  };
  void add(const Message& message);
  void begin(Message& message);

  engine::Engine& engine_;
  Tag tag_;
  Room room_;
  std::vector<Message> under_way_;
  std::uint64_t bytes_under_way_ = 0;
  std::uint64_t bytes_ = 0;
  ErrorCode code_ = ErrorCode::ok;
};

} // namespace heddle::collective
