#include "auth/introduction.hpp"

#include "net/endpoint.hpp"

#include <sodium.h>
#include <sys/socket.h>

#include <bit>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <system_error>
#include <utility>

namespace heddle::auth {

namespace {

constexpr std::array<char, 8> kMagic{'h', 'e', 'd', 'd', 'l', 'e', '-', '1'};

enum class Verdict : std::uint8_t { welcome = 1, other_service, other_version, other_order, leaves };

// Greeting and challenge. The version is big-endian.
struct Opening {
  std::array<char, 8> magic = kMagic;
  std::uint8_t word = 0; // purpose, verdict
  std::uint8_t order = std::endian::native == std::endian::little ? 'l' : 'b';
  std::array<std::uint8_t, 2> version{};
  std::array<std::byte, 4> unused{};
  std::array<std::byte, 16> nonce{};

  [[nodiscard]] std::uint16_t version_number() const {
    return static_cast<std::uint16_t>(version[0] << 8U | version[1]);
  }
};
static_assert(sizeof(Opening) == kMessageBytes);

Opening opening(std::uint8_t word, std::uint16_t version) {
  Opening made{.word = word, .version = {static_cast<std::uint8_t>(version >> 8U), static_cast<std::uint8_t>(version)}};
  draw_randomly(made.nonce);
  return made;
}

Opening opening_in(const std::array<std::byte, kMessageBytes>& message) {
  return std::bit_cast<Opening>(message);
}

std::string_view reason_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::welcome: return "";
    case Verdict::other_service: return "another service of Heddle listens there";
    case Verdict::other_version: return "it speaks another version of the protocol";
    case Verdict::other_order: return "its machine has another byte order";
    case Verdict::leaves: return "it is about to leave";
  }
  return "its answer is no answer";
}

} // namespace

Introduction::Introduction(Role role, const Secret& secret, Service service)
    : role_(role),
      secret_(secret),
      service_(service),
      expects_(role == Role::calls ? Expects::start : Expects::greeting) {}

Introduction::State Introduction::begin() {
  if (expects_ != Expects::start) return State::goes_on;
  greeting_ = std::bit_cast<Message>(opening(static_cast<std::uint8_t>(service_.purpose), service_.version));
  answer_with(greeting_);
  expects_ = Expects::challenge;
  return State::goes_on;
}

Introduction::State Introduction::take(std::span<const std::byte, kMessageBytes> message) {
  std::copy(message.begin(), message.end(), incoming_.begin());
  reply_bytes_ = 0;
  declined_ = is_declined();
  if (declined_) return fail(std::string(reason_of(Verdict::leaves)));
  switch (expects_) {
    case Expects::greeting: return take_greeting();
    case Expects::challenge: return take_challenge();
    case Expects::proof: return take_proof();
    case Expects::start:
    case Expects::nothing: break;
  }
  return fail("it said something before it was asked");
}

Introduction::State Introduction::take_greeting() {
  const Opening theirs = opening_in(incoming_);
  if (theirs.magic != kMagic) return fail("it is no Heddle process");
  const Opening own = opening(0, service_.version);
  Verdict verdict = Verdict::welcome;
  if (theirs.word != static_cast<std::uint8_t>(service_.purpose))
    verdict = Verdict::other_service;
  else if (theirs.version != own.version)
    verdict = Verdict::other_version;
  else if (service_.own_order && theirs.order != own.order)
    verdict = Verdict::other_order;
  greeting_ = incoming_;
  Opening answer = own;
  answer.word = static_cast<std::uint8_t>(verdict);
  challenge_ = std::bit_cast<Message>(answer);
  answer_with(challenge_);
  expects_ = Expects::proof;
  if (verdict == Verdict::welcome) return State::goes_on;
  return fail(verdict == Verdict::other_service ? "it wants another service of Heddle"
                                                : std::string(reason_of(verdict)));
}

void Introduction::decline(int socket) {
  const Opening last = opening(static_cast<std::uint8_t>(Verdict::leaves), 0);
  ::send(socket, &last, sizeof last, MSG_DONTWAIT | MSG_NOSIGNAL);
}

bool Introduction::is_declined() const {
  const Opening theirs = opening_in(incoming_);
  return role_ == Role::calls && theirs.magic == kMagic && static_cast<Verdict>(theirs.word) == Verdict::leaves;
}

