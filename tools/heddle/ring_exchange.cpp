#include "ring_exchange.hpp"

#include <optional>

namespace heddle::tool {
namespace {

class Rounds : private sim::Listener {
 public:
  Rounds(sim::NetworkModel& network, const RingExchange& exchange)
      : network_(network),
        exchange_(exchange),
        ranks_(static_cast<std::uint32_t>(exchange.nodes.size()) * exchange.processes),
        processes_(ranks_) {
    network_.listen(this);
  }
  ~Rounds() override { network_.listen(nullptr); }

  Result<double> run() {
    for (std::uint32_t rank = 0; rank < ranks_; ++rank) begin_round(rank);
    if (auto ran = network_.run(); !ran) return std::unexpected(ran.error());
    if (failure_) return std::unexpected(*failure_);
    if (at_end_ != ranks_)
      return std::unexpected(
          Error{.code = ErrorCode::unreachable, .fact = "an all-to-all in rounds came to a standstill"});
    return static_cast<double>(network_.now().count()) / 1e6;
  }

 private:
  struct Process {
    std::uint32_t round = 0;
    std::uint32_t to_send = 0; // parts of this round's message
    std::uint32_t to_come = 0;
  };

  [[nodiscard]] std::uint32_t node_of(std::uint32_t rank) const { return rank / exchange_.processes; }

  // Whom it sends to in that round; with -1 instead of 1: whom it receives from.
  [[nodiscard]] std::uint32_t partner(std::uint32_t rank, std::uint32_t round, int sign) const {
    const auto moved = [sign](std::uint32_t from, std::uint32_t by, std::uint32_t size) {
      return (from + (sign > 0 ? by : size - by)) % size;
    };
    if (exchange_.order == RingOrder::plain) return moved(rank, round, ranks_);
    const std::uint32_t each = exchange_.processes;
    const auto nodes = static_cast<std::uint32_t>(exchange_.nodes.size());
    return moved(rank / each, round / each, nodes) * each + moved(rank % each, round % each, each);
  }

  // Passes over rounds within the node.
  void begin_round(std::uint32_t rank) {
    Process& process = processes_[rank];
    while (process.round < ranks_ && node_of(partner(rank, process.round, 1)) == node_of(rank) &&
           node_of(partner(rank, process.round, -1)) == node_of(rank))
      ++process.round;
    if (process.round == ranks_) {
      ++at_end_;
      return;
    }
    const std::uint32_t to = partner(rank, process.round, 1);
    const std::uint32_t from = partner(rank, process.round, -1);
    process.to_send = node_of(to) == node_of(rank) ? 0 : parts(rank, to);
    process.to_come = node_of(from) == node_of(rank) ? 0 : parts(from, rank);
    if (process.to_send > 0 && processes_[to].round == process.round && is_in_round(to)) send(rank, to);
    if (process.to_come > 0 && processes_[from].round == process.round && is_in_round(from)) send(from, rank);
    begun_[rank] = true;
  }
  [[nodiscard]] bool is_in_round(std::uint32_t rank) const { return begun_[rank]; }

  std::uint32_t parts(std::uint32_t from, std::uint32_t to) {
    return static_cast<std::uint32_t>(exchange_.lids(node_of(from), node_of(to)).size());
  }

  void send(std::uint32_t from, std::uint32_t to) {
    const std::vector<std::uint32_t> lids = exchange_.lids(node_of(from), node_of(to));
    const sim::Fabric& fabric = network_.fabric();
    for (std::uint32_t part = 0; part < lids.size(); ++part) {
      const std::uint64_t share = exchange_.bytes / lids.size();
      const std::uint32_t engine = part * exchange_.processes + from % exchange_.processes;
      const auto sent =
          network_.submit({.source = exchange_.nodes[node_of(from)],
                           .target = exchange_.nodes[node_of(to)],
                           .bytes = part == 0 ? exchange_.bytes - share * (lids.size() - 1) : share,
                           .cookie = std::uint64_t{from} << 32U | to,
                           .lid = lids[part],
                           .send_engine = static_cast<std::uint16_t>(engine % fabric.interface.send_engines),
                           .lane = static_cast<std::uint16_t>(
                               exchange_.lane_for_each_target ? node_of(to) % fabric.packets.lanes : 0)});
      if (!sent) failure_ = sent.error();
    }
  }

  void departed(const sim::Flow& flow) override { ended(static_cast<std::uint32_t>(flow.cookie >> 32U), true); }
  void arrived(const sim::Flow& flow) override { ended(static_cast<std::uint32_t>(flow.cookie), false); }
  void timer(std::uint64_t) override {}

  void ended(std::uint32_t rank, bool sent) {
    Process& process = processes_[rank];
    --(sent ? process.to_send : process.to_come);
    if (process.to_send > 0 || process.to_come > 0) return;
    begun_[rank] = false;
    ++process.round;
    begin_round(rank);
  }

  sim::NetworkModel& network_;
  const RingExchange& exchange_;
  std::uint32_t ranks_;
  std::vector<Process> processes_;
  std::vector<bool> begun_ = std::vector<bool>(ranks_); // has come to its round
  std::uint32_t at_end_ = 0;
  std::optional<Error> failure_;
};

} // namespace

Result<double> run_ring_exchange(sim::NetworkModel& network, const RingExchange& exchange) {
  return Rounds(network, exchange).run();
}

} // namespace heddle::tool
