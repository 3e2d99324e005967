#include "collective/block_reads.hpp"

#include <algorithm>

namespace heddle::collective {

BlockReads::BlockReads(engine::Engine& engine) : engine_(engine) {
  engine_.handlers().set(
      engine::CookieKind::block_read,
      engine::command_row(*this, [](BlockReads& self, engine::Connection* connection, const ir::Event& event) {
        self.ended(connection, event.status);
        return true;
      }));
}

std::size_t BlockReads::advance() {
  std::size_t begun = 0;
  for (std::uint64_t bytes = 0; bytes < kAtOnce && !waiting_.empty(); ++begun) {
    Read& read = waiting_.back();
    engine::ScheduleQueue& queue = engine_.queue_to(read.rank);
    ir::Command command;
    command.operation = ir::Operation::get;
    command.flags = ir::Flags::signalled;
    command.peer = ir::Peer{read.rank};
    command.cookie = engine::make_cookie(engine::CookieKind::block_read, read.rank);
    command.remote = read.place;
    command.local = read.into.data();
    command.bytes = std::min({kAtOnce, queue.capabilities().largest_transfer, std::uint64_t{read.into.size()}});
    bytes += command.bytes;
    read.place = read.place.at(command.bytes);
    read.into = read.into.subspan(command.bytes);
    if (read.into.empty()) waiting_.pop_back();
    ++under_way_;
    queue.post(command);
  }
  return begun;
}

void BlockReads::ended(const engine::Connection* connection, ir::Status status) {
  --under_way_;
  if (status == ir::Status::ok || code_ != ErrorCode::ok) return;
  code_ = connection != nullptr && connection->failed() ? connection->fate : ErrorCode::system_failed;
}

} // namespace heddle::collective
