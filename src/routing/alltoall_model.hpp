// How fast an all-to-all runs, from the loads of its links: the closed model that stands in for a measurement.
//
// The algorithm is the 2-level ring: for every node distance in turn, each of a node's P processes exchanges M bytes with each
// of the P processes of one other node; distance 0 is the exchange within the node. On a link that m flows share, a flow takes
// m times as long: m * P * P * M / link rate. Nobody waits for everybody: a node begins its next distance when its own sending
// and receiving are done, and a flow begins when both its ends have come to it (large messages wait for their receiver). So
//     begin(s, sd) = max(done(s, sd-1), done((s+sd) mod n, sd-1))       done(., 0) = time within the node
//     end(s, sd)   = begin(s, sd) + m(s, sd) * P * P * M / link rate
//     done(s, sd)  = max(end(s, sd), end((s-sd) mod n, sd))
// and the bandwidth per node is M * (n-1) * P * P / max done, as the reports define it. Not modelled: that flows out of step with
// each other share links less or more than flows of one stage do, and head-of-line blocking; for these there is src/sim.
#pragma once

#include "routing/load.hpp"

namespace heddle::routing {

// The machine of the reports: two Xeon X5570 per node, 8 processes, 4xDDR, messages of 1 MiB. 1 MB = 10^6 bytes.
struct AlltoallMachine {
  double message_bytes = 1 << 20;
  double processes = 8;
  // Within a node a message is copied into shared memory and out again. STREAM copies some 36 GB/s on this machine, which counts
  // reading and writing: 18 GB/s copied, 9 GB/s copied twice.
  double in_node_mb_s = 9'000;
  // What a node sends and receives over 4xDDR, which carries 2,000 MB/s. From the reports' highest figure, 1,716 MB/s for 16
  // nodes, with the time within the node taken off: 1 / (1/1716 - 1/(15 * 9000)). The only figure taken from a measurement.
  double link_mb_s = 1'738;
};

struct AlltoallSpeed {
  double mb_s = 0;     // per node, by the model above
  double relative = 0; // stages in step, each as slow as its largest load: (n-1) / sum of largest loads
  bool hot_spot_free = true;
};

// The shift pattern on this selection. bad_argument for a job of one node, which has nothing to exchange.
Result<AlltoallSpeed> alltoall_speed(const Subnet& subnet, const JobHosts& job, const Selection& selection,
                                     const AlltoallMachine& machine = {});

} // namespace heddle::routing
