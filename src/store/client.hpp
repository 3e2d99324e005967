// The built-in store as one process of a job sees it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "auth/secret.hpp"
#include "base/descriptor.hpp"
#include "store/store.hpp"
#include "store/wire.hpp"

namespace heddle::store {

class Client final : public Store {
 public:
  struct Target {
    std::string address; // unix:@NAME, unix:PATH or tcp:HOST:PORT
    std::string job;
    std::uint32_t rank = 0;
    std::uint32_t size = 1;               // must be what the server says
    std::optional<auth::Secret> secret{}; // wanted by TCP
    // What a launcher that is not ours is told besides, after the store: that the job is to end, that this process needs it no more.
    std::function<void(int status)> abort_too{};
    std::function<void()> leave_too{};
  };
  // Joins the store under that rank. already_joined where the rank is taken; store_failed where nobody listens.
  static Result<std::unique_ptr<Client>> connect(const Target& target, Deadline deadline);
  ~Client() override;

  [[nodiscard]] std::uint32_t rank() const override { return rank_; }
  [[nodiscard]] std::uint32_t size() const override { return size_; }
  Result<void> put(std::string_view key, std::span<const std::byte> value, Deadline deadline) override;
  Result<Bytes> get(std::string_view key, std::int64_t from, Deadline deadline) override;
  Result<void> fence(Deadline deadline) override;
  Result<void> contribute(std::span<const std::byte> blob, Deadline deadline) override;
  Result<std::vector<Bytes>> gather(Deadline deadline) override;
  Result<std::size_t> take_notices(std::span<Notice> notices) override;
  [[nodiscard]] int descriptor() const override { return socket_.number(); }
  Result<void> watch_departures() override;
  Result<void> report_stall(std::uint32_t seconds, std::string_view waiting) override;
  void abort(int status) override;
  Result<void> leave() override;

 private:
  Client(base::Descriptor socket, const Target& target);

  // Sends one request and waits for its answer of the kind expected; the body is a copy.
  Result<Bytes> ask(Bytes request, Kind expected, Deadline deadline);
  Result<void> send_request(std::span<const std::byte> request, Deadline deadline);
  Result<Bytes> await(Kind expected, Deadline deadline);
  Result<void> send_all(std::span<const std::byte> bytes, Deadline deadline);
  // A word that needs no answer, only if the store takes it now; would_block otherwise, and nothing is lost.
  Result<void> try_send(std::span<const std::byte> bytes);
  // The last word, also over a full buffer; then the connection is closed.
  Result<void> part(bool in_good_order);
  void await_end();
  // One non-blocking receive into the inbox. False when nothing was there.
  Result<bool> receive_some();
  // Looks now and then. What has been said to a machine that is gone keeps the system from asking it.
  [[nodiscard]] bool is_silent();
  struct Reply {
    Kind kind;
    Bytes body;
  };
  // Takes complete frames up to the answer to `sequence_`: notices are kept, answers to older requests dropped.
  Result<std::optional<Reply>> sort_inbox();
  Error broken(std::string fact, int system_code = 0);

  base::Descriptor socket_;
  std::function<void(int)> abort_too_;
  std::function<void()> leave_too_;
  bool by_tcp_;
  Deadline next_look_{}; // at whether the store's machine answers
  std::uint32_t rank_;
  std::uint32_t size_;
  std::uint32_t sequence_ = 0;
  Bytes inbox_; // its size is the room; what has arrived is the first filled_ bytes
  std::size_t filled_ = 0;
  std::vector<Notice> noticed_; // reserved for three of each rank, so that a notice never allocates
  const Bytes watch_;           // made at once, so that asking for departures never allocates
  std::size_t largest_answer_;
};

} // namespace heddle::store
