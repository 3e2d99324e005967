// One side of a test of the provider: fabric, domain, endpoint and what is bound to it, through libfabric's own calls.
#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace heddle::tests {

inline constexpr std::uint64_t kBoth = FI_REMOTE_READ | FI_REMOTE_WRITE;

// What processes talk by: the tests' parameter.
inline const char* network = "shm";

// Only what is asked for is refused or granted: the hints of a call of fi_getinfo, and its answer.
class Info {
 public:
  explicit Info(std::uint64_t caps = 0, fi_threading threading = FI_THREAD_SAFE) {
    ::setenv("FI_PROVIDER_PATH", HEDDLE_PROVIDER_FOLDER, 1);
    ::setenv("HEDDLE_TRANSLATORS", network, 1);
    hints = fi_allocinfo();
    hints->caps = caps;
    hints->ep_attr->type = FI_EP_RDM;
    hints->domain_attr->threading = threading;
    hints->fabric_attr->prov_name = ::strdup("heddle");
  }
  Info(const Info&) = delete;
  Info& operator=(const Info&) = delete;
  ~Info() {
    fi_freeinfo(hints);
    if (found != nullptr) fi_freeinfo(found);
  }
  int ask() { return fi_getinfo(FI_VERSION(1, 17), nullptr, nullptr, 0, hints, &found); }

  fi_info* hints = nullptr;
  fi_info* found = nullptr;
};

inline void demand(ssize_t status) {
  if (status >= 0) return;
  ADD_FAILURE() << fi_strerror(static_cast<int>(-status));
  throw std::runtime_error("libfabric refuses");
}

struct SideOptions {
  std::uint64_t caps = 0;
  fi_cq_format format = FI_CQ_FORMAT_TAGGED;
  fi_wait_obj wait = FI_WAIT_NONE;
  std::uint64_t bind_flags = 0;
  fi_av_type av = FI_AV_MAP;
  fi_threading threading = FI_THREAD_SAFE;
  bool receives_into_queue = true;  // or only into counters
  std::uint64_t transmit_flags = 0; // default ones
  std::uint64_t order = 0;          // of messages and RMA
  int memory = 0;                   // FI_MR_...
};

class Side {
 public:
  explicit Side(const SideOptions& options = {}) : info(options.caps, options.threading) {
    info.hints->tx_attr->op_flags = options.transmit_flags;
    info.hints->domain_attr->mr_mode = options.memory;
    info.hints->tx_attr->msg_order = info.hints->rx_attr->msg_order = options.order;
    demand(info.ask());
    demand(fi_fabric(info.found->fabric_attr, &fabric, nullptr));
    demand(fi_domain(fabric, info.found, &domain, nullptr));
    fi_cq_attr queue{};
    queue.format = options.format;
    queue.wait_obj = options.wait;
    demand(fi_cq_open(domain, &queue, &cq, nullptr));
    fi_cntr_attr counter{};
    counter.wait_obj = FI_WAIT_UNSPEC;
    for (fid_cntr*& each : counters) demand(fi_cntr_open(domain, &counter, &each, nullptr));
    fi_av_attr addresses{};
    addresses.type = options.av;
    demand(fi_av_open(domain, &addresses, &av, nullptr));
    demand(fi_endpoint(domain, info.found, &ep, nullptr));
    demand(fi_ep_bind(ep, &av->fid, 0));
    demand(fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | options.bind_flags));
    if (options.receives_into_queue) demand(fi_ep_bind(ep, &cq->fid, FI_RECV | options.bind_flags));
    constexpr std::array kCounted = {FI_SEND, FI_RECV, FI_READ, FI_WRITE, FI_REMOTE_READ, FI_REMOTE_WRITE};
    for (std::size_t i = 0; i < counters.size(); ++i) demand(fi_ep_bind(ep, &counters[i]->fid, kCounted[i]));
    demand(fi_enable(ep));
    std::size_t bytes = name.size();
    demand(fi_getname(&ep->fid, name.data(), &bytes));
    EXPECT_EQ(bytes, 64U);
  }
  Side(const Side&) = delete;
  Side& operator=(const Side&) = delete;
  ~Side() { close(); }

  void close() {
    const auto end = [](auto*& object) {
      if (object != nullptr) {
        EXPECT_EQ(fi_close(&object->fid), 0);
      }
      object = nullptr;
    };
    end(ep);
    end(mr);
    end(av);
    for (fid_cntr*& each : counters) end(each);
    end(cq);
    end(domain);
    end(fabric);
  }
  fi_addr_t insert(const Side& other) {
    fi_addr_t address = FI_ADDR_UNSPEC;
    EXPECT_EQ(fi_av_insert(av, other.name.data(), 1, &address, 0, nullptr), 1);
    return address;
  }
  // The next entry, if there is one.
  std::optional<fi_cq_tagged_entry> next() {
    fi_cq_tagged_entry entry{};
    const ssize_t count = fi_cq_readfrom(cq, &entry, 1, &source);
    if (count == 1) return entry;
    EXPECT_TRUE(count == -FI_EAGAIN || count == -FI_EAVAIL) << count;
    if (count == -FI_EAVAIL) {
      EXPECT_EQ(fi_cq_readerr(cq, &error, 0), 1);
    }
    return std::nullopt;
  }
  void expose(void* data, std::size_t bytes, std::uint64_t key, std::uint64_t access) {
    demand(fi_mr_reg(domain, data, bytes, access, 0, key, 0, &mr, nullptr));
  }

  Info info;
  fid_fabric* fabric = nullptr;
  fid_domain* domain = nullptr;
  fid_cq* cq = nullptr;
  fid_av* av = nullptr;
  fid_ep* ep = nullptr;
  fid_mr* mr = nullptr;
  std::array<fid_cntr*, 6> counters{}; // send, receive, read, write, remote read, remote write
  std::array<std::byte, 64> name{};
  fi_addr_t source = 0;    // of the last entry
  fi_cq_err_entry error{}; // the last one
};

