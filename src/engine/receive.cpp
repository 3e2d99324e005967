// Receives beside the quick one of engine_inline.hpp: probes, the receive of a probed message, cancelling.
#include "engine/engine.hpp"

#include "engine/messages/machines.hpp"

#include <string>

namespace heddle::engine {

Error Engine::complaint(const Match& match) const {
  if (match.source != kAnySource && static_cast<std::uint32_t>(match.source) >= state_.book.size())
    return unknown_rank("source rank", static_cast<std::uint32_t>(match.source), ", or kAnySource");
  if (match.channel > heddle::Channel::second)
    return {.code = ErrorCode::bad_argument,
            .fact = "channel " + std::to_string(static_cast<unsigned>(match.channel)) + " does not exist",
            .remedy = "use Channel::first or Channel::second"};
  return {.code = ErrorCode::bad_argument,
          .fact = "tag " + std::to_string(static_cast<std::uint64_t>(match.tag)) + " has bits set outside the mask " +
                  std::to_string(match.mask) + ": it can match nothing",
          .remedy = "clear the bits of the tag that the mask leaves out"};
}

Result<std::optional<Envelope>> Engine::probe(const Match& match) {
  if (wrong(match)) return std::unexpected(complaint(match));
  const UnexpectedMessage* message = state_.matching_of(channel_of(match.channel)).find(match);
  if (message == nullptr && source_failed(match))
    return std::unexpected(failed_error(static_cast<std::uint32_t>(match.source)));
  if (message == nullptr) return std::nullopt;
  Envelope envelope{.source = Rank{message->source}, .tag = Tag{message->tag}, .bytes = message->bytes};
  if (message->word.there) envelope.data = message->word.value;
  return envelope;
}

Result<std::optional<Message>> Engine::matched_probe(const Match& match) {
  auto envelope = probe(match);
  if (!envelope) return std::unexpected(envelope.error());
  if (!*envelope) return std::nullopt;
  Matching& matching = state_.matching_of(channel_of(match.channel));
  UnexpectedMessage* message = matching.find(match);
  matching.take(*message);
  message->reserved = true;
  return Message{.envelope = **envelope, .handle = EngineState::handle_of(*message)};
}

Result<Request> Engine::receive_matched(const Message& message, const Layout& into, Notify notify) {
  UnexpectedMessage* arrived = state_.find_reserved(message.handle);
  if (arrived == nullptr)
    return std::unexpected(Error{.code = ErrorCode::bad_argument,
                                 .fact = "the message was received before, or never reserved",
                                 .remedy = "receive each message of matched_probe exactly once"});
  if (!into.usable()) return std::unexpected(unusable_layout()); // the message stays reserved
  if (!base::Reserve::may_begin()) return std::unexpected(no_memory());
  Operation& operation = state_.begin(OperationKind::receive, Stage::posted, notify);
  operation.channel = arrived->channel;
  operation.target = into;
  const Request request = operation.request();
  Connection& connection = *connections_[arrived->source];
  receiver_.take(operation, *arrived, connection);
  pump_later(connection);
  return request;
}

bool Engine::cancel(Request request) {
  Operation* operation = state_.operations.find(request.name);
  if (operation == nullptr || operation->kind != OperationKind::receive ||
      !advance(*operation, ReceiveInput::cancelled))
    return false;
  state_.matching_of(operation->channel).remove(*operation);
  operation->completion = {};
  state_.complete(*operation, ErrorCode::cancelled);
  return true;
}

} // namespace heddle::engine
