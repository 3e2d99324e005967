#include "engine/messages/assistant.hpp"

#include <algorithm>

namespace heddle::engine {

void Assistant::begin(Connection& connection, const AssistRequest& request) {
  const Operation* send = engine_.operations.find(request.sender);
  const bool usable = send != nullptr && send->connection == &connection && send->stage == Stage::awaiting_answer &&
                      send->exposed && request.bytes <= send->source.bytes() && request.chunk > 0 &&
                      request.cell < kClaimCells;
  if (!usable) {
    record_writer_.write_control(connection, RecordKind::assist_done, AssistDone{.cell = request.cell, .bytes = 0});
    return;
  }
  auto unused =
      std::find_if(assists_.begin(), assists_.end(), [](const Assist& assist) { return assist.connection == nullptr; });
  if (unused == assists_.end()) unused = assists_.insert(assists_.end(), Assist{});
  *unused = {.connection = &connection, .request = request, .source = send->source.data()};
  claim(static_cast<std::size_t>(unused - assists_.begin()));
}

void Assistant::claim(std::size_t number) {
  const Assist& assist = assists_[number];
  ir::Command command;
  command.operation = ir::Operation::fetch_and_add;
  command.flags = ir::Flags::signalled;
  command.peer = ir::Peer{assist.connection->rank};
  command.cookie = make_cookie(CookieKind::assist_claim, number);
  command.remote = assist.connection->peer_area.at(BootstrapArea::cell_offset(assist.request.cell));
  command.operand = 1;
  assist.connection->queue().post(command);
}

void Assistant::claim_ended(const ir::Event& event) {
  const std::uint64_t number = cookie_number(event.cookie);
  Assist& assist = assists_[number];
  const AssistRequest& request = assist.request;
  const bool beyond = event.value >= (request.bytes + request.chunk - 1) / request.chunk;
  // The message's memory is the program's again once the send has ended: a peer that says so too early gets nothing.
  if (event.status != ir::Status::ok || assist.connection->failed() || beyond ||
      engine_.operations.find(request.sender) == nullptr) {
    end(assist, 0);
    return;
  }
  assist.claimed = event.value;
  const std::uint64_t offset = event.value * request.chunk;
  assist.copying = std::min(request.chunk, request.bytes - offset);
  ir::Command command;
  command.operation = ir::Operation::put;
  command.flags = ir::Flags::signalled;
  command.peer = ir::Peer{assist.connection->rank};
  command.cookie = make_cookie(CookieKind::assist_copy, number);
  command.remote = ir::RemotePlace{.key = ir::MemoryKey{request.key}, .offset = request.offset}.at(offset);
  command.local = const_cast<std::byte*>(assist.source + offset); // a put only reads it
  command.bytes = assist.copying;
  command.head_bytes = 0;
  assist.connection->queue().post(command);
}

void Assistant::copy_ended(const ir::Event& event) {
  Assist& assist = assists_[cookie_number(event.cookie)];
  if (event.status != ir::Status::ok) {
    engine_.recorder.record("assist refused", assist.connection->rank, static_cast<std::uint64_t>(event.vendor_code));
    end(assist, assist.claimed + 1);
    return;
  }
  assist.copied += assist.copying;
  if (assist.connection->failed()) return end(assist, 0);
  claim(cookie_number(event.cookie));
}

void Assistant::replace(const Connection& connection, Connection& by) {
  for (Assist& assist : assists_)
    if (assist.connection == &connection) assist.connection = &by;
}

void Assistant::end(Assist& assist, std::uint64_t lost) {
  if (!assist.connection->failed())
    record_writer_.write_control(*assist.connection, RecordKind::assist_done,
                                 AssistDone{.cell = assist.request.cell, .bytes = assist.copied, .lost = lost});
  assist.connection = nullptr;
}

} // namespace heddle::engine
