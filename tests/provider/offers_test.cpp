// What the providers have that libfabric brings along, and what this one refuses of it: docs/provider.md names each of those, and nothing else.
#include "tests/provider/side.hpp"

#include <cctype>
#include <fstream>
#include <functional>
#include <iterator>

namespace heddle::tests {
namespace {

struct Wish {
  std::string name; // as the page has it
  std::function<void(fi_info&)> make;
};

Wish capability(const char* name, std::uint64_t caps) {
  return {name, [caps](fi_info& hints) { hints.caps = FI_MSG | FI_RMA | caps; }};
}
Wish order(const char* name, std::uint64_t bits) {
  return {name, [bits](fi_info& hints) {
            hints.caps = FI_MSG | FI_RMA;
            hints.tx_attr->msg_order = hints.rx_attr->msg_order = bits;
          }};
}
Wish completions(const char* name, std::uint64_t bits) {
  return {name, [bits](fi_info& hints) { hints.rx_attr->comp_order = bits; }};
}
Wish flag_of_sends(const char* name, std::uint64_t flag) {
  return {name, [flag](fi_info& hints) { hints.tx_attr->op_flags = flag; }};
}
Wish format(const char* name, std::uint32_t value) {
  return {name, [value](fi_info& hints) { hints.addr_format = value; }};
}

std::vector<Wish> wishes() {
#define NAMED(kind, value) kind(#value, value)
  std::vector<Wish> all = {
      NAMED(capability, FI_TAGGED),
      NAMED(capability, FI_ATOMIC),
      NAMED(capability, FI_MULTI_RECV),
      NAMED(capability, FI_SOURCE),
      NAMED(capability, FI_SOURCE_ERR),
      NAMED(capability, FI_DIRECTED_RECV),
      NAMED(capability, FI_NAMED_RX_CTX),
      NAMED(capability, FI_FENCE),
      NAMED(capability, FI_TRIGGER),
      NAMED(capability, FI_SHARED_AV),
      NAMED(capability, FI_RMA_EVENT),
      NAMED(capability, FI_RMA_PMEM),
      NAMED(capability, FI_HMEM),
      NAMED(capability, FI_VARIABLE_MSG),
      NAMED(capability, FI_MULTICAST),
      NAMED(capability, FI_COLLECTIVE),
      NAMED(capability, FI_LOCAL_COMM),
      NAMED(capability, FI_REMOTE_COMM),
      NAMED(order, FI_ORDER_RAR),
      NAMED(order, FI_ORDER_RAW),
      NAMED(order, FI_ORDER_RAS),
      NAMED(order, FI_ORDER_WAR),
      NAMED(order, FI_ORDER_WAW),
      NAMED(order, FI_ORDER_WAS),
      NAMED(order, FI_ORDER_SAR),
      NAMED(order, FI_ORDER_SAW),
      NAMED(order, FI_ORDER_SAS),
      NAMED(order, FI_ORDER_RMA_WAW),
      NAMED(order, FI_ORDER_ATOMIC_RAW),
      NAMED(completions, FI_ORDER_STRICT),
      NAMED(completions, FI_ORDER_DATA),
      NAMED(flag_of_sends, FI_COMPLETION),
      NAMED(flag_of_sends, FI_INJECT),
      NAMED(flag_of_sends, FI_INJECT_COMPLETE),
      NAMED(flag_of_sends, FI_TRANSMIT_COMPLETE),
      NAMED(flag_of_sends, FI_DELIVERY_COMPLETE),
      NAMED(flag_of_sends, FI_COMMIT_COMPLETE),
      NAMED(format, FI_SOCKADDR_IN),
      NAMED(format, FI_ADDR_STR),
  };
#undef NAMED
  const auto add = [&all](const char* name, std::function<void(fi_info&)> make) {
    all.push_back({name, std::move(make)});
  };
  add("FI_PROGRESS_AUTO", [](fi_info& hints) { hints.domain_attr->data_progress = FI_PROGRESS_AUTO; });
  add("FI_MR_BASIC", [](fi_info& hints) {
    hints.caps = FI_RMA;
    hints.domain_attr->mr_mode = FI_MR_BASIC;
  });
  add("FI_MR_SCALABLE", [](fi_info& hints) {
    hints.caps = FI_RMA;
    hints.domain_attr->mr_mode = FI_MR_SCALABLE;
  });
  add("FI_THREAD_SAFE", [](fi_info& hints) { hints.domain_attr->threading = FI_THREAD_SAFE; });
  add("FI_THREAD_DOMAIN", [](fi_info& hints) { hints.domain_attr->threading = FI_THREAD_DOMAIN; });
  add("FI_AV_MAP", [](fi_info& hints) { hints.domain_attr->av_type = FI_AV_MAP; });
  add("FI_AV_TABLE", [](fi_info& hints) { hints.domain_attr->av_type = FI_AV_TABLE; });
  add("FI_RM_ENABLED", [](fi_info& hints) { hints.domain_attr->resource_mgmt = FI_RM_ENABLED; });
  add("scalable endpoints", [](fi_info& hints) { hints.ep_attr->tx_ctx_cnt = 2; });
  add("shared contexts", [](fi_info& hints) { hints.ep_attr->rx_ctx_cnt = FI_SHARED_CONTEXT; });
  add("more than 4 pieces of a target's memory", [](fi_info& hints) { hints.tx_attr->rma_iov_limit = 8; });
  add("regions of several pieces", [](fi_info& hints) { hints.domain_attr->mr_iov_limit = 4; });
  add("8 pieces of memory", [](fi_info& hints) { hints.tx_attr->iov_limit = 8; });
  return all;
}

bool has(const char* provider, const Wish& wish) {
  Info info;
  std::free(info.hints->fabric_attr->prov_name);
  info.hints->fabric_attr->prov_name = ::strdup(provider);
  info.hints->mode = ~std::uint64_t{0}; // the program does whatever they want of it
  info.hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
  wish.make(*info.hints);
  return info.ask() == 0;
}

TEST(ProviderInfo, NamesWhateverItRefusesAndOthersHave) {
  std::ifstream file(HEDDLE_PROVIDER_PAGE);
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  const std::size_t begin = page.find("\n## What is not\n");
  ASSERT_NE(begin, std::string::npos);
  const std::string refused = page.substr(begin, page.find("\nWhat costs more") - begin);
  const auto is_named = [&refused](const std::string& name) { // as a whole word
    for (std::size_t at = refused.find(name); at != std::string::npos; at = refused.find(name, at + 1)) {
      const char behind = refused[at + name.size()];
      if (std::isalnum(static_cast<unsigned char>(behind)) == 0 && behind != '_') return true;
    }
    return false;
  };
  constexpr std::array kOthers = {"shm", "tcp;ofi_rxm", "net", "sockets", "udp;ofi_rxd"};
  std::size_t offered = 0;
  std::size_t had = 0; // by others
  for (const Wish& wish : wishes()) {
    std::string who;
    for (const char* other : kOthers)
      if (has(other, wish)) who += std::string(who.empty() ? "" : ", ") + other;
    const bool named = is_named(wish.name);
    had += who.empty() ? 0 : 1;
    if (has("heddle", wish)) {
      ++offered;
      EXPECT_FALSE(named) << wish.name << " is offered";
    } else if (!who.empty()) {
      EXPECT_TRUE(named) << "refused, not named, and had by " << who << ": " << wish.name;
    }
  }
  EXPECT_GE(offered, 30U);
  EXPECT_GE(had, 30U) << "the others are not there, or were not asked";
}

} // namespace
} // namespace heddle::tests
