#include "store/ledger.hpp"

namespace heddle::store {
namespace {

constexpr std::size_t kLargestTotal = 256 << 20; // of all keys and values: a thousand ranks with a full value each fit

Error malformed(std::string fact) {
  return {.code = ErrorCode::bad_argument, .fact = std::move(fact)};
}

void answer(Answers& answers, ClientId to, Bytes frame) {
  answers.push_back({to, std::make_shared<const Bytes>(std::move(frame))});
}

void done(Answers& answers, ClientId to, std::uint32_t sequence) {
  answer(answers, to, FrameWriter(Kind::done, sequence).finish());
}

void refuse(Answers& answers, ClientId to, std::uint32_t sequence, const Error& error) {
  answer(answers, to, encode_refusal(sequence, error));
}

Bytes notice_of(std::uint32_t rank, Presence how) {
  return FrameWriter(Kind::notice, 0).u32(rank).u8(how == Presence::failed ? 1 : 0).finish();
}

bool is_gone(Presence presence) {
  return presence == Presence::left || presence == Presence::failed;
}

} // namespace

Ledger::Ledger(std::uint32_t size, std::string job) : job_(std::move(job)), ranks_(size) {}

Result<void> Ledger::receive(ClientId client, const Frame& frame, Answers& answers) {
  if (frame.kind == Kind::hello) return hello(client, frame, answers);
  if (frame.kind == Kind::goodbye) return goodbye(client, frame, answers);
  const auto found = clients_.find(client);
  if (found == clients_.end()) return std::unexpected(malformed("a request came before hello"));
  ClientState& state = found->second;
  if (frame.kind == Kind::withdraw) {
    withdraw(state);
    return {};
  }
  if (frame.kind == Kind::watch) {
    watch(client, state, answers);
    return {};
  }
  if (frame.kind == Kind::stalled) return stalled(state, frame);
  if (frame.kind == Kind::abort) return abort(state, frame);
  if (state.waiting.what != Waiting::For::nothing) {
    return std::unexpected(malformed("a second request came before the first was answered"));
  }
  switch (frame.kind) {
    case Kind::put: return put(client, frame, answers);
    case Kind::get: return get(client, state, frame, answers);
    case Kind::fence:
    case Kind::allgather: return arrive(client, state, frame, answers);
    case Kind::hello:
    case Kind::stalled:
    case Kind::abort:
    case Kind::goodbye:
    case Kind::withdraw:
    case Kind::watch:
    case Kind::done:
    case Kind::value:
    case Kind::gathered:
    case Kind::refused:
    case Kind::notice:
    case Kind::aborted: break;
  }
  return std::unexpected(
      malformed("message kind " + std::to_string(static_cast<int>(frame.kind)) + " is not a request"));
}

Result<void> Ledger::hello(ClientId client, const Frame& frame, Answers& answers) {
  BodyReader reader(frame.body);
  const auto version = reader.u32();
  const auto rank = reader.u32();
  const auto job = reader.text();
  if (!reader.finished() || clients_.contains(client)) return std::unexpected(malformed("a malformed hello"));
  std::string fact;
  if (*version != kWireVersion) {
    fact = "the store speaks version " + std::to_string(kWireVersion) + ", this process " + std::to_string(*version);
  } else if (as_characters(*job) != job_) {
    fact = "the store serves another job";
  } else if (*rank >= size()) {
    fact = "rank " + std::to_string(*rank) + " is outside the job of " + std::to_string(size());
  }
  if (!fact.empty()) {
    refuse(answers, client, frame.sequence, {.code = ErrorCode::store_failed, .fact = fact});
    return {};
  }
  RankState& state = ranks_[*rank];
  if (state.presence != Presence::expected) {
    const std::string who = "rank " + std::to_string(*rank);
    refuse(answers, client, frame.sequence,
           {.code = ErrorCode::already_joined,
            .fact = state.presence == Presence::joined ? who + " has already joined this job"
                    : state.presence == Presence::left
                        ? who + " has left this job before all had joined it, and cannot join it again"
                        : who + " counts as failed in this job, and cannot join it again"});
    return {};
  }
  state.presence = Presence::joined;
  state.has_joined = true;
  ++joined_count_;
  state.client = client;
  clients_[client].rank = *rank;
  answer(answers, client, FrameWriter(Kind::done, frame.sequence).u32(size()).finish());
  for (std::uint32_t other = 0; other < size(); ++other) {
    if (ranks_[other].presence == Presence::failed) answer(answers, client, notice_of(other, Presence::failed));
  }
  return {};
}

Result<void> Ledger::put(ClientId client, const Frame& frame, Answers& answers) {
  BodyReader reader(frame.body);
  const auto key_bytes = reader.text();
  const auto value = reader.text();
  if (!reader.finished() || key_bytes->empty() || key_bytes->size() > kLargestKey || value->size() > kLargestValue) {
    return std::unexpected(malformed("a malformed put"));
  }
  const std::string key(as_characters(*key_bytes));
  const auto old = values_.find(key);
  const std::size_t before = old == values_.end() ? 0 : key.size() + old->second.size();
  const std::size_t total = value_bytes_ - before + key.size() + value->size();
  if (total > kLargestTotal) {
    refuse(answers, client, frame.sequence,
           {.code = ErrorCode::out_of_memory, .fact = "the store is full: it holds at most 256MiB"});
    return {};
  }
  value_bytes_ = total;
  values_[key] = Bytes(value->begin(), value->end());
  done(answers, client, frame.sequence);
  for (auto& [id, state] : clients_) {
    if (state.waiting.what != Waiting::For::key || state.waiting.key != key) continue;
    answer(answers, id, FrameWriter(Kind::value, state.waiting.sequence).text(*value).finish());
    state.waiting = {};
  }
  return {};
}

Result<void> Ledger::get(ClientId client, ClientState& state, const Frame& frame, Answers& answers) {
  BodyReader reader(frame.body);
  const auto key = reader.text();
  const auto from = reader.i64();
  if (!reader.finished() || key->empty() || key->size() > kLargestKey || *from < kNoPeer ||
      *from >= static_cast<std::int64_t>(size())) {
    return std::unexpected(malformed("a malformed get"));
  }
  std::string name(as_characters(*key));
  if (const auto found = values_.find(name); found != values_.end()) {
    answer(answers, client, FrameWriter(Kind::value, frame.sequence).text(found->second).finish());
    return {};
  }
  state.waiting = {.what = Waiting::For::key, .sequence = frame.sequence, .key = std::move(name), .from = *from};
  refuse_impossible(answers);
  return {};
}

Result<void> Ledger::arrive(ClientId client, ClientState& state, const Frame& frame, Answers& answers) {
  BodyReader reader(frame.body);
  std::span<const std::byte> blob;
  if (frame.kind == Kind::allgather) blob = reader.text().value_or(std::span<const std::byte>{});
  if (!reader.finished() || blob.size() > kLargestBlob) return std::unexpected(malformed("a malformed fence"));
  if (unexpected_count_ > 0 && round_kind_ != frame.kind) {
    refuse(answers, client, frame.sequence,
           {.code = ErrorCode::bad_argument, .fact = "some ranks call fence where others call allgather"});
    return {};
  }
  round_kind_ = frame.kind;
  ranks_[state.rank].blob.assign(blob.begin(), blob.end());
  ++unexpected_count_;
  state.waiting = {.what = Waiting::For::round, .sequence = frame.sequence, .key = {}, .from = kNoPeer};
  if (unexpected_count_ == size()) {
    finish_round(answers);
  } else {
    refuse_impossible(answers);
  }
  return {};
}

Bytes Ledger::gathered_frame(std::uint32_t sequence) const {
  FrameWriter writer(Kind::gathered, sequence);
  for (const RankState& rank : ranks_) writer.text(rank.blob);
  return writer.finish();
}

void Ledger::finish_round(Answers& answers) {
  // It grows with the job, as does the number of those who get it: made once for all who ask alike, which is mostly everybody.
  std::map<std::uint32_t, std::shared_ptr<const Bytes>> gathered; // by sequence number
  for (auto& [id, state] : clients_) {
    if (state.waiting.what != Waiting::For::round) continue;
    if (round_kind_ == Kind::fence) {
      done(answers, id, state.waiting.sequence);
    } else {
      auto& frame = gathered[state.waiting.sequence];
      if (frame == nullptr) frame = std::make_shared<const Bytes>(gathered_frame(state.waiting.sequence));
      answers.push_back({id, frame});
    }
    withdraw(state);
  }
}

void Ledger::withdraw(ClientState& state) {
  if (state.waiting.what == Waiting::For::round) --unexpected_count_;
  state.waiting = {};
}

Result<void> Ledger::stalled(const ClientState& state, const Frame& frame) {
  BodyReader reader(frame.body);
  const auto seconds = reader.u32();
  const auto text = reader.text();
  if (!reader.finished() || text->size() > kLargestReport)
    return std::unexpected(malformed("a malformed report of a stall"));
  if (stalls_.size() < ranks_.size()) // who reports faster than anybody looks has said enough
    stalls_.push_back({.rank = state.rank, .seconds = *seconds, .text = std::string(as_characters(*text))});
  return {};
}

Result<void> Ledger::abort(const ClientState& state, const Frame& frame) {
  BodyReader reader(frame.body);
  const auto status = reader.i64();
  if (!reader.finished() || *status < 0 || *status > kHighestStatus)
    return std::unexpected(malformed("a malformed wish to end the job"));
  if (!abort_) abort_ = Abort{.rank = state.rank, .status = static_cast<int>(*status)};
  return {};
}

void Ledger::watch(ClientId client, ClientState& state, Answers& answers) {
  if (state.watches_departures) return;
  state.watches_departures = true;
  for (std::uint32_t rank = 0; rank < size(); ++rank)
    if (ranks_[rank].presence == Presence::left) answer(answers, client, notice_of(rank, Presence::left));
}

Result<void> Ledger::goodbye(ClientId client, const Frame& frame, Answers& answers) {
  BodyReader reader(frame.body);
  const auto in_good_order = reader.u8();
  if (!reader.finished()) return std::unexpected(malformed("a malformed goodbye"));
  // Also from one whose hello was refused, or who is gone by the launcher's word: then it means nothing.
  if (const auto found = clients_.find(client); found != clients_.end())
    gone(found->second.rank, *in_good_order != 0 ? Presence::left : Presence::failed, answers);
  return {};
}

void Ledger::expel(ClientId client, Answers& answers) {
  if (const auto found = clients_.find(client); found != clients_.end())
    gone(found->second.rank, Presence::failed, answers);
}

std::optional<std::uint32_t> Ledger::rank_of(ClientId client) const {
  const auto found = clients_.find(client);
  return found == clients_.end() ? std::nullopt : std::optional(found->second.rank);
}

void Ledger::disconnected(ClientId client) {
  const auto found = clients_.find(client);
  if (found == clients_.end()) return;
  withdraw(found->second);
  ranks_[found->second.rank].client = 0;
  clients_.erase(found);
}

void Ledger::declare(std::uint32_t rank, Presence how, Answers& answers) {
  if (rank < size()) gone(rank, how, answers);
}

void Ledger::gone(std::uint32_t rank, Presence how, Answers& answers) {
  RankState& state = ranks_[rank];
  if (state.presence == Presence::failed || state.presence == how) return;
  disconnected(state.client);
  const bool known = state.presence == Presence::left;
  state.presence = how;
  state.blob = {};
  if (!known) ++gone_count_;
  if (first_gone_ == kNoPeer) first_gone_ = rank;
  for (const auto& [id, other] : clients_)
    if (how == Presence::failed || other.watches_departures) answer(answers, id, notice_of(rank, how));
  refuse_impossible(answers);
}

void Ledger::refuse_impossible(Answers& answers) {
  for (auto& [id, state] : clients_) {
    if (state.waiting.what == Waiting::For::nothing) continue;
    const Error error = impossible(state);
    if (error.code == ErrorCode::ok) continue;
    refuse(answers, id, state.waiting.sequence, error);
    withdraw(state);
  }
}

Error Ledger::impossible(const ClientState& state) const {
  const Waiting& waiting = state.waiting;
  if (waiting.what == Waiting::For::round) {
    if (first_gone_ == kNoPeer) return {};
    return gone_error(static_cast<std::uint32_t>(first_gone_), "so the processes of the job can never all meet");
  }
  const std::string meanwhile = "without putting '" + waiting.key + "'";
  if (waiting.from != kNoPeer) {
    const auto from = static_cast<std::uint32_t>(waiting.from);
    return is_gone(ranks_[from].presence) ? gone_error(from, meanwhile) : Error{};
  }
  if (gone_count_ + 1 < size()) return {};
  if (first_gone_ == kNoPeer)
    return {.code = ErrorCode::timed_out, .fact = "nobody else is in the job to put '" + waiting.key + "'"};
  return gone_error(static_cast<std::uint32_t>(first_gone_), meanwhile);
}

Error Ledger::gone_error(std::uint32_t rank, const std::string& meanwhile) const {
  const bool failed = ranks_[rank].presence == Presence::failed;
  const char* how = failed ? " failed" : ranks_[rank].has_joined ? " left the job" : " ended";
  const char* when = ranks_[rank].has_joined ? "" : " before it joined";
  return {.code = failed ? ErrorCode::peer_failed : ErrorCode::peer_left,
          .fact = "rank " + std::to_string(rank) + how + when + ", " + meanwhile,
          .remedy = "",
          .peer = rank};
}

} // namespace heddle::store
