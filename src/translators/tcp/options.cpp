#include "translators/tcp/options.hpp"

#include "net/interfaces.hpp"
#include "translators/entry.hpp"

#include <utility>

namespace heddle::translators::tcp {

namespace {

constexpr std::string_view kByTcp = "tcp:";

struct Choice {
  in6_addr host{};
  std::string why;
};

std::string interface_of(const in6_addr& host) {
  for (const net::Interface& each : net::interfaces())
    if (IN6_ARE_ADDR_EQUAL(&each.host, &host)) return "of interface " + each.name + ", ";
  return "";
}

// What leads to the store leads to the job; otherwise what leads anywhere.
Choice choose_automatically(std::string_view store) {
  if (store.starts_with(kByTcp))
    if (const auto there = net::resolve(store.substr(kByTcp.size())))
      if (const auto source = net::source_towards(*there))
        return {.host = *source, .why = interface_of(*source) + "which leads to the store at " + there->text()};
  if (const auto source = net::default_source())
    return {.host = *source, .why = interface_of(*source) + "which has the default route"};
  for (const net::Interface& each : net::interfaces())
    if (!net::Endpoint{.host = each.host}.is_loopback())
      return {.host = each.host, .why = "of interface " + each.name + ", the first that is up"};
  return {.host = net::loopback(), .why = "on this machine alone, since no other interface is up"};
}

} // namespace

Result<Listening> listening_of(const TranslatorSetup& setup) {
  Listening listening{.silence = std::chrono::seconds(setup.own->number(kSilence))};
  const auto name = [](Error error, const base::SectionOption& option) {
    error.fact = "option tcp." + std::string(option.name) + ": " + error.fact;
    return std::unexpected(std::move(error));
  };
  auto ports = net::PortRange::parse(setup.own->text(kPorts));
  if (!ports) return name(std::move(ports.error()), kPorts);
  listening.ports = *ports;
  const std::string& wanted = setup.own->text(kNetwork);
  const bool automatic = wanted == kNetwork.initial;
  Choice choice;
  if (!automatic) {
    auto chosen = net::choose(wanted, net::interfaces());
    if (!chosen) return name(std::move(chosen.error()), kNetwork);
    choice = {.host = chosen->front().host, .why = "of interface " + chosen->front().name + ", by option tcp.network"};
  }
  if (!setup.secret) {
    if (!automatic && !net::Endpoint{.host = choice.host}.is_loopback())
      return std::unexpected(Error{.code = ErrorCode::bad_option,
                                   .fact = "option tcp.network asks to listen at " + net::host_text(choice.host) +
                                           ", and there is no secret that says who may connect",
                                   .remedy = "start the processes with heddle run, or set HEDDLE_SECRET"});
    if (!automatic) listening.host = choice.host;
    listening.why = "on this machine alone, since no secret (HEDDLE_SECRET) says who may connect";
    return listening;
  }
  listening.secret = *setup.secret;
  if (automatic) choice = choose_automatically(setup.settings == nullptr ? "" : setup.settings->store);
  listening.host = choice.host;
  listening.why = std::move(choice.why);
  return listening;
}

} // namespace heddle::translators::tcp
