// What a call of progress does beside reading rings: events of the translators, protocols that wait, and what is to be written.
#include "engine/engine.hpp"

#include <utility>

namespace heddle::engine {

std::size_t Engine::progress_all() {
  ++state_.progress_count;
  std::size_t done = 0;
  for (std::size_t i = 0; i < readable_.size(); ++i)
    if (readable_[i]->reader.peek() != 0) done += read_ring(*readable_[i]);
  return done + handle_all(true);
}

std::size_t Engine::last_look() {
  std::size_t done = handle_all(true);
  for (std::size_t i = 0; i < readable_.size(); ++i)
    if (readable_[i]->reader.peek() != 0) done += read_ring(*readable_[i]);
  return done;
}

std::size_t Engine::progress_told(std::span<const std::uint32_t> writers) {
  ++state_.progress_count;
  std::size_t done = lonely_ == nullptr ? read_whole_ring(connections_[state_.rank]) : 0;
  for (const std::uint32_t rank : writers) done += read_whole_ring(connections_[rank]);
  return done + handle_all(true);
}

bool Engine::awaits_answers() const {
  return std::any_of(ports_.begin(), ports_.end(), [](const auto& port) { return port->queue->outstanding() != 0; });
}

bool Engine::holds_commands() const {
  return std::any_of(
             to_pump_.begin(), to_pump_.end(),
             [](const Connection* connection) { return has_output(*connection) || connection->must_break_off; }) ||
         std::any_of(ports_.begin(), ports_.end(), [](const auto& port) { return port->queue->held() != 0; });
}

bool Engine::owes_control_records() const {
  return std::any_of(to_pump_.begin(), to_pump_.end(), [](const Connection* connection) {
    return connection->connected() && !connection->control.empty();
  });
}

bool Engine::others_try_again() const {
  return std::ranges::any_of(handlers_.protocols(),
                             [](const ProtocolRow& row) { return row.protocol->tries_again(); }) ||
         std::any_of(to_pump_.begin(), to_pump_.end(), [this](const Connection* connection) {
           return connection->held_back ? state_.unsolicited.has_room(0) : connection->writes_shared;
         });
}

std::size_t Engine::fetch_waiting() {
  std::size_t begun = 0;
  for (Connection* connection = nullptr; receiver_.waiting() > 0 && (connection = receiver_.fetch_waiting()) != nullptr;
       ++begun)
    pump_later(*connection);
  return begun;
}

std::size_t Engine::handle_all(bool everything) {
  if (!retired_.empty()) [[unlikely]]
    drop_retired();
  std::size_t done = 0;
  for (auto& port : ports_) {
    if (rests(*port)) continue;
    if (everything || port->listens || port->queue->outstanding() > 0) done += poll_events(*port);
    done += connector_.progress(*port);
    // What the processor has carried out is answered by now: a lock is not held until the next call, which may be late.
    if (port->queue->outstanding() > 0 && port->queue->capabilities().processor_copies) done += poll_events(*port);
    if (port->shared.reader.exists()) done += read_shared_ring(*port);
  }
  done += grant_by_read_.progress() + fetcher_.progress();
  for (const ProtocolRow& row : handlers_.protocols())
    if (*row.busy) done += row.protocol->progress();
  done += fetch_waiting();
  if (!to_pump_.empty()) done += pump_all();
  return done;
}

std::size_t Engine::pump_all() {
  std::size_t done = 0;
  for (std::size_t i = 0; i < to_pump_.size();) {
    Connection& connection = *to_pump_[i];
    if (connection.ending != End::none) {
      peer_gone(connection.rank, std::exchange(connection.ending, End::none));
    } else if (connection.held_back) {
      connection.held_back = false;
      if (connection.ring.grant.type == RingType::shared)
        done += read_shared_ring(*connection.port);
      else
        done += read_whole_ring(&connection);
    }
    if (!connection.connected() && !connection.failed() && has_output(connection))
      open(connection); // it has control records, and was only read from until now
    const bool idle = connection.connected() ? sender_.pump(connection, done) : !has_output(connection);
    if (connection.must_break_off)
      connection.must_break_off = !connection.dead && !record_writer_.break_off(connection);
    const bool done_with = connection.failed() ? !connection.must_break_off : idle && !connection.held_back;
    if (done_with) {
      connection.pumped = false;
      to_pump_[i] = to_pump_.back();
      to_pump_.pop_back();
    } else {
      ++i;
    }
  }
  return done;
}

} // namespace heddle::engine
