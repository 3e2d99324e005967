// What messages of a job cost, as far as it decides how collectives are carried out. All processes must come to the same choice, so these
// are of what all know of the job: stated costs of a kind of network, and how many processes share a processor.
#pragma once

namespace heddle::collective {

struct Costs {
  double posting_ns = 300; // of one message, while others are under way
  double way_ns = 1800;    // from the beginning of a send until its receiver goes on
  double byte_ns = 0.5;

  // The defaults are of simulated InfiniBand, with 8 to 256 processes (docs/protocols/alltoall.md). Those of a node share its link.
  static Costs between_machines(double on_each) {
    Costs costs;
    costs.byte_ns *= on_each;
    return costs;
  }
  // Of shared memory, `on_each` processes for every processor. Where they have to take turns, a message is received when the turn of its
  // receiver comes, after one of everybody else there; and who posts keeps the others waiting.
  static Costs inside_a_machine(double on_each) {
    // Measured on two cores; of posting both ends count.
    constexpr Costs kAlone{.posting_ns = 250, .way_ns = 250, .byte_ns = 0.1};
    constexpr double kTurnNs = 1700;
    if (on_each <= 1) return kAlone;
    return {
        .posting_ns = kAlone.posting_ns * on_each, .way_ns = kTurnNs * on_each, .byte_ns = kAlone.byte_ns * on_each};
  }
};

} // namespace heddle::collective