// Two sides that know each other.
class Provider : public ::testing::TestWithParam<const char*> {
 protected:
  Provider() { network = GetParam(); }
  ~Provider() override { network = "shm"; }
  void open(const SideOptions& options = {}) {
    here.emplace(options);
    there.emplace(options);
    to_there = here->insert(*there);
    to_here = there->insert(*here);
    meet();
  }
  // Both are connected: from here on what one injects is on its way, though the other makes no progress.
  void meet() {
    const auto reach = [](Side& from, fi_addr_t to, Side& other) {
      for (ssize_t status = -FI_EAGAIN; status != 0; static_cast<void>(from.next()), static_cast<void>(other.next()))
        if ((status = fi_inject(from.ep, nullptr, 0, to)) != -FI_EAGAIN) demand(status);
      demand(fi_recv(other.ep, nullptr, 0, nullptr, FI_ADDR_UNSPEC, nullptr));
      while (fi_cntr_read(other.counters[1]) == 0) static_cast<void>(from.next());
      while (other.next()) {
      }
    };
    reach(*here, to_there, *there);
    reach(*there, to_here, *here);
    for (Side* side : {&*here, &*there})
      for (fid_cntr* each : side->counters) demand(fi_cntr_set(each, 0));
  }
  // The next entry of one side, while the other makes progress, too; its entries are kept.
  fi_cq_tagged_entry entry_of(Side& side) {
    Side& other = &side == &*here ? *there : *here;
    auto& kept = &side == &*here ? kept_here : kept_there;
    if (!kept.empty()) {
      const auto first = kept.front();
      kept.erase(kept.begin());
      return first;
    }
    for (;;) {
      if (const auto entry = side.next()) return *entry;
      if (side.error.err != 0) throw std::runtime_error(std::string("an error: ") + fi_strerror(side.error.err));
      if (const auto entry = other.next()) (&side == &*here ? kept_there : kept_here).push_back(*entry);
    }
  }
  int error_of(Side& side) {
    Side& other = &side == &*here ? *there : *here;
    while (side.error.err == 0) {
      EXPECT_FALSE(side.next());
      if (const auto entry = other.next()) (&side == &*here ? kept_there : kept_here).push_back(*entry);
    }
    return std::exchange(side.error.err, 0);
  }
  std::optional<Side> here;
  std::optional<Side> there;
  fi_addr_t to_there = 0;
  fi_addr_t to_here = 0;
  std::vector<fi_cq_tagged_entry> kept_here;
  std::vector<fi_cq_tagged_entry> kept_there;
};

} // namespace heddle::tests
