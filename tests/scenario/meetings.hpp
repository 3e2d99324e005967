// A process's part in what all processes of a scenario do together: barriers, all-to-alls, patterns.
#pragma once

#include "tests/scenario/role.hpp"
#include "tests/traffic/region.hpp"

#include <heddle/pattern.hpp>

#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <vector>

namespace heddle::tests {

class Meetings {
 public:
  static constexpr std::uint64_t kCookies = std::uint64_t{1} << 62U; // of their events

  explicit Meetings(Role& role) : role_(role) {}

  // Starts the next one, if any is left.
  void start_next(bool by_event);
  [[nodiscard]] bool all_started() const { return next_ == role_.scenario.meetings.size(); }
  void ended(const Event& event);
  void collect();
  [[nodiscard]] bool all_ended() const { return running_.empty(); }
  // What a pattern that has failed received into is the program's again, and nobody writes there.
  void check() const;
  // Lets go of everything: the context is about to go.
  void forget() { running_.clear(); }

 private:
  struct Running {
    std::size_t number = 0;
    Meeting meeting;
    bool by_event = false;
    bool over = false;
    Request request;
    std::vector<std::byte> out;
    std::vector<std::byte> in;
    std::vector<std::uint64_t> out_bytes, out_offsets, in_bytes, in_offsets;
    std::vector<std::unique_ptr<Region>> sends, receives; // of a pattern of messages, by request
    std::optional<Pattern> pattern;
    std::uint64_t round = 0; // of a pattern: 0 while it is compiled
    bool postponed = false;  // its next round, until a death is known
  };

  Result<Request> start(Running& running, Notify notify);
  Result<Request> start_alltoallv(Running& running, Notify notify);
  Result<Request> start_compile(Running& running, Notify notify);
  void end(Running& running, const Completion& completion);
  void end_badly(Running& running, ErrorCode code);
  void add_messages(Running& running, std::uint32_t to, std::uint32_t from);
  void free_under_way(Running& running) const;
  void end_round(Running& running);
  void start_round(Running& running);
  [[nodiscard]] bool ends_with_others(ErrorCode code) const;
  void check_blocks(const Running& running) const;
  void fill_round(Running& running) const;
  [[nodiscard]] std::uint64_t block_bytes(const Running& running, std::uint32_t from, std::uint32_t to) const;
  // What belongs into the block that `from` sends to `to`.
  [[nodiscard]] static const std::byte* content(const Running& running, std::uint32_t from, std::uint32_t to,
                                                std::uint64_t bytes);
  [[nodiscard]] Notify notify_for(const Running& running) const {
    return running.by_event ? Notify::event(kCookies + running.number) : Notify::request();
  }
  [[nodiscard]] std::string name_of(const Running& running) const;

  Role& role_;
  std::size_t next_ = 0;
  std::list<Running> running_;               // stays in place: the library refers to its memory
  std::vector<std::vector<std::byte>> left_; // memory of patterns that failed, used for something else
};

} // namespace heddle::tests
