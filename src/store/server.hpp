// The built-in store's server: sockets around the ledgers of a job. Runs inside the launcher, without a thread of its own.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "auth/door.hpp"
#include "base/clock.hpp"
#include "base/descriptor.hpp"
#include "base/log.hpp"
#include "store/generations.hpp"

namespace heddle::store {

// Accepts processes of the same user only; by TCP, those that know the secret. A client that breaks the protocol is closed with one line in the log, and its
// rank counts as failed; no client can make the server block, crash or hold more than bounded memory.
// A connection that ends, or takes no more answers, is read to its end and says nothing about its process: that a process has
// ended is the launcher's word (declare_failed, declare_left).
class Server {
 public:
  struct Config {
    std::uint32_t size = 1;
    std::string job; // see new_job_id()
    struct ByTcp {
      in6_addr host{};
      net::PortRange ports{};
      auth::Secret secret;
    };
    std::optional<ByTcp> by_tcp{}; // otherwise by a unix socket, for processes of this machine
    // Nobody will say what became of a process (see keeper.hpp): one whose connection ends without a goodbye has failed.
    bool ends_with_connection = false;
    // Several programs may have a store at the same address, one after the other, each started by its rank 0: who comes again before rank
    // 0 has is answered when that has come, or let go when it has ended (first_has_ended), since it may belong to the next program.
    bool first_leads = false;
    std::string at{}; // a unix socket's address; empty: that of the job
    base::Log log{};
  };
  static Result<std::unique_ptr<Server>> start(Config config);

  // What clients connect to; goes into HEDDLE_STORE.
  [[nodiscard]] const std::string& address() const { return address_; }

  // Readable (poll, epoll) whenever serve() has something to do.
  [[nodiscard]] int descriptor() const { return poller_.number(); }

  // Does all that can be done now; never blocks.
  void serve();

  // serve() after waiting for work, until the deadline at most. False when the deadline came first.
  bool wait(base::Deadline deadline);

  // Reads all that a process said before its end. To be called before its end is judged: its goodbye may be the last thing
  // it wrote.
  void hear_out(std::uint32_t rank);

  // The launcher's word on a rank whose process ended.
  void declare_failed(std::uint32_t rank) { declare(rank, Presence::failed); }
  void declare_left(std::uint32_t rank) { declare(rank, Presence::left); }

  // Rank 0's process has, and where it leads, nobody comes any more when all have come once: the address is free.
  void first_has_ended();
  // Nobody comes in any more; who is about to may call whoever listens there next.
  void stop_listening();

  // As Ledger::take_stalls.
  std::vector<Stall> take_stalls() { return generations_.take_stalls(); }

  // As Ledger::take_abort.
  std::optional<Abort> take_abort() { return generations_.take_abort(); }

  // All who are connected learn that the job is to end.
  void tell_all(const Abort& abort);
  // How many are.
  [[nodiscard]] std::size_t connections() const { return connections_.size(); }

  [[nodiscard]] Presence presence(std::uint32_t rank) const { return generations_.presence(rank); }

 private:
  struct Connection {
    base::Descriptor socket;
    Bytes inbox;
    std::deque<std::shared_ptr<const Bytes>> outbox;
    std::size_t sent = 0; // of outbox.front()
    bool waits_to_write = false;
    bool held = false; // its hello is in the inbox, and waits for rank 0's
    bool deaf = false; // nothing can be written to it; what it has written is still read
  };

  Server(Config config, base::Descriptor poller);
  Result<void> listen(const Config& config);
  void add(base::Descriptor socket);
  void accept_all();
  // The timer has run out.
  void look_at_clock();
  // What is said to a machine that is gone keeps the system from asking it: then nobody else finds that out for minutes.
  void miss_the_silent();
  // For a second: the system would tell of the same connection again and again.
  void pause_accepting();
  void go_on_accepting();
  // One read. False where nothing was there, now or ever.
  bool read_from(ClientId id, Connection& connection);
  // All that it has said. Nothing more is said to it.
  void hear_out(ClientId id, Connection& connection);
  void take_frames(ClientId id, Connection& connection);
  // Whoever says hello again has said goodbye before, by another connection that may not have been read yet.
  void hear_former_self(ClientId id, const Frame& frame);
  void write_to(ClientId id, Connection& connection);
  // False where the hello has to wait for rank 0's, or may not.
  bool may_come(ClientId id, Connection& connection, const Frame& frame);
  // Rank 0 has come.
  void release();
  void close_if_all_have_come();
  void deliver(const Answers& answers);
  void declare(std::uint32_t rank, Presence gone);
  void bury();
  // False: the system has no room for it.
  bool watch(ClientId id, int socket, bool writable, int operation) const;

  base::Log log_;
  std::string address_;
  base::Descriptor listener_;        // of a unix socket
  base::Descriptor timer_;           // ends its pauses; by TCP, ticks while somebody is connected
  std::unique_ptr<auth::Door> door_; // of TCP
  base::Descriptor poller_;
  std::unique_ptr<std::byte[]> buffer_; // that is read into
  Generations generations_;
  std::unordered_map<ClientId, Connection> connections_;
  std::vector<ClientId> doomed_; // to be closed when no reference into connections_ is held
  ClientId next_id_ = 2;         // 0 is the listener, 1 its timer
  bool accepting_ = true;
  bool said_full_ = false; // once is enough
  bool ends_with_connection_;
  bool first_leads_;
  bool first_has_ended_ = false;
};

} // namespace heddle::store
