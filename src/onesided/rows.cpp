// What comes in for one-sided operations: a row for each kind of record and of command, and for the end of a peer. What it makes ready is
// done before the engine goes on.
#include "onesided/one_sided_engine.hpp"

namespace heddle::onesided {

namespace {

using engine::Begins;

constexpr bool is_code(std::uint64_t code) {
  return code <= static_cast<std::uint64_t>(ErrorCode::system_failed);
}

} // namespace

template <typename Body, typename Take>
void OneSidedEngine::on_body(RecordKind kind, Begins begins, Take /*take*/) {
  handlers_.set(kind, engine::body_row<Body>(*this, begins, [](Self& self, Connection& from, const Body& body) {
                  const bool sound = Take{}(self, from, body);
                  self.settle();
                  return sound;
                }));
}

template <typename Take>
void OneSidedEngine::on_bytes(RecordKind kind, Begins begins, Take /*take*/) {
  const auto take = [](Self& self, Connection& from, Lead lead, std::uint64_t, const std::byte* content) {
    const bool sound = Take{}(self, from, std::span(content, lead.bytes));
    self.settle();
    return sound ? engine::Taken::yes : engine::Taken::malformed;
  };
  handlers_.set(kind, engine::record_row(*this, begins, take));
}

template <typename Ended>
void OneSidedEngine::on_command(CookieKind kind, Ended /*ended*/) {
  handlers_.set(kind, engine::command_row(*this, [](Self& self, Connection*, const ir::Event& event) {
                  Ended{}(self, event);
                  self.settle();
                  return true;
                }));
}

void OneSidedEngine::register_rows() {
  handlers_.add(*this, common_.work_list.busy());
  on_body<AreaAsk>(RecordKind::area_ask, Begins::yes, [](Self& self, Connection& from, const AreaAsk& ask) {
    self.own_.asked(from, ask);
    return true;
  });
  on_body<AreaGrant>(RecordKind::area_grant, Begins::no, [](Self& self, Connection& from, const AreaGrant& grant) {
    if (!is_code(grant.code)) return false;
    self.granted(from, grant);
    return true;
  });
  on_body<AreaRevoked>(RecordKind::area_revoked, Begins::no,
                       [](Self& self, Connection& from, const AreaRevoked& revoked) {
                         self.revoked(from, revoked);
                         return true;
                       });
  on_body<AreaSignal>(RecordKind::area_signal, Begins::no, [](Self& self, Connection& from, const AreaSignal& signal) {
    self.own_.signalled(from, signal);
    return true;
  });
  on_bytes(RecordKind::area_scatter, Begins::yes, [](Self& self, Connection& from, std::span<const std::byte> content) {
    return self.scatter(from, content);
  });
  on_body<AreaScattered>(RecordKind::area_scattered, Begins::no,
                         [](Self& self, Connection& from, const AreaScattered& answer) {
                           if (!is_code(answer.code)) return false;
                           self.transfers_.scatter_answered(from, answer);
                           return true;
                         });
  on_bytes(RecordKind::area_relay, Begins::yes,
           [](Self& self, Connection&, std::span<const std::byte> content) { return self.relays_.record(content); });
  on_body<AreaRelayed>(
      RecordKind::area_relayed, Begins::no,
      [](Self& self, Connection& from, const AreaRelayed& answer) { return self.relays_.answered(from, answer); });
  on_body<LockPassed>(RecordKind::lock_passed, Begins::no, [](Self& self, Connection&, const LockPassed& passed) {
    self.locks_.passed(passed);
    return true;
  });

  on_command(CookieKind::transfer, [](Self& self, const ir::Event& event) { self.transfers_.command_ended(event); });
  on_command(CookieKind::group_put, [](Self& self, const ir::Event& event) { self.multicasts_.command_ended(event); });
  on_command(CookieKind::lock_step, [](Self& self, const ir::Event& event) { self.locks_.command_ended(event); });

  handlers_.add_end_row(engine::end_row(*this, [](Self& self, Connection& connection, engine::PeerEnd end) {
    if (end.is_first())
      self.peer_lost(connection);
    else if (end.before == engine::End::connection_lost)
      self.locks_.peer_failed(); // what it had locked is free
    self.settle();
    if (end.instead == nullptr) return;
    for (KnownArea& area : self.common_.known.all())
      if (area.connection == &connection) area.connection = end.instead;
  }));
}

} // namespace heddle::onesided
