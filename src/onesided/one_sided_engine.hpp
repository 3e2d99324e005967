// One-sided operations as the engine carries them out: finds the area, asks its owner for the key where that is missing, and
// hands the operation to transfers or locks. The common case stays short: in direct memory a push is a look-up and a few stores.
#pragma once

#include "base/shared_words.hpp"
#include "engine/handlers.hpp"
#include "engine/protocol.hpp"
#include "onesided/areas/own_areas.hpp"
#include "onesided/common.hpp"
#include "onesided/locks/locks.hpp"
#include "onesided/multicast/multicasts.hpp"
#include "onesided/multicast/relays.hpp"
#include "onesided/transfers/transfers.hpp"

#include <optional>
#include <string>

namespace heddle::onesided {

class OneSidedEngine final : private engine::Protocol {
 public:
  // Must be destroyed before the engine, since it gives memory back to the ports.
  explicit OneSidedEngine(const engine::Services& services);
  ~OneSidedEngine();
  OneSidedEngine(const OneSidedEngine&) = delete;
  OneSidedEngine& operator=(const OneSidedEngine&) = delete;

  Result<std::span<std::byte>> allocate(AreaId id, std::size_t bytes, const Access& access) {
    return own_.allocate(static_cast<std::uint64_t>(id), bytes, access);
  }
  Result<void> expose(AreaId id, std::span<std::byte> memory, const Access& access) {
    return own_.expose(static_cast<std::uint64_t>(id), memory, access);
  }
  Result<void> close(AreaId id);

  // At once, where nothing has to be waited for. False: nothing has happened, and the general form is to be used.
  [[nodiscard]] bool push_now(const Place& to, std::span<const std::byte> data);
  [[nodiscard]] bool pull_now(const Place& from, std::span<std::byte> into);
  [[nodiscard]] std::optional<std::uint64_t> atomic_now(const Place& at, const Atomic& operation);
  [[nodiscard]] bool lock_now(Rank home, AreaId id);
  [[nodiscard]] bool unlock_now(Rank home, AreaId id);

  struct Move {
    Place place;
    std::span<std::byte> local; // only read by a push
    Selection selection{};
    Signal signal{};
    std::span<std::byte> twin{};
  };
  void push(const Move& move, Tracker& tracker) {
    start(Transfer::Kind::push, move, tracker);
    settle();
  }
  void pull(const Move& move, Tracker& tracker) {
    start(Transfer::Kind::pull, move, tracker);
    settle();
  }
  void mcast(std::span<const Rank> peers, const Move& move, Tracker& tracker);
  void atomic(const Place& at, const Atomic& operation, Tracker& tracker);

  Result<void> create_lock(AreaId id);
  void lock(Rank home, AreaId id, Tracker& tracker) { start_lock(Transfer::Kind::lock, home, id, tracker); }
  void try_lock(Rank home, AreaId id, Tracker& tracker) { start_lock(Transfer::Kind::try_lock, home, id, tracker); }
  void unlock(Rank home, AreaId id, Tracker& tracker) { start_lock(Transfer::Kind::unlock, home, id, tracker); }

 private:
  // Protocol
  std::size_t progress() override;
  [[nodiscard]] bool tries_again() const override { return common_.work_list.tries_again(); }
  [[nodiscard]] std::string waiting_for() override;

  // The rows of what comes in (rows.cpp).
  using Self = OneSidedEngine;
  void register_rows();
  template <typename Body, typename Take>
  void on_body(RecordKind kind, engine::Begins begins, Take take);
  template <typename Take>
  void on_bytes(RecordKind kind, engine::Begins begins, Take take);
  template <typename Ended>
  void on_command(CookieKind kind, Ended ended);

  // The area as direct memory that holds the bytes; null where something else has to be looked at.
  [[nodiscard]] const KnownArea* reach(const Place& place, std::uint64_t bytes) const;
  // Ends with out_of_memory where there is none to begin it.
  template <typename Fill>
  void begin(Transfer::Kind kind, Rank rank, AreaId id, Tracker& tracker, const Fill& fill);
  void start(Transfer::Kind kind, const Move& move, Tracker& tracker, Gathering* gathering = nullptr);
  void start_lock(Transfer::Kind kind, Rank home, AreaId id, Tracker& tracker);
  // Finds the area, and runs the transfer or lets it wait for the key.
  void admit(Transfer& transfer, std::uint32_t rank, std::uint64_t id);
  void run(Transfer& transfer);
  // ok: the area is open or has been asked for.
  ErrorCode ask(KnownArea& area);
  ErrorCode open_own(KnownArea& area);
  void granted(Connection& connection, const AreaGrant& grant);
  void revoked(Connection& connection, const AreaRevoked& record);
  bool scatter(Connection& connection, std::span<const std::byte> content);
  void end_waiting(KnownArea& area, ErrorCode code);
  void peer_lost(Connection& connection);
  // The end of every call from outside: what has become ready in it is done.
  void settle();
  void run_next_waiting(KnownArea& area);

  engine::Handlers& handlers_;
  Common common_;
  OwnAreaTable own_;
  Transfers transfers_;
  Relays relays_;
  Multicasts multicasts_;
  Locks locks_;
};

} // namespace heddle::onesided

#include "onesided/one_sided_inline.hpp"
