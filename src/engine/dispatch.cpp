// What comes in: the rows for the engine's own records and commands, and the events of the translators, each given to whom it concerns.
#include "engine/engine.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>

namespace heddle::engine {

void Engine::register_record_rows() {
  const auto taken = []<Taken (Receiver::*Take)(Connection&, Lead, std::uint64_t, const std::byte*)>() {
    return [](Receiver& receiver, Connection& connection, Lead lead, std::uint64_t tag, const std::byte* content) {
      return (receiver.*Take)(connection, lead, tag, content);
    };
  };
  const auto set = [this](RecordKind kind, Begins begins, auto take) {
    handlers_.set(kind, record_row(receiver_, begins, take));
  };
  set(RecordKind::eager, Begins::no, taken.operator()<&Receiver::whole>());
  set(RecordKind::eager_synchronous, Begins::yes, taken.operator()<&Receiver::synchronous>());
  set(RecordKind::unsolicited, Begins::no, taken.operator()<&Receiver::unsolicited>());
  set(RecordKind::request_to_send, Begins::yes, taken.operator()<&Receiver::request_to_send>());
  set(RecordKind::request_to_send_unsolicited, Begins::no, taken.operator()<&Receiver::request_to_send_unsolicited>());
  set(RecordKind::fragment, Begins::no,
      [](Receiver& receiver, Connection& connection, Lead lead, std::uint64_t tag, const std::byte* content) {
        return receiver.fragment(connection, lead, tag, content) ? Taken::yes : Taken::malformed;
      });
  handlers_.set(RecordKind::finish,
                body_row<Finish>(sender_, Begins::no, [](Sender& sender, Connection& connection, const Finish& body) {
                  sender.finished(connection, body);
                  return true;
                }));
  handlers_.set(
      RecordKind::clear_to_send,
      body_row<ClearToSend>(sender_, Begins::no, [](Sender& sender, Connection& connection, const ClearToSend& body) {
        return sender.clear_to_send(connection, body);
      }));
  handlers_.set(RecordKind::assist,
                body_row<AssistRequest>(assistant_, Begins::yes,
                                        [](Assistant& assistant, Connection& connection, const AssistRequest& body) {
                                          assistant.begin(connection, body);
                                          return true;
                                        }));
  handlers_.set(
      RecordKind::assist_done,
      body_row<AssistDone>(fetcher_, Begins::no, [](Fetcher& fetcher, Connection& connection, const AssistDone& body) {
        return fetcher.assist_done(connection, body);
      }));
  handlers_.set(
      RecordKind::broken_off,
      record_row(*this, Begins::no, [](Engine& engine, Connection& connection, Lead, std::uint64_t, const std::byte*) {
        engine.lost(connection, "it has given up the connection");
        return Taken::yes;
      }));
}

std::size_t Engine::poll_events(Port& port) {
  port.queue->flush();
  std::array<ir::Event, 16> events;
  const std::size_t count = port.queue->poll(events);
  std::size_t done = 0;
  for (std::size_t i = 0; i < count; ++i) done += dispatch_event(events[i]) ? 1 : 0;
  return done;
}

bool Engine::dispatch_event(const ir::Event& event) {
  if (event.peer == ir::kByUid) {
    process_gone(event.value, static_cast<std::uint32_t>(event.cookie),
                 event.kind == ir::EventKind::peer_left ? End::left : End::died);
    return true;
  }
  if (event.kind == ir::EventKind::peer_failed) {
    peer_failed(static_cast<std::uint32_t>(event.peer));
    return true;
  }
  if (event.kind == ir::EventKind::peer_left) {
    peer_left(static_cast<std::uint32_t>(event.peer));
    return true;
  }
  if (event.kind == ir::EventKind::connection_lost) {
    connection_broke(static_cast<std::uint32_t>(event.peer));
    return true;
  }
  if (event.kind == ir::EventKind::completed) return dispatch_completed(event);
  dispatch_announced(event);
  return true;
}

void Engine::dispatch_announced(const ir::Event& event) {
  Connection* connection = connection_to(static_cast<std::uint32_t>(event.peer));
  if (connection == nullptr) return;
  if (connection->failed()) { // a slot of a shared ring may have waited for its last record
    for (const auto& port : ports_)
      if (port->shared.reader.exists()) read_shared_ring(*port);
    return;
  }
  if (event.kind == ir::EventKind::remote_read)
    grant_by_read_.asked(*connection, event.value);
  else if (event.value != kRecordWritten)
    grant_by_read_.answered(*connection, event.value);
  else if (connection->reader.exists())
    read_ring(*connection);
  else if (connection->port->shared.reader.exists())
    read_shared_ring(*connection->port);
  pump_later(*connection);
}

bool Engine::dispatch_completed(const ir::Event& event) {
  if (ir::is_group(event.peer)) return handlers_.ended(nullptr, event);
  const auto rank = static_cast<std::uint32_t>(event.peer);
  Connection* connection = connection_of_command(rank);
  // First, so that what the command was for ends with what has become of the peer.
  if (event.status == ir::Status::peer_lost && !connection->failed()) peer_failed(rank);
  if (event.status == ir::Status::peer_left && !connection->failed()) peer_left(rank);
  connection = connection_of_command(rank); // it may have been let go of
  // The event came before it, and another connection may have taken the place since: it is not concerned.
  if (event.status == ir::Status::connection_lost && !connection->failed()) connection = &broken_;
  const bool of_use = handlers_.ended(connection, event);
  pump_later(*connection_of_command(rank));
  return of_use;
}

void Engine::register_command_rows() {
  handlers_.set(CookieKind::common_slot_lock,
                command_row(*this, [](Engine& engine, Connection* connection, const ir::Event& event) {
                  if (connection->nobody()) return true;
                  engine.connector_.lock_answered(*connection, event);
                  if (connection->parting && !connection->introduced && !connection->failed())
                    engine.let_go(*connection);
                  return event.status != ir::Status::ok || event.value == 0;
                }));
  handlers_.set(CookieKind::directory,
                command_row(grant_by_read_, [](GrantByRead& granting, Connection* connection, const ir::Event& event) {
                  granting.directory_read(*connection, event);
                  return true;
                }));
  handlers_.set(CookieKind::claim,
                command_row(*this, [](Engine& engine, Connection* connection, const ir::Event& event) {
                  return connection->nobody() || engine.slot_claim_ended(*connection, event);
                }));
  handlers_.set(CookieKind::read, command_row(fetcher_, [](Fetcher& fetcher, Connection*, const ir::Event& event) {
                  fetcher.read_ended(event);
                  return true;
                }));
  handlers_.set(CookieKind::assist_claim,
                command_row(assistant_, [](Assistant& assistant, Connection*, const ir::Event& event) {
                  assistant.claim_ended(event);
                  return true;
                }));
  handlers_.set(CookieKind::assist_copy,
                command_row(assistant_, [](Assistant& assistant, Connection*, const ir::Event& event) {
                  assistant.copy_ended(event);
                  return true;
                }));
}

bool Engine::slot_claim_ended(Connection& connection, const ir::Event& event) {
  bool in_vain = false;
  std::size_t written = 0; // the event counts as something done in any case
  if (record_writer_.claim_answered(connection, event))
    sender_.pump(connection, written);
  else if (event.status == ir::Status::ok && connection.failed())
    break_off_later(connection); // for which it was asked
  else
    in_vain = event.status == ir::Status::ok && connection.claim == ClaimState::none;
  if (event.status == ir::Status::refused && !connection.failed()) {
    connector_.broken(connection, "the ring it granted cannot be reached"); // not even that can be written there
  }
  return !in_vain;
}

} // namespace heddle::engine
