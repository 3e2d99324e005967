// How both ends of a connection prove to each other that they know the secret, before anything else is read: challenge and
// response with a keyed hash. Docs: docs/protocols/introduction.md.
//
//   who calls                        who answers
//   greeting: service, nonce   ->
//                              <-    challenge: verdict, nonce
//   proof                      ->
//                              <-    proof
//   Instead of either answer, a process that is about to leave says so.
//
// Each message has 32 bytes. A proof is the keyed hash of greeting, challenge, the address at which the call is answered, and the side that
// gives it: it fits no other connection, not the other direction, and nobody who passes it on to another door. What comes after is
// neither hidden nor signed.
#pragma once

#include "auth/secret.hpp"
#include "net/endpoint.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace heddle::auth {

enum class Purpose : std::uint8_t { peer = 1, store, agent };

// What a connection is for, and which version of its protocol is spoken after the introduction.
struct Service {
  Purpose purpose{};
  std::uint16_t version = 0;
  bool own_order = false; // numbers are sent in the machine's own byte order, so both must have the same
};

inline constexpr std::size_t kMessageBytes = 32;

class Introduction {
 public:
  enum class Role : std::uint8_t { calls, answers };
  enum class State : std::uint8_t {
    goes_on,
    proven, // the other side knows the secret, and knows that this one does
    failed,
  };

  Introduction(Role role, const Secret& secret, Service service);

  // Reads and writes what it can, and never a byte beyond the introduction. `socket` must be non-blocking and connected. A stranger
  // is told nothing: the connection is to be closed.
  State advance(int socket);

  // For who answers: this process leaves, and lets nobody in any more.
  static void decline(int socket);
  // For who calls: the other side has said that. Unproven: anybody could.
  [[nodiscard]] bool declined() const { return declined_; }

  // It failed because the connection ended, not because of what was said: a further try may do.
  [[nodiscard]] bool broke_off() const { return broke_off_; }

  // Why it has failed, for people: what is known of the other side.
  [[nodiscard]] const std::string& reason() const { return reason_; }

  // One message without a socket: what is to be sent back, empty where nothing is. For advance, and for tests.
  State take(std::span<const std::byte, kMessageBytes> message);
  [[nodiscard]] std::span<const std::byte> reply() const { return {reply_.data(), reply_bytes_}; }
  State begin();
  // Where the call is answered goes into the proof. Without, as in tests of one process, it is nowhere.
  void take_place(int socket);

 private:
  using Message = std::array<std::byte, kMessageBytes>;

  enum class Expects : std::uint8_t { start, greeting, challenge, proof, nothing };

  State take_greeting();
  State take_challenge();
  State take_proof();
  [[nodiscard]] Message prove(Role side) const;
  void answer_with(const Message& message);
  [[nodiscard]] bool is_declined() const;
  State fail(std::string reason);

  Role role_;
  Secret secret_;
  Service service_;
  Expects expects_;
  Message greeting_{};
  Message challenge_{};
  Message incoming_{};
  std::size_t have_ = 0;
  Message reply_{};
  std::size_t reply_bytes_ = 0;
  std::string reason_;
  net::Endpoint place_; // where the call is answered, as this side sees it
  bool has_place_ = false;
  bool declined_ = false;
  bool broke_off_ = false;
};

} // namespace heddle::auth
