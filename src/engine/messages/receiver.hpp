// Receives: matches what arrives with what is posted, and brings each message into place.
#pragma once

#include "engine/core.hpp"
#include "engine/layout_cursor.hpp"
#include "engine/messages/fetcher.hpp"
#include "engine/messages/outbox.hpp"

#include <algorithm>

namespace heddle::engine {

// What has become of a record.
enum class Taken : std::uint8_t {
  yes,
  later,     // there is no memory for it now: it stays where it is, and is tried again
  senseless, // the peer broke the protocol
};

class Receiver {
 public:
  Receiver(Core& core, Outbox& outbox, Fetcher& fetcher) : core_(core), outbox_(outbox), fetcher_(fetcher) {}

  // A record of one of the kinds that concern receiving has arrived. `content` is what follows lead word and tag.
  // Of a whole message: false means later.
  bool whole(Link& link, Lead lead, std::uint64_t tag, const std::byte* content) {
    Operation* receive = core_.matching_of(lead.channel).take_receive(link.rank, tag);
    if (receive == nullptr) [[unlikely]]
      return keep(link, lead, tag, {}, content, lead.bytes);
    deliver(*receive, link.rank, tag, content, lead.bytes);
    return true;
  }
  Taken synchronous(Link& link, Lead lead, std::uint64_t tag, const std::byte* content);
  Taken unsolicited(Link& link, Lead lead, std::uint64_t tag, const std::byte* content);
  Taken asked_to_send(Link& link, Lead lead, std::uint64_t tag, const std::byte* content);
  Taken asked_to_send_unsolicited(Link& link, Lead lead, std::uint64_t tag, const std::byte* content);
  // Large unsolicited messages that there is no room for wait here and not in their ring, where what comes behind them may be just
  // what frees some.
  [[nodiscard]] std::size_t waiting() const { return waiting_.size(); }
  // Begins to fetch the first of them, if there is room now. The link that it comes by, or null.
  Link* fetch_waiting();
  // False: it makes no sense.
  bool fragment(Link& link, Lead lead, std::uint64_t tag, const std::byte* content);

  // Gives a receive a message that has arrived before it. `link` leads to the message's source.
  void take(Operation& receive, Arrived& message, Link& link);

  // Receives and requests to send that only this peer could have served end.
  void peer_lost(Link& link);

 private:
  // A message is copied into place: the receive has ended.
  void deliver(Operation& receive, std::uint32_t source, std::uint64_t tag, const std::byte* data,
               std::uint64_t bytes) {
    const std::uint64_t room = receive.target.bytes();
    const std::uint64_t taken = std::min(bytes, room);
    if (receive.target.shape() == Layout::Shape::contiguous) [[likely]]
      base::copy_bytes(receive.target.data(), data, taken);
    else
      scatter(receive.target, 0, data, taken);
    core_.complete_receive(receive, {.code = bytes > room ? ErrorCode::truncated : ErrorCode::ok,
                                     .peer = Rank{source},
                                     .tag = Tag{tag},
                                     .bytes = taken,
                                     .message_bytes = bytes});
  }
  // A message for which no receive is posted is kept. False: there is no memory for it.
  bool keep(Link& link, Lead lead, std::uint64_t tag, const RequestToSend& request, const std::byte* data,
            std::uint64_t bytes);
  // Starts to fetch a large message.
  void fetch(Operation& receive, Link& link, std::uint64_t tag, const RequestToSend& request);
  // False: there is no memory for it now.
  bool fetch_unsolicited(Link& link, std::uint64_t tag, const RequestToSend& request);
  // Ends an unsolicited message at its sender with out_of_memory.
  void refuse(Link& link, const RequestToSend& request);
  void tell_matched(Link& link, OperationName sender, std::uint64_t bytes);

  struct Waiting {
    Link* link;
    std::uint64_t tag;
    RequestToSend request;
  };

  Core& core_;
  Outbox& outbox_;
  Fetcher& fetcher_;
  base::BackedDeque<Waiting> waiting_;
};

} // namespace heddle::engine
