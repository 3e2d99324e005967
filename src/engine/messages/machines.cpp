#include "engine/messages/machines.hpp"

namespace heddle::engine {

namespace {

bool is_send_stage(Stage stage) {
  return stage == Stage::queued || stage == Stage::awaiting_match || stage == Stage::awaiting_answer ||
         stage == Stage::streaming;
}
bool is_receive_stage(Stage stage) {
  return stage == Stage::posted || stage == Stage::reading || stage == Stage::awaiting_assist ||
         stage == Stage::receiving_fragments;
}
std::optional<Stage> only_from(bool allowed, Stage next) {
  return allowed ? std::optional(next) : std::nullopt;
}

} // namespace

std::optional<Stage> step(Stage stage, SendInput input) {
  switch (input) {
    case SendInput::put_whole: return only_from(stage == Stage::queued, Stage::done);
    case SendInput::put_synchronous: return only_from(stage == Stage::queued, Stage::awaiting_match);
    case SendInput::request_to_send: return only_from(stage == Stage::queued, Stage::awaiting_answer);
    case SendInput::finish:
      return only_from(stage == Stage::awaiting_match || stage == Stage::awaiting_answer, Stage::done);
    case SendInput::clear_to_send: return only_from(stage == Stage::awaiting_answer, Stage::streaming);
    case SendInput::last_fragment: return only_from(stage == Stage::streaming, Stage::done);
    case SendInput::peer_lost: return only_from(is_send_stage(stage), Stage::done);
  }
  return std::nullopt;
}

std::optional<Stage> step(Stage stage, ReceiveInput input) {
  switch (input) {
    case ReceiveInput::whole: return only_from(stage == Stage::posted, Stage::done);
    case ReceiveInput::readable: return only_from(stage == Stage::posted, Stage::reading);
    case ReceiveInput::streamed: return only_from(stage == Stage::posted, Stage::receiving_fragments);
    case ReceiveInput::read_refused: return only_from(stage == Stage::reading, Stage::receiving_fragments);
    case ReceiveInput::none_left: return only_from(stage == Stage::reading, Stage::awaiting_assist);
    case ReceiveInput::chunk_lost:
      return only_from(stage == Stage::reading || stage == Stage::awaiting_assist, Stage::reading);
    case ReceiveInput::all_here: return only_from(is_receive_stage(stage) && stage != Stage::posted, Stage::done);
    case ReceiveInput::cancelled: return only_from(stage == Stage::posted, Stage::done);
    case ReceiveInput::peer_lost: return only_from(is_receive_stage(stage), Stage::done);
  }
  return std::nullopt;
}

} // namespace heddle::engine
