// What the emulation is told from outside, by TOFU_EMULATION=name=value,name=value,... The first part is the machine to be emulated, the
// second the points that no public source settles (docs/protocols/utofu.md): each can be set either way.
#pragma once

#include <cstdint>
#include <string>

namespace tofu_emulation {

struct Switches {
  // The machine.
  std::string fabric;               // file that all processes map; empty: this process and its children alone
  std::string coords;               // x.y.z.a.b.c of this node; empty: from shape and rank
  std::string shape;                // XxYxZxAxBxC; ranks fill it, C fastest
  std::string rank = "HEDDLE_RANK"; // environment variable that says which process this is
  std::uint64_t per_node = 1;       // processes of a node
  std::uint64_t tnis = 6;
  std::uint64_t cqs = 12; // of a TNI
  std::uint64_t toq = 512;
  std::uint64_t mrq = 8192;
  std::uint64_t stags = 1024; // beyond the reserved
  std::uint64_t gates = 16;   // of a TNI
  std::uint64_t seed = 1;
  std::uint64_t delay = 2; // a command waits for at most so many calls; twice as many where no order is asked for
  std::string log;         // file that gets a line for each command carried out
  std::uint64_t tcq_works = ~std::uint64_t{0}; // so many polls of a queue's TCQ; then each fails for good
  std::uint64_t mrq_works = ~std::uint64_t{0}; // and of its MRQ

  // The open points. The first word is what is assumed by default: the stricter, or what clients rely on.
  bool order_needs_both =
      false; // order=second|both: a strong-order command waits for all before it | for strong-order ones
  bool put_ends_when_sent = false; // lcl_put=written|sent: what LCL_PUT says
  bool get_tells_edata = false;    // rmt_get=bare|edata: RMT_GET carries edata
  std::uint64_t notice_names = 0;  // rmt_peer=named|unnamed|receiver: vcq_id of RMT_* notices; 0 is the first
  bool notice_id_has_path = true;  // notice_id=path|plain: ids in notices carry path bits
  bool stadd_advanced = true;      // rmt_stadd=advanced|first: RMT_PUT points behind the data | at it
  bool mrq_stalls = true;          // mrq_full=stall|fatal: commands wait for room in an MRQ | overflow ends the process
  bool unasked_errors = true;      // unasked_error=told|silent: MRQ errors of commands without LOCAL_MRQ_NOTICE
  bool dead_peer_told = true;      // dead_peer=told|silent
  bool stags_return = true;        // stag=lowest|new: which number a registration gets
  bool stadds_agree = false;       // stadd=differ|agree: of one memory at two VCQs
  bool armw_by_node = false;       // armw=tni|node: among which atomics are atomic
  bool desc_in = false;            // desc_size=out|inout
  bool extra_is_cmp = false;       // extra=other|cmp: what query_vcq_info says last
  bool tcq_when_left =
      false; // tcq=landed|left: what a TCQ notice of a put says; in any case that its memory can be used again
  bool dereg_waits = false; // dereg=now|busy: of memory that a command under way uses
  bool tag_keeps_bits =
      true;                // tag=bits|bare: whether the address of a reserved tag keeps the lower bits of the memory's
  bool writes_part = true; // overrun=part|nothing: what a put has written that leaves the memory
};

const Switches& switches();
// What the real library forbids, or leaves open: a line on stderr, and the end.
[[noreturn]] void violation(const std::string& what);

} // namespace tofu_emulation
