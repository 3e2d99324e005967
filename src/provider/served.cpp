// RMA and atomic operations at the side whose memory they concern. Everything that a peer says is checked here.
#include "provider/endpoint.hpp"

#include <algorithm>
#include <cstring>

namespace heddle::provider {

namespace {

constexpr std::size_t kControlReceives = 8;

} // namespace

void Endpoint::post_control_receives() {
  for (std::size_t i = 0; i < kControlReceives; ++i) {
    auto& buffer = control_buffers_.emplace_back(std::make_unique_for_overwrite<std::byte[]>(kLargestControl));
    Operation& operation = take(Operation::Kind::control_receive);
    operation.buffer = buffer.get();
    post_control(operation);
  }
}

void Endpoint::post_control(Operation& operation) {
  // Without memory for it, the buffer is lost, and the others serve.
  static_cast<void>(context->receive({.channel = Channel::second, .tag = Tag{kControlTag}},
                                     Layout(operation.buffer, kLargestControl),
                                     Notify::event(reinterpret_cast<std::uint64_t>(&operation))));
}

void Endpoint::serve(Rank from, const Control& control, std::span<const std::byte> payload) {
  switch (control.kind) {
    case ControlKind::write:
    case ControlKind::write_bulk: return serve_write(from, control, payload);
    case ControlKind::read: return serve_read(from, control);
    case ControlKind::atomic:
    case ControlKind::fetch:
    case ControlKind::compare: return serve_atomic(from, control, payload);
    case ControlKind::answer: return answered(from, control, payload);
    case ControlKind::greeting: return;
  }
}

std::byte* Endpoint::reach(const Control& control, std::uint64_t access, ErrorCode& code) {
  const auto found = domain->regions.find(control.key);
  code = ErrorCode::unknown_area;
  if (found == domain->regions.end()) return nullptr;
  const Region& region = *found->second;
  code = ErrorCode::closed_area;
  if ((region.access & access) != access || (caps & (FI_RMA | FI_ATOMIC)) == 0) return nullptr;
  code = ErrorCode::out_of_range;
  const std::uint64_t offset = control.address - (domain->basic ? reinterpret_cast<std::uintptr_t>(region.data) : 0);
  if (control.bytes > region.bytes || offset > region.bytes - control.bytes) return nullptr;
  code = ErrorCode::ok;
  return region.data + offset;
}

void Endpoint::answer(Rank to, const Control& asked, ErrorCode code, std::span<const ConstPiece> payload) {
  say(to, {.kind = ControlKind::answer, .code = static_cast<std::uint32_t>(code), .part = asked.part}, payload);
}

void Endpoint::serve_write(Rank from, const Control& control, std::span<const std::byte> payload) {
  ErrorCode code{};
  std::byte* memory = reach(control, FI_REMOTE_WRITE, code);
  if (control.kind == ControlKind::write) {
    if (code == ErrorCode::ok && payload.size() != control.bytes) code = ErrorCode::bad_argument;
    if (code == ErrorCode::ok && !payload.empty()) std::memcpy(memory, payload.data(), payload.size());
    if (code == ErrorCode::ok) written_by_peer(from, control);
    return answer(from, control, code);
  }
  // The message that follows is received in any case, if only to be thrown away.
  Operation& landing = take(Operation::Kind::landing);
  landing.control = control;
  landing.peer = from;
  landing.code = code;
  const auto posted =
      context->receive({.source = from, .channel = Channel::second, .tag = Tag{kWriteTag | control.part}},
                       code == ErrorCode::ok ? Layout(memory, control.bytes) : Layout(),
                       Notify::event(reinterpret_cast<std::uint64_t>(&landing)));
  if (posted) return;
  give_back(landing);
  answer(from, control, posted.error().code); // which goes nowhere if the peer is gone
}

void Endpoint::landed(Operation& operation, const Completion& completion) {
  ErrorCode code = operation.code;
  if (code == ErrorCode::ok) code = completion.code;
  if (code == ErrorCode::ok && completion.bytes != operation.control.bytes) code = ErrorCode::bad_argument;
  if (code == ErrorCode::ok) written_by_peer(operation.peer, operation.control);
  answer(operation.peer, operation.control, code);
}

void Endpoint::written_by_peer(Rank from, const Control& control) {
  count(Counted::remote_write, true);
  if (control.has_data == 0 || receive_queue == nullptr) return;
  receive_queue->add(CompletionQueue::Entry{.entry = {.op_context = nullptr,
                                                      .flags = FI_RMA | FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA,
                                                      .len = control.bytes,
                                                      .data = control.data},
                                            .source = (caps & FI_SOURCE) != 0 ? address_of(from) : FI_ADDR_NOTAVAIL});
}

void Endpoint::serve_read(Rank from, const Control& control) {
  ErrorCode code{};
  const std::byte* memory = reach(control, FI_REMOTE_READ, code);
  if (code != ErrorCode::ok) return answer(from, control, code);
  count(Counted::remote_read, true);
  if (control.bytes <= kInlineBytes) {
    const ConstPiece piece{.data = memory, .bytes = control.bytes};
    return answer(from, control, code, std::span(&piece, control.bytes > 0 ? 1 : 0));
  }
  Operation& operation = take(Operation::Kind::answer);
  const auto sent = context->send(
      from, Tag{kReadTag | control.part}, ConstLayout(memory, control.bytes),
      SendOptions{.notify = Notify::event(reinterpret_cast<std::uint64_t>(&operation)), .channel = Channel::second});
  if (sent) return;
  give_back(operation);
  answer(from, control, sent.error().code);
}

void Endpoint::serve_atomic(Rank from, const Control& control, std::span<const std::byte> payload) {
  const bool compares = control.kind == ControlKind::compare;
  const bool fetches = control.kind != ControlKind::atomic;
  const bool reads_only = control.op == FI_ATOMIC_READ;
  const std::size_t element = element_bytes(control.datatype);
  ErrorCode code{};
  std::byte* memory = reach(control, (reads_only ? 0 : FI_REMOTE_WRITE) | (fetches ? FI_REMOTE_READ : 0), code);
  const std::uint64_t operands = reads_only ? 0 : control.bytes;
  const AtomicForm form = compares ? AtomicForm::compare : fetches ? AtomicForm::fetch : AtomicForm::plain;
  const bool sound = element != 0 && control.bytes % element == 0 && control.bytes <= kAtomicBytes &&
                     atomic_exists(form, control.datatype, control.op) &&
                     payload.size() == operands + (compares ? control.bytes : 0);
  if (code == ErrorCode::ok && !sound) code = ErrorCode::bad_argument;
  if (code != ErrorCode::ok) return answer(from, control, code);
  std::array<std::byte, kAtomicBytes> before; // NOLINT: filled as far as it is used
  apply_atomic(control.datatype, control.op, control.bytes / element, memory, reads_only ? nullptr : payload.data(),
               compares ? payload.data() + operands : nullptr, fetches ? before.data() : nullptr);
  count(fetches ? Counted::remote_read : Counted::remote_write, true); // as fi_endpoint(3) has it
  const ConstPiece piece{.data = before.data(), .bytes = control.bytes};
  answer(from, control, code, std::span(&piece, fetches ? 1 : 0));
}

} // namespace heddle::provider
