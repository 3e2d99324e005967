// How the other objects come about, and how one sleeps on a queue or counter.
#pragma once

#include "provider/objects.hpp"

namespace heddle::provider {

int open_domain(fid_fabric* fabric, fi_info* info, fid_domain** domain, void* context);
int open_event_queue(fid_fabric* fabric, fi_eq_attr* attributes, fid_eq** queue, void* context);
int open_addresses(fid_domain* domain, fi_av_attr* attributes, fid_av** addresses, void* context);
int open_queue(fid_domain* domain, fi_cq_attr* attributes, fid_cq** queue, void* context);
int open_counter(fid_domain* domain, fi_cntr_attr* attributes, fid_cntr** counter, void* context);
int open_poll_set(fid_domain* domain, fi_poll_attr* attributes, fid_poll** set);
extern fi_ops_mr region_operations;

// 0: the descriptor may be slept on. -FI_EAGAIN: read first.
int try_wait(CompletionQueue& queue);
int try_wait(Counter& counter);

} // namespace heddle::provider
