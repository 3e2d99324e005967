#include "commands.hpp"

#include "switches.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

namespace tofu_emulation {

namespace {

// Pieces of a transfer in the order in which they land: ascending and the last word last, or any.
std::vector<std::pair<std::uint64_t, std::uint64_t>> pieces_of(std::uint64_t bytes, bool strong,
                                                               std::mt19937_64& dice) {
  if (strong) {
    if (bytes <= 8) return {{0, bytes}};
    return {{0, bytes - 8}, {bytes - 8, 8}};
  }
  std::vector<std::pair<std::uint64_t, std::uint64_t>> pieces;
  const std::uint64_t step = std::max<std::uint64_t>(8, bytes / 12);
  for (std::uint64_t at = 0; at < bytes; at += step) pieces.emplace_back(at, std::min(step, bytes - at));
  std::ranges::shuffle(pieces, dice);
  return pieces;
}

int code_of(int error, bool far) {
  if (error == ESRCH) return UTOFU_ERR_MRQ_PEER;
  return far ? UTOFU_ERR_MRQ_RMT_MEMORY : UTOFU_ERR_MRQ_LCL_MEMORY;
}

using Call = ssize_t (*)(pid_t, const iovec*, unsigned long, const iovec*, unsigned long, unsigned long);

// 0, or errno.
int copy(Call call, int pid, std::uint64_t local, std::uint64_t remote, std::uint64_t bytes, std::mt19937_64* dice,
         bool strong) {
  std::array<iovec, 16> from;
  std::array<iovec, 16> to;
  std::size_t count = 0;
  if (strong && bytes <= 8) {
    from[count] = {reinterpret_cast<void*>(local), bytes};
    to[count++] = {reinterpret_cast<void*>(remote), bytes};
  } else {
    for (const auto& [at, size] : pieces_of(bytes, strong, *dice)) {
      from[count] = {reinterpret_cast<void*>(local + at), size};
      to[count++] = {reinterpret_cast<void*>(remote + at), size};
    }
  }
  const ssize_t done = call(pid, from.data(), count, to.data(), count, 0);
  if (done < 0) return errno;
  return static_cast<std::uint64_t>(done) == bytes ? 0 : EFAULT;
}

utofu_mrq_notice notice_of(const Descriptor& command) {
  utofu_mrq_notice notice{};
  switch (command.kind) {
    case Kind::none:
    case Kind::put:
    case Kind::piggyback: notice.notice_type = UTOFU_MRQ_TYPE_LCL_PUT; break;
    case Kind::get: notice.notice_type = UTOFU_MRQ_TYPE_LCL_GET; break;
    case Kind::armw:
    case Kind::cswap: notice.notice_type = UTOFU_MRQ_TYPE_LCL_ARMW; break;
  }
  notice.edata = command.edata;
  notice.rmt_stadd = command.remote;
  if (command.kind == Kind::put || command.kind == Kind::get) notice.lcl_stadd = command.data[0];
  return notice;
}

} // namespace

Vcq::Vcq(Cq& cq, unsigned long flags)
    : cq_(cq), flags_(flags), dice_(switches().seed * 0x9e37'79b9'7f4a'7c15U + cq.id) {}

Vcq::Use::Use(Vcq& vcq) : vcq_(vcq) {
  if (vcq.mark != kAlive) violation("a VCQ handle that is none");
  if ((vcq.flags_ & UTOFU_VCQ_FLAG_THREAD_SAFE) != 0)
    vcq.mutex_.lock();
  else if (vcq.busy_.exchange(true, std::memory_order_acquire))
    violation("a VCQ that is not THREAD_SAFE is used by two threads at once");
}

Vcq::Use::~Use() {
  if ((vcq_.flags_ & UTOFU_VCQ_FLAG_THREAD_SAFE) != 0)
    vcq_.mutex_.unlock();
  else
    vcq_.busy_.store(false, std::memory_order_release);
}

int Vcq::post(std::span<const Descriptor> commands, void* cbdata) {
  const Switches& s = switches();
  step();
  if (pending_.size() + done_.size() + commands.size() > s.toq) return UTOFU_ERR_BUSY;
  for (const Descriptor& command : commands) {
    if (command.kind == Kind::put || command.kind == Kind::get) {
      const Reached near = reach(cq_, command.data[0], command.length);
      if (near.bytes != command.length)
        violation("local memory of a put or get is not registered with the VCQ that it is posted to");
    }
    // For an order that is asked for only sometimes, being late is no excuse: it is the others that may overtake.
    std::uint64_t due = calls_ + draw(command.strong() ? s.delay : 2 * s.delay);
    Pending pending{.command = command, .cbdata = cbdata, .due = due, .room_taken = false, .told = false};
    if (s.tcq_when_left && command.kind == Kind::put) {
      pending.left.resize(command.length);
      std::memcpy(pending.left.data(), reinterpret_cast<void*>(reach(cq_, command.data[0], command.length).address),
                  command.length);
      if (command.has(UTOFU_ONESIDED_FLAG_TCQ_NOTICE) && command.edata_too_long == 0)
        done_.push_back({.cbdata = cbdata, .code = UTOFU_SUCCESS});
    }
    if (s.put_ends_when_sent && (command.kind == Kind::put || command.kind == Kind::piggyback)) {
      pending.due += 1 + draw(s.delay);
      if (command.has(UTOFU_ONESIDED_FLAG_LOCAL_MRQ_NOTICE) && take_room()) {
        pending.told = true;
        tell_self(command, UTOFU_SUCCESS, 0);
      }
    }
    pending_.push_back(std::move(pending));
  }
  step();
  return UTOFU_SUCCESS;
}

void Vcq::step() {
  ++calls_;
  for (std::size_t i = 0; i < pending_.size();) {
    if (pending_[i].due > calls_ || must_wait(i) || !carry_out(pending_[i])) {
      ++i;
      continue;
    }
    pending_.erase(pending_.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

bool Vcq::must_wait(std::size_t index) const {
  const Descriptor& command = pending_[index].command;
  if (!command.strong()) return false;
  for (std::size_t i = 0; i < index; ++i) {
    const Descriptor& earlier = pending_[i].command;
    if (earlier.to == command.to && (earlier.strong() || !switches().order_needs_both)) return true;
  }
  return false;
}

bool Vcq::take_room() {
  const Lock lock(cq_.mutex);
  if (cq_.tail - cq_.head + cq_.reserved < switches().mrq) {
    ++cq_.reserved;
    return true;
  }
  if (!switches().mrq_stalls) violation("a notice for an MRQ that is full");
  return false;
}

Cq* Vcq::target_of(std::uint64_t id) {
  Cq*& known = known_[id];
  if (known == nullptr || known->used == 0 || known->id != (id & ~kPathBits)) known = find_cq(id);
  return known;
}

bool Vcq::carry_out(Pending& pending) {
  const Descriptor& command = pending.command;
  const bool asked = command.has(UTOFU_ONESIDED_FLAG_LOCAL_MRQ_NOTICE);
  const bool local_entry = (asked && !pending.told) || switches().unasked_errors;
  if (local_entry && !pending.room_taken && !take_room()) return false;
  pending.room_taken = local_entry;
  std::uint64_t old = 0;
  bool no_room = false;
  int code = UTOFU_ERR_MRQ_PEER;
  if (command.edata_too_long != 0) {
    code = UTOFU_ERR_TCQ_LENGTH;
  } else if (Cq* target = target_of(command.to); target != nullptr) {
    const Lock lock(target->mutex);
    if (target->used != 0 && target->id == (command.to & ~kPathBits)) code = access(*target, pending, old, no_room);
  }
  if (no_room) return false;
  const bool silent = code == UTOFU_ERR_MRQ_PEER && !switches().dead_peer_told;
  const bool mrq_error = code <= UTOFU_ERR_MRQ_OTHER && !silent;
  if (!silent && ((asked && !pending.told) || (mrq_error && switches().unasked_errors))) {
    if (code != UTOFU_ERR_TCQ_LENGTH) tell_self(command, code, old);
  } else if (pending.room_taken) {
    const Lock lock(cq_.mutex);
    --cq_.reserved;
  }
  if ((command.has(UTOFU_ONESIDED_FLAG_TCQ_NOTICE) && pending.left.empty()) || code == UTOFU_ERR_TCQ_LENGTH)
    done_.push_back({.cbdata = pending.cbdata, .code = code == UTOFU_ERR_TCQ_LENGTH ? code : UTOFU_SUCCESS});
  return true;
}

int Vcq::access(Cq& target, const Pending& pending, std::uint64_t& old, bool& no_room) {
  const Descriptor& command = pending.command;
  const bool tells = command.has(UTOFU_ONESIDED_FLAG_REMOTE_MRQ_NOTICE);
  if (tells && target.tail - target.head + target.reserved >= switches().mrq) {
    if (!switches().mrq_stalls) violation("a notice for an MRQ that is full, at process " + std::to_string(target.pid));
    no_room = true;
    return UTOFU_SUCCESS;
  }
  const Reached far = reach(target, command.remote, command.length);
  if (far.stag == nullptr) return UTOFU_ERR_MRQ_RMT_STADD;
  const bool writes = command.kind != Kind::get;
  if (writes && (far.stag->flags & UTOFU_REG_MEM_FLAG_READ_ONLY) != 0) return UTOFU_ERR_MRQ_RMT_MEMORY;
  int code = UTOFU_SUCCESS;
  if (command.kind == Kind::armw || command.kind == Kind::cswap) {
    if (far.bytes != command.length) return UTOFU_ERR_MRQ_RMT_LENGTH;
    code = atomic(target, command, far.address, old);
  } else {
    std::uint64_t local = reinterpret_cast<std::uint64_t>(command.data.data());
    if (!pending.left.empty()) {
      local = reinterpret_cast<std::uint64_t>(pending.left.data());
    } else if (command.kind != Kind::piggyback) {
      const Reached near =
          reach(cq_, command.data[0], command.length); // deregistered since: the caller may have wanted that
      if (near.bytes != command.length) return UTOFU_ERR_MRQ_LCL_STADD;
      local = near.address;
    }
    code = far.bytes > 0 && (far.bytes == command.length || switches().writes_part)
               ? transfer(target, command, far, local)
               : UTOFU_SUCCESS;
    if (code == UTOFU_SUCCESS && far.bytes != command.length) code = UTOFU_ERR_MRQ_RMT_LENGTH;
  }
  if (code == UTOFU_SUCCESS) log(command);
  if (code == UTOFU_SUCCESS && tells) tell_target(target, command);
  return code;
}

int Vcq::transfer(Cq& target, const Descriptor& command, const Reached& far, std::uint64_t local) {
  const Call call = command.kind == Kind::get ? Call{::process_vm_readv} : Call{::process_vm_writev};
  const int error = copy(call, target.pid, local, far.address, far.bytes, &dice_, command.strong());
  return error == 0 ? int{UTOFU_SUCCESS} : code_of(error, true);
}

int Vcq::atomic(Cq& target, const Descriptor& command, std::uint64_t address, std::uint64_t& old) {
  if (address % 8 != 0) return UTOFU_ERR_MRQ_RMT_STADD;
  const auto work = [&] {
    const auto word = reinterpret_cast<std::uint64_t>(&old);
    if (const int error = copy(::process_vm_readv, target.pid, word, address, 8, nullptr, true); error != 0)
      return code_of(error, true);
    std::uint64_t made = old;
    if (command.kind == Kind::cswap) {
      if (old != command.data[0]) return int{UTOFU_SUCCESS}; // nothing is written then
      made = command.data[1];
    } else {
      switch (static_cast<unsigned>(command.data[0])) {
        case UTOFU_ARMW_OP_SWAP: made = command.data[1]; break;
        case UTOFU_ARMW_OP_ADD: made += command.data[1]; break;
        case UTOFU_ARMW_OP_XOR: made ^= command.data[1]; break;
        case UTOFU_ARMW_OP_AND: made &= command.data[1]; break;
        case UTOFU_ARMW_OP_OR: made |= command.data[1]; break;
      }
    }
    const auto from = reinterpret_cast<std::uint64_t>(&made);
    const int error = copy(::process_vm_writev, target.pid, from, address, 8, nullptr, true);
    return error == 0 ? int{UTOFU_SUCCESS} : code_of(error, true);
  };
  if (!switches().armw_by_node) return work(); // the queue is locked: atomic among those that come through it
  const Lock lock(fabric().atomics);
  return work();
}

void Vcq::tell_target(Cq& target, const Descriptor& command) {
  const Switches& s = switches();
  utofu_mrq_notice notice = notice_of(command);
  ++notice.notice_type; // RMT_* follows LCL_*
  notice.lcl_stadd = 0;
  const bool put = command.kind == Kind::put || command.kind == Kind::piggyback;
  if (put && s.stadd_advanced) notice.rmt_stadd += command.length;
  notice.rmt_value = notice.rmt_stadd;
  if (command.kind == Kind::get && !s.get_tells_edata) notice.edata = 0;
  const std::uint64_t path = s.notice_id_has_path ? command.to & kPathBits : 0;
  if (s.notice_names == 0) notice.vcq_id = cq_.id | path;
  if (s.notice_names == 2) notice.vcq_id = target.id | path;
  target.mrq[target.tail++ % kMrqEntries] = {.notice = notice, .code = UTOFU_SUCCESS};
}

void Vcq::tell_self(const Descriptor& command, int code, std::uint64_t old) {
  utofu_mrq_notice notice = notice_of(command);
  notice.rmt_value = old;
  notice.vcq_id = switches().notice_id_has_path ? command.to : command.to & ~kPathBits;
  const Lock lock(cq_.mutex);
  --cq_.reserved;
  cq_.mrq[cq_.tail++ % kMrqEntries] = {.notice = notice, .code = code};
}

bool Vcq::works_on(const Stag& memory) {
  return std::ranges::any_of(pending_, [&](const Pending& pending) {
    const bool own = pending.command.kind == Kind::get || (pending.command.kind == Kind::put && pending.left.empty());
    return own && reach(cq_, pending.command.data[0], pending.command.length).stag == &memory;
  });
}

int Vcq::poll_tcq(void** cbdata) {
  step();
  if (tcq_polls_++ >= switches().tcq_works) return UTOFU_ERR_FATAL;
  if (done_.empty()) return UTOFU_ERR_NOT_FOUND;
  *cbdata = done_.front().cbdata;
  const int code = done_.front().code;
  done_.pop_front();
  return code;
}

int Vcq::poll_mrq(utofu_mrq_notice& notice) {
  step();
  if (mrq_polls_++ >= switches().mrq_works) return UTOFU_ERR_FATAL;
  const Lock lock(cq_.mutex);
  if (cq_.head == cq_.tail) return UTOFU_ERR_NOT_FOUND;
  const Entry& entry = cq_.mrq[cq_.head++ % kMrqEntries];
  notice = entry.notice;
  return static_cast<int>(entry.code);
}

void Vcq::log(const Descriptor& command) const {
  if (switches().log.empty()) return;
  static const int kFile = ::open(switches().log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  static constexpr std::array kNames{"none", "put", "piggyback", "get", "armw", "cswap"};
  const auto to = Place::of(command.to).value_or(Place{});
  const auto coords = [](const Place& place) {
    std::string text;
    for (const std::uint8_t each : place.coords) text += (text.empty() ? "" : ".") + std::to_string(each);
    return text;
  };
  const std::string line = std::string(kNames[static_cast<std::size_t>(command.kind)]) + " from " + coords(here()) +
                           "/" + std::to_string(cq_.tni) + " to " + coords(to) + "/" + std::to_string(to.tni) +
                           " path " + std::to_string(to.path) + " bytes " + std::to_string(command.length) + "\n";
  if (::write(kFile, line.data(), line.size()) < 0) violation("cannot write to " + switches().log);
}

} // namespace tofu_emulation
