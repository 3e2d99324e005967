// Poll sets: completion queues and counters that are asked together which of them has something to tell.
#include "provider/queue.hpp"

#include <algorithm>
#include <new>

namespace heddle::provider {

namespace {

struct PollSet {
  fid_poll fid{};
  Domain* domain = nullptr;
  std::vector<struct fid*> members; // queues and counters of the domain
};

PollSet& set_of(fid_poll* fid) {
  return *reinterpret_cast<PollSet*>(fid);
}

// With what is common to both kinds of members; false: it is neither.
template <typename Use>
bool with_member(fid* member, Use&& use) {
  if (member->fclass == FI_CLASS_CQ)
    use(*reinterpret_cast<CompletionQueue*>(member));
  else if (member->fclass == FI_CLASS_CNTR)
    use(*reinterpret_cast<Counter*>(member));
  else
    return false;
  return true;
}

bool has_news(const CompletionQueue& queue) {
  return !queue.entries.empty() || !queue.failures.empty();
}
bool has_news(const Counter& counter) {
  return counter.value != counter.seen || counter.errors != counter.seen_errors;
}

int poll_members(fid_poll* fid, void** contexts, int count) try {
  PollSet& set = set_of(fid);
  const Lock lock(*set.domain);
  int found = 0;
  for (struct fid* member : set.members) {
    if (found == count) break;
    with_member(member, [&](auto& object) {
      if (!has_news(object)) make_progress(object.endpoints);
      if (has_news(object)) contexts[found++] = member->context;
    });
  }
  return found;
} catch (const std::bad_alloc&) {
  return -FI_ENOMEM;
}

int add_member(fid_poll* fid, struct fid* member, std::uint64_t flags) try {
  PollSet& set = set_of(fid);
  if (flags != 0) return -FI_EBADFLAGS;
  const Lock lock(*set.domain);
  if (std::ranges::find(set.members, member) != set.members.end()) return -FI_EINVAL;
  set.members.reserve(set.members.size() + 1);
  if (!with_member(member, [](auto& object) { ++object.poll_sets; })) return -FI_EINVAL;
  set.members.push_back(member);
  return 0;
} catch (const std::bad_alloc&) {
  return -FI_ENOMEM;
}

int remove_member(fid_poll* fid, struct fid* member, std::uint64_t flags) {
  PollSet& set = set_of(fid);
  if (flags != 0) return -FI_EBADFLAGS;
  const Lock lock(*set.domain);
  if (std::erase(set.members, member) == 0) return -FI_EINVAL;
  with_member(member, [](auto& object) { --object.poll_sets; });
  return 0;
}

int close_set(fid* fid) {
  auto& set = *reinterpret_cast<PollSet*>(fid);
  {
    const Lock lock(*set.domain);
    for (struct fid* member : set.members) with_member(member, [](auto& object) { --object.poll_sets; });
    --set.domain->users;
  }
  delete &set;
  return 0;
}

fi_ops set_fid_operations = {
    .size = sizeof(fi_ops), .close = close_set, .bind = no_bind, .control = no_control, .ops_open = no_ops};
fi_ops_poll set_operations = {
    .size = sizeof(fi_ops_poll), .poll = poll_members, .poll_add = add_member, .poll_del = remove_member};

} // namespace

int open_poll_set(fid_domain* domain_fid, fi_poll_attr* attributes, fid_poll** fid) try {
  auto& domain = *reinterpret_cast<Domain*>(domain_fid);
  if (attributes != nullptr && attributes->flags != 0) return -FI_EBADFLAGS;
  auto set = std::make_unique<PollSet>();
  set->domain = &domain;
  set->fid = {.fid = {.fclass = FI_CLASS_POLL, .context = nullptr, .ops = &set_fid_operations}, .ops = &set_operations};
  const Lock lock(domain);
  ++domain.users;
  *fid = &set.release()->fid;
  return 0;
} catch (const std::bad_alloc&) {
  return -FI_ENOMEM;
}

} // namespace heddle::provider