Introduction::State Introduction::take_challenge() {
  const Opening theirs = opening_in(incoming_);
  if (theirs.magic != kMagic) return fail("no Heddle process listens there");
  const auto verdict = static_cast<Verdict>(theirs.word);
  if (verdict == Verdict::other_version)
    return fail("it speaks version " + std::to_string(theirs.version_number()) + " of the protocol, this process " +
                std::to_string(service_.version));
  if (verdict != Verdict::welcome) return fail(std::string(reason_of(verdict)));
  challenge_ = incoming_;
  answer_with(prove(Role::calls));
  expects_ = Expects::proof;
  return State::goes_on;
}

Introduction::State Introduction::take_proof() {
  const Message wanted = prove(role_ == Role::calls ? Role::answers : Role::calls);
  if (::sodium_memcmp(wanted.data(), incoming_.data(), wanted.size()) != 0) return fail("it does not know the secret");
  if (role_ == Role::answers) answer_with(prove(Role::answers));
  expects_ = Expects::nothing;
  return State::proven;
}

Introduction::Message Introduction::prove(Role side) const {
  const std::string_view label = side == Role::calls ? "heddle calls" : "heddle answers";
  Message proof{};
  static_assert(sizeof proof >= crypto_generichash_BYTES_MIN && sizeof proof <= crypto_generichash_BYTES_MAX);
  ::crypto_generichash_state state;
  const auto add = [&](const void* data, std::size_t bytes) {
    ::crypto_generichash_update(&state, static_cast<const unsigned char*>(data), bytes);
  };
  ::crypto_generichash_init(&state, reinterpret_cast<const unsigned char*>(secret_.bytes.data()), secret_.bytes.size(),
                            proof.size());
  add(greeting_.data(), greeting_.size());
  add(challenge_.data(), challenge_.size());
  const std::array<std::uint8_t, 2> port{static_cast<std::uint8_t>(place_.port >> 8U),
                                         static_cast<std::uint8_t>(place_.port)};
  add(&place_.host, sizeof place_.host);
  add(port.data(), port.size());
  add(label.data(), label.size());
  ::crypto_generichash_final(&state, reinterpret_cast<unsigned char*>(proof.data()), proof.size());
  return proof;
}

void Introduction::answer_with(const Message& message) {
  reply_ = message;
  reply_bytes_ = message.size();
}

Introduction::State Introduction::fail(std::string reason) {
  expects_ = Expects::nothing;
  reason_ = std::move(reason);
  return State::failed;
}

void Introduction::take_place(int socket) {
  net::SocketAddress address;
  const auto ask = role_ == Role::calls ? &::getpeername : &::getsockname;
  if (ask(socket, address.get(), &address.length) != 0) return;
  if (address.family() == AF_INET || address.family() == AF_INET6) place_ = address.endpoint();
}

Introduction::State Introduction::advance(int socket) {
  if (!std::exchange(has_place_, true)) take_place(socket);
  State state = begin();
  while (true) {
    if (reply_bytes_ > 0) {
      // The first bytes of a connection: there is room for them.
      const ssize_t sent = ::send(socket, reply_.data(), reply_bytes_, MSG_DONTWAIT | MSG_NOSIGNAL);
      const int problem = errno;
      const bool whole = sent == static_cast<ssize_t>(std::exchange(reply_bytes_, 0));
      broke_off_ = !whole;
      if (!whole && state != State::failed)
        return fail("the connection broke off: " + std::generic_category().message(problem));
    }
    if (state != State::goes_on) return state;
    const ssize_t got = ::recv(socket, incoming_.data() + have_, incoming_.size() - have_, MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return state;
    if (got <= 0) {
      // A door closes in good order on who does not know the secret. Who took too long, or had to make room, is reset.
      const bool refused = got == 0 && expects_ == Expects::proof && role_ == Role::calls;
      broke_off_ = !refused;
      return fail(refused ? "it has closed the connection: its secret is another" : "the connection broke off");
    }
    have_ += static_cast<std::size_t>(got);
    if (have_ < incoming_.size()) return state;
    have_ = 0;
    const Message whole = incoming_;
    state = take(whole);
  }
}

} // namespace heddle::auth
