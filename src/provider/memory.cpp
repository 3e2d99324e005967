// RMA and atomic operations at the side that begins them: each is cut into parts, one for each stretch of the target's memory, and has
// ended when all parts have.
#include "provider/endpoint.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

namespace heddle::provider {

namespace {

// Walks over local memory in step with the target's.
template <typename Slice>
class Walk {
 public:
  explicit Walk(std::span<const Slice> pieces) : pieces_(pieces) {}
  [[nodiscard]] std::vector<Slice> next(std::uint64_t bytes) {
    std::vector<Slice> taken;
    while (bytes > 0 && !pieces_.empty()) {
      const std::uint64_t step = std::min(bytes, pieces_.front().bytes - used_);
      if (step > 0) taken.push_back({.data = pieces_.front().data + used_, .bytes = step});
      bytes -= step;
      used_ += step;
      if (used_ == pieces_.front().bytes) {
        pieces_ = pieces_.subspan(1);
        used_ = 0;
      }
    }
    return taken;
  }

 private:
  std::span<const Slice> pieces_;
  std::uint64_t used_ = 0;
};

template <typename Slice>
std::uint64_t sum(std::span<const Slice> pieces) {
  std::uint64_t bytes = 0;
  for (const Slice& piece : pieces) bytes += piece.bytes;
  return bytes;
}

void scatter(std::span<const std::byte> data, std::span<const Piece> into) {
  for (const Piece& piece : into) {
    const std::size_t step = std::min<std::size_t>(piece.bytes, data.size());
    if (step > 0) std::memcpy(piece.data, data.data(), step);
    data = data.subspan(step);
  }
}

// The list of pieces has to live as long as the message, which may outlive its part.
template <typename Shape, typename Slice>
Shape whole(const std::vector<Slice>& pieces, std::array<Slice, kPieces>& kept) {
  if (pieces.size() == 1) return {pieces[0].data, pieces[0].bytes};
  std::ranges::copy(pieces, kept.begin());
  return Shape::pieces(std::span(kept).first(pieces.size()));
}

} // namespace

ssize_t Endpoint::access(const Remote& what) try {
  constexpr std::size_t kMostLetters = 1024;
  Rank to{};
  if (const int status = rank_of(what.to, to); status != 0) return status;
  const Acquaintance& peer = acquaintance(to);
  if (peer.letters > kMostLetters || (orders_memory && letters_overtake_ && peer.parts > 0)) {
    progress();
    return -FI_EAGAIN;
  }
  std::uint64_t remote = 0;
  for (const fi_rma_iov& place : what.at) remote += place.len;
  const bool reads = what.kind == ControlKind::read;
  const bool writes = what.kind == ControlKind::write;
  const std::uint64_t local = reads ? sum(what.in) : sum(what.out);
  if (what.at.empty() || what.at.size() > kRemotePieces || ((reads || writes) && local != remote)) return -FI_EINVAL;
  Operation& operation = take(Operation::Kind::remote);
  operation.wanted = what.wanted;
  operation.context = what.context;
  operation.flags = what.entry_flags;
  operation.counted = what.counted;
  operation.pending = static_cast<std::uint32_t>(what.at.size());
  operation.peer = to;
  operation.tells_last = what.data && what.at.size() > 1; // parts may arrive in any order
  if (operation.tells_last) {
    ++operation.pending;
    operation.control = {.kind = ControlKind::write,
                         .has_data = 1,
                         .key = what.at.back().key,
                         .address = what.at.back().addr,
                         .data = *what.data};
  }
  Walk<ConstPiece> out(what.out);
  Walk<ConstPiece> compare(what.compare);
  Walk<Piece> in(what.in);
  for (const fi_rma_iov& place : what.at) {
    const std::uint64_t id = ++last_part_;
    Part& part = begin_part(id, operation, to);
    Control control{.kind = what.kind,
                    .datatype = what.datatype,
                    .op = what.op,
                    .part = id,
                    .key = place.key,
                    .address = place.addr,
                    .bytes = place.len};
    if (what.data && !operation.tells_last) {
      control.has_data = 1;
      control.data = *what.data;
    }
    if (!what.in.empty()) part.into = in.next(place.len);
    if (reads) {
      if (place.len > kInlineBytes) {
        Operation& bulk = take_bulk(id, to);
        const auto posted = context->receive({.source = to, .channel = Channel::second, .tag = Tag{kReadTag | id}},
                                             whole<Layout>(part.into, bulk.into),
                                             Notify::event(reinterpret_cast<std::uint64_t>(&bulk)));
        if (!posted) {
          give_back(bulk);
          part_ended(id, posted.error().code);
          continue;
        }
        part.bulk = *posted;
      }
      say(to, control);
      continue;
    }
    std::vector<ConstPiece> payload = out.next(place.len);
    if (writes && place.len > kInlineBytes) {
      control.kind = ControlKind::write_bulk;
      say(to, control);
      if (!parts_.contains(id)) continue; // the peer is gone: that has ended the part, and perhaps the operation
      Operation& bulk = take_bulk(id, to);
      const auto sent = context->send(
          to, Tag{kWriteTag | id}, whole<ConstLayout>(payload, bulk.from),
          SendOptions{.notify = Notify::event(reinterpret_cast<std::uint64_t>(&bulk)), .channel = Channel::second});
      if (!sent) {
        give_back(bulk);
        part_ended(id, sent.error().code);
      }
      continue;
    }
    for (const ConstPiece& piece : compare.next(place.len)) payload.push_back(piece);
    say(to, control, payload);
  }
  return 0;
} catch (const std::bad_alloc&) {
  return -FI_ENOMEM;
}

Part& Endpoint::begin_part(std::uint64_t id, Operation& operation, Rank peer) {
  Part& part = parts_[id];
  part.operation = &operation;
  part.peer = peer;
  ++acquaintance(peer).parts;
  return part;
}

void Endpoint::answered(Rank from, const Control& control, std::span<const std::byte> payload) {
  const auto found = parts_.find(control.part);
  if (found == parts_.end() || found->second.peer != from) return; // it has ended otherwise
  Part& part = found->second;
  const auto code = static_cast<ErrorCode>(control.code);
  if (code == ErrorCode::ok) scatter(payload, part.into);
  if (part.bulk.name != 0) static_cast<void>(context->cancel(part.bulk)); // it was refused: nothing will come
  part_ended(control.part, code);
}

void Endpoint::part_ended(std::uint64_t id, ErrorCode code) {
  const auto found = parts_.find(id);
  if (found == parts_.end()) return;
  Operation& operation = *found->second.operation;
  --acquaintance(found->second.peer).parts;
  parts_.erase(found);
  if (code != ErrorCode::ok && operation.code == ErrorCode::ok) operation.code = code;
  --operation.pending;
  if (operation.pending == 1 && std::exchange(operation.tells_last, false)) {
    if (operation.code == ErrorCode::ok) return tell_last(operation);
    operation.pending = 0;
  }
  if (operation.pending > 0) return;
  if (operation.code == ErrorCode::ok && operation.wanted)
    transmit_queue->add(CompletionQueue::Entry{.entry = {.op_context = operation.context, .flags = operation.flags}});
  else if (operation.code != ErrorCode::ok && transmit_queue != nullptr)
    transmit_queue->add(CompletionQueue::Failure{.entry = {.op_context = operation.context,
                                                           .flags = operation.flags,
                                                           .err = number_of(operation.code),
                                                           .prov_errno = static_cast<int>(operation.code),
                                                           .err_data = nullptr,
                                                           .err_data_size = 0}});
  count(operation.counted, operation.code == ErrorCode::ok);
  give_back(operation);
}

// All that was written has arrived: a last part, of no bytes, says so to the target.
void Endpoint::tell_last(Operation& operation) {
  const std::uint64_t id = operation.control.part = ++last_part_;
  begin_part(id, operation, operation.peer);
  say(operation.peer, operation.control);
}

// What only that peer could have answered ends.
void Endpoint::peer_gone(Rank peer, ErrorCode code) {
  if (code == ErrorCode::ok) code = ErrorCode::connection_lost;
  std::erase_if(outbox_, [peer](const Letter& letter) { return letter.to == peer; });
  acquaintance(peer).letters = 0;
  std::vector<std::uint64_t> lost;
  for (const auto& [id, part] : parts_)
    if (part.peer == peer) lost.push_back(id);
  std::ranges::sort(lost);
  for (const std::uint64_t id : lost) part_ended(id, code);
}

// A large read, or the message of a large write: it names its part, which may end before it does.
Operation& Endpoint::take_bulk(std::uint64_t id, Rank peer) {
  Operation& operation = take(Operation::Kind::bulk);
  operation.control.part = id;
  operation.peer = peer;
  return operation;
}

void Endpoint::bulk_ended(const Operation& operation, const Completion& completion, bool received) {
  if (completion.code == ErrorCode::cancelled) return; // the answer has said why
  if (!received && completion.code == ErrorCode::ok) return;
  part_ended(operation.control.part, completion.code);
}

// --- Letters ---

void Endpoint::say(Rank to, const Control& control, std::span<const ConstPiece> payload) {
  std::vector<std::byte> bytes(sizeof control + sum(payload));
  std::memcpy(bytes.data(), &control, sizeof control);
  std::byte* at = bytes.data() + sizeof control;
  for (const ConstPiece& piece : payload) {
    std::memcpy(at, piece.data, piece.bytes);
    at += piece.bytes;
  }
  outbox_.push_back({.to = to, .bytes = std::move(bytes)});
  ++acquaintance(to).letters;
  flush_outbox();
}

ErrorCode Endpoint::send_letter(Letter& letter) {
  Operation& operation = take(Operation::Kind::answer);
  operation.copy = std::move(letter.bytes);
  const auto sent = context->send(
      letter.to, Tag{kControlTag}, operation.copy,
      SendOptions{.notify = Notify::event(reinterpret_cast<std::uint64_t>(&operation)), .channel = Channel::second});
  if (sent) return ErrorCode::ok;
  give_back(operation);
  return sent.error().code;
}

// In order to each peer; one that takes no more now holds up no other.
std::size_t Endpoint::flush_outbox() {
  std::size_t done = 0;
  full_.clear();
  for (std::size_t i = 0; i < outbox_.size();) {
    Letter& letter = outbox_[i];
    if (!full_.empty() && std::ranges::find(full_, letter.to) != full_.end()) {
      ++i;
      continue;
    }
    const auto sent =
        context->inject(letter.to, Tag{kControlTag}, letter.bytes, {.channel = Channel::second, .cookie = kLetter});
    ErrorCode code = sent ? ErrorCode::ok : sent.error().code;
    if (code == ErrorCode::would_block) {
      full_.push_back(letter.to);
      ++i;
      continue;
    }
    Control control;
    std::memcpy(&control, letter.bytes.data(), sizeof control);
    if (code == ErrorCode::bad_argument) { // longer than option eager_limit
      letters_overtake_ = true;
      code = send_letter(letter);
    }
    --acquaintance(letter.to).letters;
    outbox_.erase(outbox_.begin() + static_cast<std::ptrdiff_t>(i));
    ++done;
    if (code != ErrorCode::ok && control.kind != ControlKind::answer) part_ended(control.part, code);
  }
  return done;
}

} // namespace heddle::provider
