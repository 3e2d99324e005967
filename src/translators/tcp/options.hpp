// What can be set of TCP alone: [tcp] in an option file, HEDDLE_TCP_<NAME>, "tcp.<name>" in code.
#pragma once

#include "auth/secret.hpp"
#include "base/section.hpp"
#include "net/interfaces.hpp"
#include "net/sockets.hpp"

#include <array>
#include <chrono>
#include <string>
#include <vector>

namespace heddle::translators {
struct TranslatorSetup;
}

namespace heddle::translators::tcp {

inline constexpr base::SectionOption kNetwork{
    .name = "network",
    .initial = "automatic",
    .expected = "automatic, or interfaces, addresses or networks such as eth0,10.1.0.0/16",
    .meaning = "by which of this machine's addresses others reach it; several share large messages and patterns"};
inline constexpr base::SectionOption kPorts{.name = "ports",
                                            .initial = "any",
                                            .expected = "any, one port, or a range such as 20000-20999",
                                            .meaning = "where to listen, as a firewall may want it"};
inline constexpr base::SectionOption kSilence{.name = "silence",
                                              .kind = base::SectionOption::Kind::number,
                                              .initial = "7",
                                              .unit = "s",
                                              .expected = "2 to 600",
                                              .meaning = "a machine that does not answer for so long has failed",
                                              .least = 2,
                                              .most = 600};

inline constexpr std::array kOptions{kNetwork, kPorts, kSilence};

// A pair of processes has so many connections at most, each by another of the networks that both have.
inline constexpr std::size_t kMostLanes = 4;

// Where a process listens, and who may connect to it.
struct Listening {
  // The first is where it is found; what they tell each other there leads to the others.
  std::vector<net::Interface> at{{.name = "lo", .host = net::loopback(), .prefix = 8}};
  net::PortRange ports{};
  auth::Secret secret{};
  std::chrono::seconds silence{7};
  std::string why = "on this machine alone"; // the first address was taken, for people
};

// Loopback where there is no secret: nobody else may connect then.
Result<Listening> listening_of(const TranslatorSetup& setup);

} // namespace heddle::translators::tcp
