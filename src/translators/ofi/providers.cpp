#include "translators/ofi/providers.hpp"

#if HEDDLE_HAS_LIBFABRIC
#include "translators/ofi/options.hpp"
#include "translators/ofi/wire.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace heddle::translators::ofi {

namespace {

constexpr std::uint32_t kVersion = FI_VERSION(1, 9); // since when the modes of registration are as here
constexpr int kRegistration = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT;
// Those that stay inside a machine know neither.
constexpr std::array<std::uint64_t, 2> kReaches = {FI_LOCAL_COMM | FI_REMOTE_COMM, 0};
constexpr std::uint64_t kModes = FI_CONTEXT | FI_CONTEXT2 | FI_RX_CQ_DATA;

Info wishes(const Library& library, std::uint64_t reach, const std::string& provider, const std::string& domain) {
  Info hints(library.dupinfo(nullptr), library.freeinfo);
  hints->caps = FI_MSG | FI_RMA | reach;
  hints->mode = kModes;
  hints->ep_attr->type = FI_EP_RDM;
  hints->domain_attr->mr_mode = kRegistration;
  hints->domain_attr->threading = FI_THREAD_DOMAIN;
  hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
  hints->tx_attr->msg_order = FI_ORDER_SAS;
  hints->rx_attr->msg_order = FI_ORDER_SAS;
  if (provider != kProvider.initial) hints->fabric_attr->prov_name = ::strdup(provider.c_str()); // freed with it
  if (domain != kDomain.initial) hints->domain_attr->name = ::strdup(domain.c_str());
  return hints;
}

Info ask(const Library& library, const fi_info* hints, int& answer) {
  fi_info* list = nullptr;
  answer = library.getinfo(kVersion, nullptr, nullptr, 0, hints, &list);
  return {answer == 0 ? list : nullptr, library.freeinfo};
}

bool is_own(const fi_info& info) {
  return std::string_view(info.fabric_attr->prov_name).find(kOwnProvider) != std::string_view::npos;
}

// Reads that cross each other came back with bytes missing and no error: libfabric 1.17, which calls it deprecated.
bool loses_data(const fi_info& info) {
  return std::string_view(info.fabric_attr->prov_name) == "sockets";
}

// libfabric 1.17's looks for answers in the order in which they were asked for. None is needed for what the sender copies itself: short messages,
// and reads and writes that tell nobody.
bool ends_in_turn(const fi_info& info) {
  return std::string_view(info.fabric_attr->prov_name) == "shm";
}

bool is_usable(const fi_info& info) {
  return !is_own(info) && !loses_data(info) && info.ep_attr->max_msg_size >= kFrameBytes;
}

// Providers need not look at the name that was asked for.
bool is_of_domain(const fi_info& info, const std::string& domain) {
  return domain == kDomain.initial || info.domain_attr->name == domain;
}

// Of an entry that was found when nothing was asked for.
std::string why_not(const fi_info& info) {
  if (is_own(info)) return "it is Heddle's own, so Heddle would run over itself";
  if (loses_data(info)) return "large transfers in both directions come out wrong with it";
  if (info.ep_attr->type != FI_EP_RDM) return "no reliable datagrams (FI_EP_RDM)";
  if ((info.caps & FI_MSG) == 0) return "no messages (FI_MSG)";
  if ((info.caps & FI_RMA) == 0) return "no access to remote memory (FI_RMA)";
  if ((info.tx_attr->msg_order & FI_ORDER_SAS) == 0) return "messages may overtake each other (no FI_ORDER_SAS)";
  if (info.ep_attr->max_msg_size < kFrameBytes)
    return "messages of " + std::to_string(info.ep_attr->max_msg_size) + " bytes at most";
  if ((info.domain_attr->mr_mode & ~kRegistration & ~(FI_MR_BASIC | FI_MR_SCALABLE)) != 0)
    return "a kind of memory registration that is not known here";
  if ((info.mode & ~kModes) != 0) return "it asks for a mode that is not known here";
  return "it does not offer all that is asked for at once";
}

} // namespace

Result<Choice> choose(const Library& library, const std::string& provider, const std::string& domain) {
  if (provider.find(kOwnProvider) != std::string::npos)
    return std::unexpected(Error{
        .code = ErrorCode::bad_option,
        .fact = "option ofi.provider: '" + provider + "' is Heddle's own provider, so Heddle would run over itself",
        .remedy = "name another; heddle info lists them"});
  int answer = 0;
  for (const std::uint64_t reach : kReaches) {
    const bool remote = (reach & FI_REMOTE_COMM) != 0;
    if (!remote && provider == kProvider.initial) break;
    const Info list = ask(library, wishes(library, reach, provider, domain).get(), answer);
    for (const fi_info* info = list.get(); info != nullptr; info = info->next)
      if (is_usable(*info) && is_of_domain(*info, domain))
        return Choice{
            .info = {library.dupinfo(info), library.freeinfo}, .remote = remote, .ends_in_turn = ends_in_turn(*info)};
  }
  Error error{
      .code = ErrorCode::unsupported, .fact = "libfabric has no usable provider", .remedy = "heddle info lists them"};
  if (provider != kProvider.initial) error.fact = "libfabric's provider '" + provider + "' cannot be used here";
  if (domain != kDomain.initial) error.fact += " by domain '" + domain + "'";
  error.fact += "; found: " + to_text(find_all(library));
  return std::unexpected(std::move(error));
}

std::vector<Found> find_all(const Library& library) {
  std::vector<Found> all;
  const auto add = [&all](const fi_info& info, const std::string& why) {
    const std::string name = info.fabric_attr->prov_name;
    const auto known = std::ranges::find(all, name, &Found::provider);
    if (known == all.end())
      all.push_back({.provider = name, .why_not = why});
    else if (!known->why_not.empty() && info.ep_attr->type == FI_EP_RDM)
      known->why_not = why; // what would be nearest
  };
  int answer = 0;
  for (const std::uint64_t reach : kReaches) {
    const Info list = ask(library, wishes(library, reach, "automatic", "automatic").get(), answer);
    for (const fi_info* info = list.get(); info != nullptr; info = info->next)
      add(*info, is_usable(*info) ? "" : why_not(*info));
  }
  const Info rest = ask(library, nullptr, answer);
  for (const fi_info* info = rest.get(); info != nullptr; info = info->next) add(*info, why_not(*info));
  return all;
}

std::string to_text(const std::vector<Found>& found) {
  std::string text;
  for (const Found& each : found)
    text += (text.empty() ? "" : ", ") + each.provider + " (" + (each.why_not.empty() ? "usable" : each.why_not) + ")";
  return text.empty() ? "none" : text;
}

} // namespace heddle::translators::ofi
#endif
