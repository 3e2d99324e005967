// Pending work, a store and a network that do what a test says, and remember what was asked of them.
#pragma once

#include "ir/translator.hpp"
#include "progress/pending_work.hpp"
#include "store/store.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace heddle::progress {

using Diary = std::vector<std::string>;
inline constexpr std::uint64_t kMs = 1'000'000; // ns

class FakePendingWork final : public PendingWork {
 public:
  explicit FakePendingWork(Diary& asked) : diary(asked) {}

  std::size_t one_round() override {
    diary.emplace_back("round");
    return std::exchange(to_do, 0);
  }
  std::size_t last_look() override {
    diary.emplace_back("last look");
    return std::exchange(brought, 0);
  }
  [[nodiscard]] bool awaits_answers() const override { return answers; }
  [[nodiscard]] bool must_try_again() const override { return tries_again; }
  void try_again_now() override { diary.emplace_back("try again"); }
  [[nodiscard]] bool has_events() const override { return events; }
  [[nodiscard]] std::uint64_t count() const override { return counted; }
  [[nodiscard]] bool waits_since(std::uint64_t count) override { return oldest < count; }
  [[nodiscard]] std::string waiting_for(const base::Ages& /*ages*/, std::uint64_t /*now_ns*/) override {
    return waiting;
  }
  [[nodiscard]] std::uint64_t refused() const override { return refused_messages; }
  void peer_failed(std::uint32_t rank) override { diary.push_back("failed " + std::to_string(rank)); }
  bool peer_left(std::uint32_t rank) override {
    if (rank == still_speaks) return false;
    diary.push_back("left " + std::to_string(rank));
    return true;
  }
  [[nodiscard]] bool awaits_news() const override { return absent; }
  void give_up_news() override { diary.emplace_back("give up"); }

  Diary& diary;
  std::uint32_t still_speaks = ~0U; // a rank
  std::size_t to_do = 0;            // in the next round
  std::size_t brought = 0;          // by the networks, when they are asked
  bool answers = false;
  bool tries_again = false;
  bool events = false;
  bool absent = false;
  std::uint64_t counted = 0;
  std::uint64_t oldest = ~std::uint64_t{0}; // the count at which what waits longest began; nothing waits
  std::uint64_t refused_messages = 0;
  std::string waiting;
};

// Rank 1 of 4.
class FakeStore final : public store::Store {
 public:
  explicit FakeStore(Diary& asked) : diary(asked) {}
  ~FakeStore() override { ::close(ready); }
  FakeStore(const FakeStore&) = delete;
  FakeStore& operator=(const FakeStore&) = delete;

  [[nodiscard]] std::uint32_t rank() const override { return 1; }
  [[nodiscard]] std::uint32_t size() const override { return 4; }
  Result<void> put(std::string_view, std::span<const std::byte>, Deadline) override { return {}; }
  Result<store::Bytes> get(std::string_view, std::int64_t, Deadline) override { return store::Bytes(); }
  Result<void> fence(Deadline) override { return {}; }
  Result<void> contribute(std::span<const std::byte>, Deadline) override { return {}; }
  Result<std::vector<store::Bytes>> gather(Deadline) override { return std::vector<store::Bytes>(); }
  Result<std::size_t> take_notices(std::span<store::Notice> notices) override {
    ++takes;
    if (broken) return std::unexpected(Error{.code = ErrorCode::store_failed, .fact = "the store is gone"});
    const std::size_t count = std::min(notices.size(), news.size());
    std::copy_n(news.begin(), count, notices.begin());
    news.erase(news.begin(), news.begin() + static_cast<std::ptrdiff_t>(count));
    return count;
  }
  Result<void> watch_departures() override {
    diary.emplace_back("watch departures");
    if (slow) return std::unexpected(Error{.code = ErrorCode::would_block, .fact = "the store is slow"});
    return {};
  }
  [[nodiscard]] int descriptor() const override { return ready; }
  Result<void> report_stall(std::uint32_t seconds, std::string_view text) override {
    if (!launcher) return std::unexpected(Error{.code = ErrorCode::unsupported, .fact = "no launcher"});
    diary.push_back("stalled for " + std::to_string(seconds) + " s");
    report = text;
    return {};
  }
  Result<void> leave() override { return {}; }

  Diary& diary;
  std::deque<store::Notice> news;
  int takes = 0;
  bool broken = false;
  bool slow = false;
  bool launcher = true;
  std::string report;
  const int ready = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
};

// Nothing travels on it; it can be slept on.
class FakeNetwork final : public ir::Translator, private ir::Sleeping {
 public:
  explicit FakeNetwork(Diary& asked) : diary(asked) {}
  ~FakeNetwork() override { ::close(ready); }
  FakeNetwork(const FakeNetwork&) = delete;
  FakeNetwork& operator=(const FakeNetwork&) = delete;

  [[nodiscard]] std::string_view name() const override { return "fake"; }
  [[nodiscard]] const ir::Capabilities& capabilities() const override { return capabilities_; }
  [[nodiscard]] ir::Facets facets() override { return {.sleeping = this}; }
  [[nodiscard]] ir::Address address() const override { return {}; }
  [[nodiscard]] Result<void> reaches(const ir::Address&) const override { return {}; }
  Result<ir::ExposedMemory> allocate(std::size_t) override { return ir::ExposedMemory{}; }
  void deallocate(const ir::ExposedMemory&) override {}
  Result<ir::RemotePlace> expose(std::span<std::byte>) override { return ir::RemotePlace{}; }
  void withdraw(const ir::RemotePlace&) override {}
  Result<ir::RemotePlace> attach(ir::Peer, const ir::Address&) override { return ir::RemotePlace{}; }
  void detach(ir::Peer) override {}
  std::size_t submit(std::span<const ir::Command>) override { return 0; }
  std::size_t poll(std::span<ir::Event>) override { return 0; }

  Diary& diary;
  std::vector<std::chrono::nanoseconds> sleeps; // how long each might have lasted
  bool tells = true;                            // of all that arrives during a sleep
  std::optional<std::chrono::nanoseconds> must_be_polled_within{};
  const int ready = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);

 private:
  bool announce_sleep(By) override {
    diary.emplace_back("announce");
    return tells;
  }
  void cancel_sleep() override { diary.emplace_back("cancel"); }
  void sleep(std::chrono::nanoseconds limit) override {
    diary.emplace_back("sleep");
    sleeps.push_back(limit);
  }
  [[nodiscard]] Result<int> descriptor() override { return ready; }
  [[nodiscard]] std::optional<std::chrono::nanoseconds> due() override { return must_be_polled_within; }

  ir::Capabilities capabilities_;
};

} // namespace heddle::progress
