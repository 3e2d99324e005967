#include "translators/tcp/options.hpp"

#include "net/interfaces.hpp"
#include "translators/entry.hpp"

#include <utility>

namespace heddle::translators::tcp {

namespace {

constexpr std::string_view kByTcp = "tcp:";

struct Choice {
  net::Interface at;
  std::string why;
};

std::string of_interface(const net::Interface& one) {
  return one.name.empty() ? "" : "of interface " + one.name + ", ";
}

net::Interface interface_with(const in6_addr& host) {
  for (const net::Interface& each : net::interfaces())
    if (IN6_ARE_ADDR_EQUAL(&each.host, &host)) return each;
  return {.host = host};
}

// What leads to the store leads to the job; otherwise what leads anywhere.
Choice choose_automatically(std::string_view store) {
  if (store.starts_with(kByTcp))
    if (const auto there = net::resolve(store.substr(kByTcp.size())))
      if (const auto source = net::source_towards(*there)) {
        net::Interface at = interface_with(*source);
        return {.at = at, .why = of_interface(at) + "which leads to the store at " + there->text()};
      }
  if (const auto source = net::default_source()) {
    net::Interface at = interface_with(*source);
    return {.at = at, .why = of_interface(at) + "which has the default route"};
  }
  for (const net::Interface& each : net::interfaces())
    if (!net::Endpoint{.host = each.host}.is_loopback())
      return {.at = each, .why = of_interface(each) + "the first that is up"};
  return {.at = interface_with(net::loopback()), .why = "on this machine alone, since no other interface is up"};
}

// Of those that the option names. Without a secret only this machine's own processes may come.
Result<void> listen_as_told(Listening& listening, const std::string& wanted, bool has_secret) {
  auto chosen = net::choose(wanted, net::interfaces());
  if (!chosen) return std::unexpected(std::move(chosen.error()));
  if (chosen->size() > kMostLanes)
    return std::unexpected(Error{.code = ErrorCode::bad_option,
                                 .fact = "'" + wanted + "' names " + std::to_string(chosen->size()) + " interfaces",
                                 .remedy = "expected " + std::to_string(kMostLanes) + " at most"});
  for (const net::Interface& each : *chosen)
    if (!has_secret && !net::Endpoint{.host = each.host}.is_loopback())
      return std::unexpected(Error{.code = ErrorCode::bad_option,
                                   .fact = "it asks to listen at " + net::host_text(each.host) +
                                           ", and there is no secret that says who may connect",
                                   .remedy = "start the processes with heddle run, or set HEDDLE_SECRET"});
  listening.at = std::move(*chosen);
  listening.why = of_interface(listening.at.front()) + "by option tcp.network";
  return {};
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
  if (setup.secret) listening.secret = *setup.secret;
  if (const std::string& wanted = setup.own->text(kNetwork); wanted != kNetwork.initial) {
    if (auto told = listen_as_told(listening, wanted, setup.secret.has_value()); !told)
      return name(std::move(told.error()), kNetwork);
  } else if (setup.secret) {
    Choice choice = choose_automatically(setup.settings == nullptr ? "" : setup.settings->store);
    listening.at = {std::move(choice.at)};
    listening.why = std::move(choice.why);
  }
  if (!setup.secret) listening.why = "on this machine alone, since no secret (HEDDLE_SECRET) says who may connect";
  return listening;
}

} // namespace heddle::translators::tcp
