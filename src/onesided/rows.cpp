// What comes in for one-sided operations: a row for each kind of record and of command, and for the end of a peer.
#include "onesided/one_sided_engine.hpp"

namespace heddle::onesided {

namespace {

using engine::Begins;

constexpr bool is_code(std::uint64_t code) {
  return code <= static_cast<std::uint64_t>(ErrorCode::system_failed);
}

} // namespace

void OneSidedEngine::enter_rows() {
  using Self = OneSidedEngine;
  handlers_.add(*this);
  handlers_.set(RecordKind::area_ask,
                engine::body_row<AreaAsk>(*this, Begins::yes, [](Self& self, Connection& from, const AreaAsk& body) {
                  self.own_.asked(from, body);
                  return true;
                }));
  handlers_.set(RecordKind::area_grant,
                engine::body_row<AreaGrant>(*this, Begins::no, [](Self& self, Connection& from, const AreaGrant& body) {
                  if (!is_code(body.code)) return false;
                  self.granted(from, body);
                  self.follow_up();
                  return true;
                }));
  handlers_.set(
      RecordKind::area_revoked,
      engine::body_row<AreaRevoked>(*this, Begins::no, [](Self& self, Connection& from, const AreaRevoked& body) {
        self.revoked(from, body);
        self.follow_up();
        return true;
      }));
  handlers_.set(
      RecordKind::area_signal,
      engine::body_row<AreaSignal>(*this, Begins::no, [](Self& self, Connection& from, const AreaSignal& body) {
        self.own_.signalled(from, body);
        return true;
      }));
  handlers_.set(
      RecordKind::area_scattered,
      engine::body_row<AreaScattered>(*this, Begins::no, [](Self& self, Connection& from, const AreaScattered& body) {
        if (!is_code(body.code)) return false;
        self.transfers_.scatter_answered(from, body);
        return true;
      }));
  handlers_.set(
      RecordKind::area_relayed,
      engine::body_row<AreaRelayed>(*this, Begins::no, [](Self& self, Connection& from, const AreaRelayed& body) {
        if (!self.relays_.answered(from, body)) return false;
        self.follow_up();
        return true;
      }));
  handlers_.set(RecordKind::lock_passed,
                engine::body_row<LockPassed>(*this, Begins::no, [](Self& self, Connection&, const LockPassed& body) {
                  self.locks_.passed(body);
                  self.follow_up();
                  return true;
                }));
  handlers_.set(
      RecordKind::area_scatter,
      engine::record_row(
          *this, Begins::yes, [](Self& self, Connection& from, Lead lead, std::uint64_t, const std::byte* content) {
            return self.scatter(from, {content, lead.bytes}) ? engine::Taken::yes : engine::Taken::senseless;
          }));
  handlers_.set(RecordKind::area_relay,
                engine::record_row(*this, Begins::yes,
                                   [](Self& self, Connection&, Lead lead, std::uint64_t, const std::byte* content) {
                                     const bool sound = self.relays_.record({content, lead.bytes});
                                     self.follow_up();
                                     return sound ? engine::Taken::yes : engine::Taken::senseless;
                                   }));
  handlers_.set(CookieKind::transfer, engine::command_row(*this, [](Self& self, Connection*, const ir::Event& event) {
                  self.transfers_.command_ended(event);
                  self.follow_up();
                  return true;
                }));
  handlers_.set(CookieKind::group_put, engine::command_row(*this, [](Self& self, Connection*, const ir::Event& event) {
                  self.multicasts_.command_ended(event);
                  self.follow_up();
                  return true;
                }));
  handlers_.set(CookieKind::lock_step, engine::command_row(*this, [](Self& self, Connection*, const ir::Event& event) {
                  self.locks_.command_ended(event);
                  self.follow_up();
                  return true;
                }));
  handlers_.tell_of_ends(engine::end_row(*this, [](Self& self, Connection& connection, engine::PeerEnd end) {
    if (end.is_first())
      self.peer_lost(connection);
    else if (end.before == engine::End::connection_lost)
      self.peer_died();
  }));
}

} // namespace heddle::onesided
