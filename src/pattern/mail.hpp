// The messages of a compile: what is sent, what is awaited. What there is no memory for now is begun later.
#pragma once

#include "base/reserve.hpp"
#include "engine/engine.hpp"
#include "pattern/first_error.hpp"
#include "pattern/meeting.hpp"
#include "pattern/wire.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>

namespace heddle::pattern {

struct Incoming { // wants of one peer, or answers of one
  std::uint32_t rank = 0;
  Topic topic{};
  std::size_t size = 0;
  base::BackedVector<std::byte> bytes; // that many, once begun
  bool begun = false;                  // not while there is no memory for it
  bool taken = false;
  Request request;
  std::uint64_t left = 0; // wants that come after these
  std::size_t first = 0;  // of the items that these answer
};

class Mail {
 public:
  // Both outlive it. What goes wrong with a message is noted.
  Mail(engine::Engine& engine, std::uint32_t serial, FirstError& error)
      : engine_(engine), serial_(serial), error_(error) {}

  void post(std::uint32_t rank, Topic topic, base::BackedVector<std::byte> bytes, SendMode mode);
  void begin(Incoming& incoming);
  // What there was no memory for.
  void begin_what_waits();
  // Lets go of what has been sent.
  void take_sent();

  // Listens for the headers of whoever has wants, until it is stopped.
  void listen();
  struct Heard {
    std::uint32_t rank = 0;
    std::optional<Header> header; // nothing: what it sent is none
  };
  // The next that has come.
  std::optional<Heard> hear();
  void stop_listening();

  [[nodiscard]] bool has_come(const Incoming& incoming) const;
  // Of one that has come. False: it is not sound.
  bool take(Incoming& incoming);

  // Whether a peer does not have yet what it has to have before the telling is over.
  [[nodiscard]] bool is_telling() const;
  [[nodiscard]] bool all_sent() const { return sent_.empty(); }
  [[nodiscard]] bool answers_have_left(std::uint32_t to) const;

  // Forgets what was not begun, and gives up what is awaited.
  void forget_unbegun();
  void cancel();
  // Whether nothing is under way any more.
  [[nodiscard]] bool wound_up();

  base::BackedDeque<Incoming> wants;
  base::BackedDeque<Incoming> answers;

 private:
  struct Outgoing {
    std::uint32_t rank = 0;
    Topic topic{};
    bool synchronous = false; // until the peer has it, the telling is not over
    base::BackedVector<std::byte> bytes;
    bool begun = false; // as above
    Request request;
  };
  void begin(Outgoing& message);

  engine::Engine& engine_;
  const std::uint32_t serial_;
  FirstError& error_;
  base::BackedDeque<Outgoing> sent_;
  Header header_in_;
  Request header_;
  bool listening_ = false; // for it; where header_ names nothing, there is no memory for that yet
};

} // namespace heddle::pattern
