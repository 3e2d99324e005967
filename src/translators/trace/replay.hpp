// Answers from a recorded trace: each command is compared with the recorded one, each event comes at the poll at which it
// came then. For a program without clock and chance that is the same run again; the first difference is kept.
// Commands are not carried out: memory that peers wrote or gets filled in the recorded run stays as it is.
#pragma once

#include "translators/decorator.hpp"
#include "translators/event_list.hpp"
#include "translators/trace/record.hpp"

#include <optional>
#include <utility>

namespace heddle::translators {

class Replay final : public Decorator {
 public:
  // `inner` serves the calls that are not recorded: capabilities, memory, attach. It sees no command.
  Replay(ir::Translator& inner, std::vector<TraceRecord> records) : Decorator(inner), records_(std::move(records)) {}

  // Takes commands as far as the recording goes without an event in between; the rest is back-pressure, so that the
  // caller polls first, as it did then. After a difference every command is taken, and the signalled ones, also those
  // under way, end as `failed`.
  std::size_t submit(std::span<const ir::Command> commands) override;
  std::size_t poll(std::span<ir::Event> events) override;
  [[nodiscard]] ir::Facets facets() override {
    ir::Facets facets = Decorator::facets();
    facets.sleeping = nullptr; // nothing arrives but by poll
    return facets;
  }

  // What was done otherwise than in the recording, if anything was: bad_argument with both commands.
  [[nodiscard]] const std::optional<Error>& difference() const { return difference_; }
  // No difference so far, and every record has had its turn.
  [[nodiscard]] Result<void> finished() const;

 private:
  bool matches(const ir::Command& command);
  void give_up();

  std::vector<TraceRecord> records_;
  std::size_t next_ = 0;
  std::uint64_t polls_ = 0;
  std::optional<Error> difference_;
  std::vector<std::pair<ir::Peer, std::uint64_t>> awaited_; // signalled commands whose event has not come: peer, cookie
  EventList failed_;                                        // after a difference
};

} // namespace heddle::translators
