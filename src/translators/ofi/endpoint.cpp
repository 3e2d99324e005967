#include "translators/ofi/endpoint.hpp"

#include "translators/ofi/wire.hpp"

#if HEDDLE_HAS_LIBFABRIC
#include <sys/mman.h>

#include <algorithm>

namespace heddle::translators::ofi {

namespace {

// Room for completions: of everything that one process has under way.
constexpr std::size_t kCompletions = 4096;

// Registration may pin pages, and those that nobody has touched are not there yet.
void populate(std::span<std::byte> memory) {
  constexpr std::uintptr_t kPage = 4096;
  const auto from = reinterpret_cast<std::uintptr_t>(memory.data()) & ~(kPage - 1);
  const auto to = reinterpret_cast<std::uintptr_t>(memory.data() + memory.size());
  ::madvise(reinterpret_cast<void*>(from), to - from,
            MADV_POPULATE_READ); // a wish: the registration itself says what is wrong
}

} // namespace

Result<Endpoint> Endpoint::open(const Library& library, Choice choice, std::size_t peers) {
  Endpoint made(library, std::move(choice));
  if (auto opened = made.open(peers); !opened) return std::unexpected(std::move(opened.error()));
  return made;
}

Result<void> Endpoint::open(std::size_t peers) {
  const std::string who = "libfabric's provider " + provider() + " cannot ";
  const auto refuse = [&](const char* what, long number) {
    return std::unexpected(library_.error(who + what, number));
  };
  // Opens one object: the call gets the place for it.
  const auto open_one = [](auto& owned, auto&& call) {
    typename std::remove_reference_t<decltype(owned)>::pointer object = nullptr;
    const long answer = call(&object);
    if (answer == 0) owned.reset(object);
    return answer;
  };
  fi_info& info = *choice_.info;
  if (const long no = open_one(fabric_, [&](auto to) { return library_.fabric(info.fabric_attr, to, nullptr); }))
    return refuse("open its fabric", no);
  if (const long no = open_one(domain_, [&](auto to) { return ::fi_domain(fabric_.get(), &info, to, nullptr); }))
    return refuse("open its domain", no);
  fi_av_attr addresses{};
  addresses.type = info.domain_attr->av_type;
  addresses.count = peers;
  if (const long no =
          open_one(addresses_, [&](auto to) { return ::fi_av_open(domain_.get(), &addresses, to, nullptr); }))
    return refuse("make a table of addresses", no);
  fi_cq_attr completions{};
  completions.size = kCompletions;
  completions.format = FI_CQ_FORMAT_DATA;
  completions.wait_obj = FI_WAIT_FD;
  const auto open_queue = [&](auto to) { return ::fi_cq_open(domain_.get(), &completions, to, nullptr); };
  if (open_one(completions_, open_queue) != 0) {
    completions.wait_obj = FI_WAIT_NONE;
    if (const long no = open_one(completions_, open_queue)) return refuse("make a completion queue", no);
  } else if (::fi_control(&completions_->fid, FI_GETWAIT, &descriptor_) != 0) {
    descriptor_ = -1;
  }
  if (const long no = open_one(endpoint_, [&](auto to) { return ::fi_endpoint(domain_.get(), &info, to, nullptr); }))
    return refuse("make an endpoint", no);
  long no = ::fi_ep_bind(endpoint_.get(), &addresses_->fid, 0);
  if (no == 0) no = ::fi_ep_bind(endpoint_.get(), &completions_->fid, FI_TRANSMIT | FI_RECV);
  if (no == 0) no = ::fi_enable(endpoint_.get());
  if (no != 0) return refuse("start its endpoint", no);
  address_.resize(256);
  std::size_t bytes = address_.size();
  no = ::fi_getname(&endpoint_->fid, address_.data(), &bytes);
  if (no != 0) return refuse("say its address", no);
  address_.resize(std::min(bytes, address_.size()));
  return {};
}

bool Endpoint::may_sleep() const {
  fid* queue = &completions_->fid;
  return ::fi_trywait(fabric_.get(), &queue, 1) == 0;
}

std::size_t Endpoint::largest_message() const {
  return choice_.ends_in_turn ? std::min(kFrameBytes, choice_.info->tx_attr->inject_size) : kFrameBytes;
}

fi_addr_t Endpoint::insert(std::span<const std::byte> address) {
  fi_addr_t found = FI_ADDR_NOTAVAIL;
  return ::fi_av_insert(addresses_.get(), address.data(), 1, &found, 0, nullptr) == 1 ? found : FI_ADDR_NOTAVAIL;
}

Result<Registered> Endpoint::register_local(std::span<std::byte> memory, std::uint64_t access) {
  if (!asks_for(FI_MR_LOCAL)) return Registered{};
  return enlist(memory, access);
}

Result<Registered> Endpoint::register_remote(std::span<std::byte> memory, std::uint64_t access) {
  return enlist(memory, access);
}

Result<Registered> Endpoint::enlist(std::span<std::byte> memory, std::uint64_t access) {
  if (asks_for(FI_MR_ALLOCATED)) populate(memory);
  const std::size_t key_bytes = choice_.info->domain_attr->mr_key_size;
  const std::uint64_t mask =
      key_bytes >= sizeof next_key_ ? ~std::uint64_t{0} : (std::uint64_t{1} << (8 * key_bytes)) - 1;
  long answer = -FI_ENOKEY;
  fid_mr* made = nullptr;
  for (int tries = 0; tries < 64 && answer == -FI_ENOKEY; ++tries) // where keys are few, an old one may still be in use
    answer = ::fi_mr_reg(domain_.get(), memory.data(), memory.size(), access, 0, next_key_++ & mask, 0, &made, nullptr);
  Registered registered{.mr = Owned<fid_mr>(answer == 0 ? made : nullptr)};
  if (answer == 0 && asks_for(FI_MR_ENDPOINT)) {
    answer = ::fi_mr_bind(made, &endpoint_->fid, 0);
    if (answer == 0) answer = ::fi_mr_enable(made);
  }
  if (answer == 0) return registered;
  return std::unexpected(library_.error("memory cannot be registered", answer));
}

std::uint64_t Endpoint::remote_address(const std::byte* memory) const {
  return asks_for(FI_MR_VIRT_ADDR) ? reinterpret_cast<std::uintptr_t>(memory) : 0;
}

long Endpoint::receive(std::span<std::byte> memory, void* descriptor, fi_context2& context) {
  return ::fi_recv(endpoint_.get(), memory.data(), memory.size(), descriptor, FI_ADDR_UNSPEC, &context);
}

long Endpoint::send(fi_addr_t to, std::span<const std::byte> memory, void* descriptor, fi_context2& context) {
  return ::fi_send(endpoint_.get(), memory.data(), memory.size(), descriptor, to, &context);
}

long Endpoint::read(fi_addr_t from, std::span<std::byte> into, void* descriptor, std::uint64_t at, std::uint64_t key,
                    fi_context2& context) {
  return ::fi_read(endpoint_.get(), into.data(), into.size(), descriptor, from, at, key, &context);
}

long Endpoint::write(fi_addr_t to, std::span<const std::byte> memory, void* descriptor, std::uint64_t at,
                     std::uint64_t key, std::uint32_t number, fi_context2& context) {
  if (writes_tell())
    return ::fi_writedata(endpoint_.get(), memory.data(), memory.size(), descriptor, number, to, at, key, &context);
  const iovec piece{.iov_base = const_cast<std::byte*>(memory.data()), .iov_len = memory.size()};
  const fi_rma_iov there{.addr = at, .len = memory.size(), .key = key};
  fi_msg_rma message{};
  message.msg_iov = &piece;
  message.desc = &descriptor;
  message.iov_count = 1;
  message.addr = to;
  message.rma_iov = &there;
  message.rma_iov_count = 1;
  message.context = &context;
  // Where the target's part is not waited for, the answer that follows stands behind the data.
  return ::fi_writemsg(endpoint_.get(), &message, FI_COMPLETION | (choice_.ends_in_turn ? 0 : FI_DELIVERY_COMPLETE));
}

long Endpoint::read_completions(std::span<Completion> into, fi_cq_err_entry& error) {
  const long count = ::fi_cq_read(completions_.get(), into.data(), into.size());
  if (count == -FI_EAVAIL) {
    error = {};
    ::fi_cq_readerr(completions_.get(), &error, 0);
  }
  return count;
}

} // namespace heddle::translators::ofi
#endif
