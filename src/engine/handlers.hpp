// Who takes what comes in: a row for each kind of record and of command, the list of those to call when a peer ends, and the
// protocols of other rooms. The engine enters its own; another room enters what is its own when it is made.
#pragma once

#include "engine/connection/connection.hpp"
#include "engine/cookie.hpp"
#include "engine/protocol.hpp"
#include "engine/record.hpp"
#include "ir/event.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace heddle::engine {

// What has become of a record.
enum class Taken : std::uint8_t {
  yes,
  later,     // there is no memory for it now: it stays where it is, and is tried again
  malformed, // the peer broke the protocol
};

// Whether a record begins something new, or only ends something. One that begins stays in its ring while memory is short.
enum class Begins : bool { no, yes };

struct RecordRow {
  Taken (*take)(void* owner, Connection& connection, Lead lead, std::uint64_t tag, const std::byte* content) = nullptr;
  void* owner = nullptr;
  Begins begins{};
};
struct CommandRow {
  // A command has ended. There is no connection where it went to a group. False: it had no effect, and is to be tried again.
  bool (*ended)(void* owner, Connection* connection, const ir::Event& event) = nullptr;
  void* owner = nullptr;
};

// How contact with a peer ended. Called once, and a second time, with what was known before, when the peer of a lost connection turns out to
// be dead or to have left, or when one that had left fails after all. Of a connection that broke, also when another takes its place:
// `how` is none then, and `instead` the new one.
struct PeerEnd {
  End how{};
  End before{};                  // none: this is the first news
  Connection* instead = nullptr; // of a peer that was removed: what stands for its connection, which goes
  [[nodiscard]] bool is_first() const { return before == End::none; }
};
struct EndRow {
  void (*told)(void* owner, Connection& connection, PeerEnd end) = nullptr;
  void* owner = nullptr;
};

struct ProtocolRow {
  Protocol* protocol = nullptr;
  const bool* busy = nullptr; // it has something to do at the next call of progress
};

// Rows of an object and a function without state, such as a lambda that captures nothing.
template <typename Owner, typename Take>
RecordRow record_row(Owner& owner, Begins begins, Take /*take*/) {
  return {.take =
              [](void* self, Connection& connection, Lead lead, std::uint64_t tag, const std::byte* content) {
                return Take{}(*static_cast<Owner*>(self), connection, lead, tag, content);
              },
          .owner = &owner,
          .begins = begins};
}
// Of a record that is a Body and nothing else. `take` returns whether it is well-formed.
template <typename Body, typename Owner, typename Take>
RecordRow body_row(Owner& owner, Begins begins, Take /*take*/) {
  return record_row(owner, begins,
                    [](Owner& self, Connection& connection, Lead lead, std::uint64_t, const std::byte* content) {
                      Body body;
                      if (lead.bytes != sizeof body) return Taken::malformed;
                      std::memcpy(&body, content, sizeof body);
                      return Take{}(self, connection, body) ? Taken::yes : Taken::malformed;
                    });
}
template <typename Owner, typename Ended>
CommandRow command_row(Owner& owner, Ended /*ended*/) {
  return {.ended = [](void* self, Connection* connection,
                      const ir::Event& event) { return Ended{}(*static_cast<Owner*>(self), connection, event); },
          .owner = &owner};
}
template <typename Owner, typename Told>
EndRow end_row(Owner& owner, Told /*told*/) {
  return {.told = [](void* self, Connection& connection,
                     PeerEnd end) { Told{}(*static_cast<Owner*>(self), connection, end); },
          .owner = &owner};
}

class Handlers {
 public:
  void set(RecordKind kind, const RecordRow& row) { records_[static_cast<std::size_t>(kind)] = row; }
  void set(CookieKind kind, const CommandRow& row) { commands_[static_cast<std::size_t>(kind)] = row; }
  // Called in the order in which they were added.
  void add_end_row(const EndRow& row) { end_rows_.push_back(row); }
  // `busy` is a word, since every call of the engine's progress looks at it.
  void add(Protocol& protocol, const bool& busy) { protocols_.push_back({.protocol = &protocol, .busy = &busy}); }
  // Takes out all that stands there for it.
  void remove(const void* owner);
  void remove(const Protocol& protocol) {
    std::erase_if(protocols_, [&protocol](const ProtocolRow& row) { return row.protocol == &protocol; });
  }

  // A record of a plausible lead (record.hpp).
  Taken take(Connection& connection, Lead lead, const std::byte* record) const;
  bool ended(Connection* connection, const ir::Event& event) const {
    const auto kind = static_cast<std::size_t>(cookie_kind(event.cookie));
    if (kind >= commands_.size() || commands_[kind].ended == nullptr) return true;
    return commands_[kind].ended(commands_[kind].owner, connection, event);
  }
  void tell(Connection& connection, PeerEnd end) const {
    for (const EndRow& row : end_rows_) row.told(row.owner, connection, end);
  }
  [[nodiscard]] std::span<const ProtocolRow> protocols() const { return protocols_; }

 private:
  std::array<RecordRow, kRecordKinds> records_{};
  std::array<CommandRow, kCookieKinds> commands_{};
  std::vector<EndRow> end_rows_;
  std::vector<ProtocolRow> protocols_;
};

} // namespace heddle::engine
