// All-to-all between the processes of a job: non-blocking plans that progress carries out, as barriers are.
//
// When a process has died, nobody can know which of the others will still take part. So a plan under way takes back the
// receives that nothing has matched, starts nothing more, and ends with peer_failed when what it had started has ended; what still
// comes of exchanges is swallowed.
#pragma once

#include "collective/boards.hpp"
#include "collective/exchange_plan.hpp"
#include "collective/tags.hpp"
#include "engine/swallower.hpp"

#include <heddle/collective.hpp>
#include <heddle/heddle.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace heddle::collective {

class Exchanges {
 public:
  // Processes that one program runs may share the grouping.
  Exchanges(engine::Engine& engine, std::shared_ptr<const Grouping> grouping, const Costs& costs = {});
  ~Exchanges() { engine_.handlers().remove(this); }
  Exchanges(const Exchanges&) = delete;
  Exchanges& operator=(const Exchanges&) = delete;

  // All processes are of one machine, and say so before the first exchange: small blocks go by boards, if all can read all.
  void use_boards() { boards_.emplace(engine_, *grouping_); }

  // All processes start theirs in the same order. Error bad_argument: nothing has happened, and the next counts as this one.
  Result<Request> start(std::span<const std::byte> out, std::span<std::byte> in, Notify notify);
  Result<Request> start(const ConstBlocks& out, const Blocks& in, Notify notify);

  // How blocks of that size are exchanged, and why.
  [[nodiscard]] Protocol why(std::uint64_t block_bytes) const;

  // Takes every step that is ready. Returns how many steps were made.
  std::size_t progress() { return idle_ ? 0 : advance_all(); }

  [[nodiscard]] bool idle() const { return idle_; }

  // Others still have to hear something from this process. It should not leave before.
  [[nodiscard]] bool owes_words() const { return boards_ && boards_->owes_words(); }

  // An exchange was cut short here: others may still send what belonged to it.
  [[nodiscard]] bool cut_short() const { return cut_short_; }

 private:
  struct Running {
    Request request;
    std::unique_ptr<ExchangePlan> plan;
  };
  template <typename Make>
  Request begin(Notify notify, Make&& make);
  Request begin_on_boards(Notify notify, Boards::Exchange exchange);
  // Of blocks of equal size, by messages.
  std::unique_ptr<ExchangePlan> plan_for(const Boards::Exchange& exchange);
  std::size_t advance_boards();
  std::size_t advance_all();
  // When a process has died, all exchanges end with peer_failed, those to come at once.
  void peer_gone(std::uint32_t rank, engine::End how);

  engine::Engine& engine_;
  std::shared_ptr<const Grouping> grouping_;
  Costs costs_;
  std::optional<Boards> boards_;
  std::vector<Running> running_;
  std::uint64_t number_ = 0;
  bool idle_ = true;
  bool failed_ = false;   // a process has died
  bool given_up_ = false; // and what was under way is
  bool cut_short_ = false;
  engine::Swallower swallower_{engine_, engine::Channel::collective, Tag{kExchangeMark}, kExchangeMark}; // once failed
};

} // namespace heddle::collective
