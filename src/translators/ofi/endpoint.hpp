// One endpoint of a libfabric network: opened, closed, and its calls. Knows nothing of frames.
#pragma once

#include "translators/ofi/providers.hpp"

#if HEDDLE_HAS_LIBFABRIC
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace heddle::translators::ofi {

struct Close {
  template <typename Object>
  void operator()(Object* object) const {
    ::fi_close(&object->fid);
  }
};
template <typename Object>
using Owned = std::unique_ptr<Object, Close>;

// Memory that libfabric knows; without a registration where none is needed.
struct Registered {
  Owned<fid_mr> mr;
  [[nodiscard]] void* descriptor() const { return mr ? ::fi_mr_desc(mr.get()) : nullptr; }
};

class Endpoint {
 public:
  static Result<Endpoint> open(const Library& library, Choice choice, std::size_t peers);
  // Nothing is read from memory or written to it any more. It goes on until then, also while the endpoint is being closed.
  void close() { endpoint_.reset(); }

  [[nodiscard]] const Library& library() const { return library_; }
  [[nodiscard]] std::string provider() const { return choice_.info->fabric_attr->prov_name; }
  [[nodiscard]] std::string domain() const { return choice_.info->domain_attr->name; }
  [[nodiscard]] bool leads_elsewhere() const { return choice_.remote; }
  [[nodiscard]] std::span<const std::byte> address() const { return address_; }
  [[nodiscard]] std::uint64_t largest_transfer() const { return choice_.info->ep_attr->max_msg_size; }
  // Whether a write can tell the other side of its end.
  [[nodiscard]] bool writes_tell() const {
    return choice_.info->domain_attr->cq_data_size >= sizeof(std::uint32_t) && !choice_.ends_in_turn;
  }
  // False: a process that is killed may hold what the others need, inside libfabric.
  [[nodiscard]] bool outlives_deaths() const { return !choice_.ends_in_turn; }
  // A message with so many bytes may be sent.
  [[nodiscard]] std::size_t largest_message() const;
  [[nodiscard]] bool telling_takes_receives() const { return (choice_.info->mode & FI_RX_CQ_DATA) != 0; }
  // What becomes readable when something arrives; -1: the provider has nothing like it.
  [[nodiscard]] int descriptor() const { return descriptor_; }
  // False: something is here already, so nobody may sleep on the descriptor.
  [[nodiscard]] bool may_sleep() const;

  // What a peer's endpoint calls address(). FI_ADDR_NOTAVAIL where it is none.
  fi_addr_t insert(std::span<const std::byte> address);

  // For this side's own calls: nothing is done where the provider does not ask for it. For a peer's: always registered.
  Result<Registered> register_local(std::span<std::byte> memory, std::uint64_t access);
  Result<Registered> register_remote(std::span<std::byte> memory, std::uint64_t access);
  [[nodiscard]] std::uint64_t remote_address(const std::byte* memory) const;

  // Each returns 0, -FI_EAGAIN where it is to be tried again after read_completions, or what is wrong. `context` comes back.
  long receive(std::span<std::byte> memory, void* descriptor, fi_context2& context);
  long send(fi_addr_t to, std::span<const std::byte> memory, void* descriptor, fi_context2& context);
  long read(fi_addr_t from, std::span<std::byte> into, void* descriptor, std::uint64_t at, std::uint64_t key,
            fi_context2& context);
  // The other side is told `number`, or, where writes do not tell, the data is there when this side's completion comes.
  long write(fi_addr_t to, std::span<const std::byte> memory, void* descriptor, std::uint64_t at, std::uint64_t key,
             std::uint32_t number, fi_context2& context);

  using Completion = fi_cq_data_entry;
  // As fi_cq_read; -FI_EAVAIL: `error` says what.
  long read_completions(std::span<Completion> into, fi_cq_err_entry& error);

 private:
  Endpoint(const Library& library, Choice choice) : library_(library), choice_(std::move(choice)) {}
  Result<void> open(std::size_t peers);
  Result<Registered> enlist(std::span<std::byte> memory, std::uint64_t access);
  [[nodiscard]] bool asks_for(int mode) const { return (choice_.info->domain_attr->mr_mode & mode) != 0; }

  Library library_;
  Choice choice_;
  Owned<fid_fabric> fabric_;
  Owned<fid_domain> domain_;
  Owned<fid_av> addresses_;
  Owned<fid_cq> completions_;
  Owned<fid_ep> endpoint_;
  int descriptor_ = -1;
  std::vector<std::byte> address_;
  std::uint64_t next_key_ = 1;
};

} // namespace heddle::translators::ofi
#endif
