// Receives: matches what arrives with what is posted, and brings each message into place. The end of a large one,
// record `finish`, is written by fetcher.cpp and taken by sender.cpp.
#pragma once

#include "engine/engine_state.hpp"
#include "engine/handlers.hpp"
#include "engine/layout_cursor.hpp"
#include "engine/messages/fetcher.hpp"
#include "engine/rings/record_writer.hpp"

#include <algorithm>
#include <cstring>

namespace heddle::engine {

class Receiver {
 public:
  Receiver(EngineState& engine, RecordWriter& record_writer, Fetcher& fetcher)
      : engine_(engine), record_writer_(record_writer), fetcher_(fetcher) {}

  // A record of one of the kinds that concern receiving has arrived. `content` is what follows lead word and tag.
  Taken whole(Connection& connection, Lead lead, std::uint64_t tag, const std::byte* content) {
    DataWord word;
    if (lead.has_data && !take_word(lead, content, word)) [[unlikely]]
      return Taken::malformed;
    Operation* receive = engine_.matching_of(lead.channel).take_receive(connection.rank, tag);
    if (receive == nullptr) [[unlikely]]
      return keep(connection, lead, {.tag = tag, .word = word}, {}, content, lead.bytes) ? Taken::yes : Taken::later;
    deliver(*receive, connection.rank, tag, content, lead.bytes, word);
    return Taken::yes;
  }
  Taken synchronous(Connection& connection, Lead lead, std::uint64_t tag, const std::byte* content);
  Taken unsolicited(Connection& connection, Lead lead, std::uint64_t tag, const std::byte* content);
  Taken request_to_send(Connection& connection, Lead lead, std::uint64_t tag, const std::byte* content);
  Taken request_to_send_unsolicited(Connection& connection, Lead lead, std::uint64_t tag, const std::byte* content);
  // Large unsolicited messages that there is no room for wait here and not in their ring, where what comes behind them may be just
  // what frees some.
  [[nodiscard]] std::size_t waiting() const { return waiting_.size(); }
  // Begins to fetch the first of them, if there is room now. The connection that it comes by, or null.
  Connection* fetch_waiting();
  // False: it is malformed.
  bool fragment(Connection& connection, Lead lead, std::uint64_t tag, const std::byte* content);

  // Gives a receive a message that has arrived before it. `connection` leads to the message's source.
  void take(Operation& receive, UnexpectedMessage& message, Connection& connection);

  // Receives and requests to send that only this peer could have served end.
  void peer_lost(Connection& connection);

 private:
  // Takes the data word off the front of what a whole message's record holds. False: it is too short to have one.
  static bool take_word(Lead& lead, const std::byte*& content, DataWord& word) {
    if (lead.bytes < kDataWordBytes) return false;
    word.there = true;
    std::memcpy(&word.value, content, kDataWordBytes);
    content += kDataWordBytes;
    lead.bytes -= static_cast<std::uint32_t>(kDataWordBytes);
    return true;
  }
  // A message is copied into place: the receive has ended.
  void deliver(Operation& receive, std::uint32_t source, std::uint64_t tag, const std::byte* data, std::uint64_t bytes,
               DataWord word = {}) {
    const std::uint64_t room = receive.target.bytes();
    const std::uint64_t taken = std::min(bytes, room);
    if (receive.target.shape() == Layout::Shape::contiguous) [[likely]]
      base::copy_bytes(receive.target.data(), data, taken);
    else
      scatter(receive.target, 0, data, taken);
    engine_.complete_receive(receive, {.code = bytes > room ? ErrorCode::truncated : ErrorCode::ok,
                                       .has_data = word.there,
                                       .peer = Rank{source},
                                       .tag = Tag{tag},
                                       .bytes = taken,
                                       .message_bytes = bytes,
                                       .data = word.value});
  }
  // What a message says of itself beside its bytes.
  struct Label {
    std::uint64_t tag = 0;
    DataWord word{};
  };
  // A message for which no receive is posted is kept. False: there is no memory for it.
  bool keep(Connection& connection, Lead lead, const Label& label, const RequestToSend& request, const std::byte* data,
            std::uint64_t bytes);
  // Starts to fetch a large message.
  void fetch(Operation& receive, Connection& connection, const Label& label, const RequestToSend& request);
  // False: there is no memory for it now.
  bool fetch_unsolicited(Connection& connection, std::uint64_t tag, const RequestToSend& request);
  // Ends an unsolicited message at its sender with out_of_memory.
  void refuse(Connection& connection, const RequestToSend& request);
  void tell_matched(Connection& connection, OperationName sender, std::uint64_t bytes);

  struct Waiting {
    Connection* connection;
    std::uint64_t tag;
    RequestToSend request;
  };

  EngineState& engine_;
  RecordWriter& record_writer_;
  Fetcher& fetcher_;
  base::BackedDeque<Waiting> waiting_;
};

} // namespace heddle::engine
