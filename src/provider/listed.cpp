// Untagged receives that the endpoint matches itself, from the first on that takes many messages (FI_MULTI_RECV); and cancelling, of all.
#include "provider/pieces.hpp"

#include <algorithm>

namespace heddle::provider {

ssize_t Endpoint::list(const Receiving& what, const Match& match) {
  const bool many = (what.flags & FI_MULTI_RECV) != 0;
  if (many && what.count != 1) return -FI_EINVAL;
  lists_ = true;
  Operation& operation = take(Operation::Kind::receive);
  operation.wanted = wants_receive(what.flags);
  operation.context = what.context;
  operation.flags = FI_RECV | FI_MSG;
  operation.buffer = what.count > 0 ? static_cast<std::byte*>(what.pieces[0].iov_base) : nullptr;
  operation.bytes = many ? what.pieces[0].iov_len : 0;
  operation.used = 0;
  operation.children = 0;
  operation.match = match;
  operation.listed = true;
  if (!many) { // kept for when its message comes
    static_cast<void>(target_of(operation, what.pieces, what.count));
    if (what.count == 1) operation.into[0] = {.data = operation.buffer, .bytes = what.pieces[0].iov_len};
    operation.pending = static_cast<std::uint32_t>(what.count);
  }
  operation.takes_many = many;
  listed_.push_back(&operation);
  match_listed();
  return 0;
}

// One that is listed no more, and gets nothing from now on.
void Endpoint::end_listed(Operation& operation, const Completion& completion) {
  operation.listed = false;
  if (operation.takes_many && operation.children > 0) return; // its last message says that the buffer is free
  if (operation.takes_many) operation.flags |= FI_MULTI_RECV;
  report(operation, completion);
  give_back(operation);
}

std::size_t Endpoint::match_listed() {
  std::size_t taken = 0;
  for (auto at = listed_.begin(); at != listed_.end();) {
    Operation& operation = **at;
    const bool any = operation.match.source == kAnySource;
    const auto probed = context->matched_probe(operation.match);
    if (!probed && is_end_of_peer(probed.error().code)) { // nothing will ever come for it
      ++taken;
      at = listed_.erase(at);
      end_listed(operation, {.code = probed.error().code, .peer = operation.match.source});
      continue;
    }
    if (!probed || !*probed) {
      if (any) break; // then there is nothing for those behind it either
      ++at;
      continue;
    }
    ++taken;
    const Message message = **probed;
    if (!operation.takes_many) {
      at = listed_.erase(at);
      operation.listed = false;
      const Layout into = Layout::pieces(std::span(operation.into).first(operation.pending));
      const auto received =
          context->receive_matched(message, into, Notify::event(reinterpret_cast<std::uint64_t>(&operation)));
      if (received) {
        operation.request = *received;
      } else {
        report(operation, {.code = received.error().code, .peer = message.envelope.source});
        give_back(operation);
      }
      continue;
    }
    const std::size_t room = operation.bytes - operation.used;
    Operation& part = take(Operation::Kind::receive);
    part.parent = &operation;
    part.wanted = operation.wanted;
    part.context = operation.context;
    part.flags = operation.flags;
    part.buffer = operation.buffer + operation.used;
    ++operation.children;
    operation.used += std::min<std::size_t>(room, message.envelope.bytes);
    if (operation.bytes - operation.used < std::max<std::size_t>(least_left, 1)) {
      at = listed_.erase(at);
      operation.listed = false;
    }
    const auto received = context->receive_matched(message, Layout(part.buffer, room),
                                                   Notify::event(reinterpret_cast<std::uint64_t>(&part)));
    if (!received) {
      report(part, {.code = received.error().code, .peer = message.envelope.source});
      give_back(part);
    }
  }
  return taken;
}

ssize_t Endpoint::cancel(void* of) {
  for (Operation* operation = receives_; operation != nullptr; operation = operation->next) {
    if (operation->context != of || operation->parent != nullptr) continue;
    if (operation->listed) {
      listed_.remove(operation);
      end_listed(*operation, {.code = ErrorCode::cancelled});
      return 0;
    }
    if (context->cancel(operation->request)) return 0;
  }
  return -FI_ENOENT;
}

} // namespace heddle::provider
