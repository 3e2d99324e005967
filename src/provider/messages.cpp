// Sends and receives of an endpoint, tagged or not.
#include "provider/pieces.hpp"

#include <new>

namespace heddle::provider {

ssize_t Endpoint::send(const Sending& what) try {
  Rank to{};
  if (const int status = rank_of(what.to, to); status != 0) [[unlikely]]
    return status;
  if (what.count > kPieces) return -FI_EINVAL;
  const std::size_t bytes = what.count == 1 ? what.pieces[0].iov_len : total(what.pieces, what.count);
  const std::uint64_t entry_flags = FI_SEND | kind_flag(what.channel);
  const bool wanted = !what.no_entry && wants_transmit(what.flags);
  const bool must_leave = what.no_entry || (what.flags & FI_INJECT) != 0;
  if (must_leave && bytes > kInjectBytes) return -FI_EMSGSIZE;
  const bool waits_for_match = (what.flags & (FI_DELIVERY_COMPLETE | FI_MATCH_COMPLETE)) != 0;
  if (orders_sends && acquaintance(to).parts > 0) [[unlikely]] {
    progress();
    return -FI_EAGAIN;
  }
  bool at_once = bytes <= kInjectBytes && !waits_for_match;
  if (!is_reached(to)) [[unlikely]] {
    if (must_leave && is_patient_with(to)) return -FI_EAGAIN;
    at_once = at_once && must_leave;
  }
  std::array<std::byte, kInjectBytes> gathered; // NOLINT: filled as far as it is used
  const void* data = what.count == 1 ? what.pieces[0].iov_base : gathered.data();
  if (at_once) [[likely]] {
    if (what.count > 1) gather(what.pieces, what.count, gathered.data());
    const auto done =
        context->inject(to, Tag{what.tag}, ConstMemory(data, bytes), {.channel = what.channel, .data = what.data});
    if (done) [[likely]] {
      sent_at_once(entry_flags, wanted, what.context);
      return 0;
    }
    if (done.error().code == ErrorCode::would_block) {
      progress();
      return -FI_EAGAIN;
    }
    if (done.error().code != ErrorCode::bad_argument) return refuse(done.error());
    // Larger than option eager_limit.
  }
  Operation& operation = take(Operation::Kind::send);
  operation.wanted = wanted;
  operation.context = what.context;
  operation.flags = entry_flags;
  operation.buffer = nullptr;
  ConstLayout layout = layout_of(operation, what.pieces, what.count);
  if (must_leave) {
    operation.copy.resize(bytes);
    gather(what.pieces, what.count, operation.copy.data());
    layout = ConstLayout(operation.copy.data(), bytes);
  }
  const auto sent = context->send(to, Tag{what.tag}, layout,
                                  SendOptions{.mode = waits_for_match ? SendMode::synchronous : SendMode::standard,
                                              .notify = Notify::event(reinterpret_cast<std::uint64_t>(&operation)),
                                              .channel = what.channel,
                                              .data = what.data});
  if (sent) return 0;
  give_back(operation);
  return refuse(sent.error());
} catch (const std::bad_alloc&) {
  return -FI_ENOMEM;
}

ssize_t Endpoint::match_for(const Receiving& what, Match& match) {
  match = {.source = kAnySource, .channel = what.channel, .tag = Tag{what.tag & ~what.ignore}, .mask = ~what.ignore};
  if (what.from == FI_ADDR_UNSPEC || (caps & FI_DIRECTED_RECV) == 0) return 0;
  return rank_of(what.from, match.source);
}

ssize_t Endpoint::receive(const Receiving& what) try {
  if (what.count > kPieces) return -FI_EINVAL;
  if ((what.flags & FI_CLAIM) != 0 && (what.flags & FI_PEEK) == 0) return claim(what);
  Match match;
  if (const ssize_t status = match_for(what, match); status != 0) return status;
  if ((what.flags & FI_PEEK) != 0) return peek(what, match);
  if (what.channel == Channel::second && (lists_ || (what.flags & FI_MULTI_RECV) != 0)) return list(what, match);
  return post(what, match);
} catch (const std::bad_alloc&) {
  return -FI_ENOMEM;
}

ssize_t Endpoint::post(const Receiving& what, const Match& match) {
  Operation& operation = take(Operation::Kind::receive);
  operation.wanted = wants_receive(what.flags);
  operation.context = what.context;
  operation.flags = FI_RECV | kind_flag(what.channel);
  operation.buffer = what.count > 0 ? static_cast<std::byte*>(what.pieces[0].iov_base) : nullptr;
  const auto posted = context->receive(match, target_of(operation, what.pieces, what.count),
                                       Notify::event(reinterpret_cast<std::uint64_t>(&operation)));
  if (posted) [[likely]] {
    operation.request = *posted;
    return 0;
  }
  // The source is gone: that is an outcome of the receive, and not of the call.
  const ErrorCode code = posted.error().code;
  if (is_end_of_peer(code)) {
    report(operation, {.code = code, .peer = match.source, .tag = match.tag});
    give_back(operation);
    return 0;
  }
  give_back(operation);
  return refuse(posted.error());
}

ssize_t Endpoint::peek(const Receiving& what, const Match& match) {
  if (receive_queue == nullptr) return -FI_ENOCQ;
  if ((what.flags & FI_CLAIM) != 0 && claimed_.contains(what.context)) return -FI_EINVAL; // it holds another message
  std::optional<Envelope> found;
  std::optional<Message> message;
  if ((what.flags & (FI_CLAIM | FI_DISCARD)) != 0) {
    const auto probed = context->matched_probe(match);
    if (probed && *probed) message = **probed;
    if (message) found = message->envelope;
  } else if (const auto probed = context->probe(match); probed) {
    found = *probed;
  }
  const std::uint64_t flags = FI_RECV | kind_flag(what.channel);
  if (!found) {
    receive_queue->add(CompletionQueue::Failure{.entry = {.op_context = what.context,
                                                          .flags = flags,
                                                          .tag = what.tag,
                                                          .err = FI_ENOMSG,
                                                          .prov_errno = kNoMessage,
                                                          .err_data = nullptr,
                                                          .err_data_size = 0}});
    return 0;
  }
  if ((what.flags & FI_DISCARD) != 0) {
    Operation& operation = take(Operation::Kind::discard);
    const auto received =
        context->receive_matched(*message, {}, Notify::event(reinterpret_cast<std::uint64_t>(&operation)));
    if (!received) give_back(operation);
  } else if ((what.flags & FI_CLAIM) != 0) {
    claimed_[what.context] = *message;
  }
  receive_queue->add(
      CompletionQueue::Entry{.entry = {.op_context = what.context,
                                       .flags = flags | (found->data ? FI_REMOTE_CQ_DATA : 0),
                                       .len = found->bytes,
                                       .buf = nullptr,
                                       .data = found->data.value_or(0),
                                       .tag = static_cast<std::uint64_t>(found->tag)},
                             .source = (caps & FI_SOURCE) != 0 ? address_of(found->source) : FI_ADDR_NOTAVAIL});
  return 0;
}

ssize_t Endpoint::claim(const Receiving& what) {
  const auto found = claimed_.find(what.context);
  if (found == claimed_.end()) return -FI_EINVAL;
  const Message message = found->second;
  const bool discards = (what.flags & FI_DISCARD) != 0;
  Operation& operation = take(discards ? Operation::Kind::discard : Operation::Kind::receive);
  operation.wanted = wants_receive(what.flags);
  operation.context = what.context;
  operation.flags = FI_RECV | kind_flag(what.channel);
  operation.buffer = what.count > 0 ? static_cast<std::byte*>(what.pieces[0].iov_base) : nullptr;
  const Layout into = discards ? Layout() : target_of(operation, what.pieces, what.count);
  const auto received =
      context->receive_matched(message, into, Notify::event(reinterpret_cast<std::uint64_t>(&operation)));
  if (!received) {
    give_back(operation);
    return refuse(received.error());
  }
  operation.request = *received;
  claimed_.erase(found);
  if (discards && wants_receive(what.flags))
    receive_queue->add(
        CompletionQueue::Entry{.entry = {.op_context = what.context, .flags = FI_RECV | kind_flag(what.channel)}});
  return 0;
}

} // namespace heddle::provider
