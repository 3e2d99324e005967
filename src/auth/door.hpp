// Listens for connections, and lets in who proves that it knows the secret. Strangers, port scanners and those who never finish a
// word get nothing but a closed connection, and keep nobody waiting.
#pragma once

#include "auth/introduction.hpp"
#include "base/clock.hpp"
#include "base/descriptor.hpp"
#include "base/log.hpp"
#include "net/sockets.hpp"

#include <heddle/error.hpp>

#include <chrono>
#include <list>
#include <memory>
#include <vector>

namespace heddle::auth {

// How long an introduction may take.
inline constexpr std::chrono::seconds kIntroductionLimit{5};
// So many are under way at once. Others wait in the system's queue until one of them is done, or the one that began first has had its
// time: then it gives way.
inline constexpr std::size_t kMostIntroductions = 64;
inline constexpr std::chrono::milliseconds kUndisturbed{500};

class Door {
 public:
  struct Config {
    in6_addr host{};
    net::PortRange ports{};
    Secret secret;
    Service service;
    base::Log log{};
  };
  static Result<std::unique_ptr<Door>> open(const Config& config);

  [[nodiscard]] const net::Endpoint& endpoint() const { return endpoint_; }
  // Readable (poll, epoll) when admit() has something to do.
  [[nodiscard]] int descriptor() const { return poller_.number(); }
  // Those who have proven themselves since the last call: non-blocking sockets, of which nothing beyond the introduction has been
  // read. Never blocks.
  [[nodiscard]] std::vector<base::Descriptor> admit();
  // This process leaves: who is about to come in is told.
  void decline_all();
  // Somebody else is to listen here: who is about to come in, or has just called, is reset, and may call again.
  void turn_all_out();

 private:
  struct Newcomer {
    base::Descriptor socket;
    Introduction introduction;
    base::Deadline begun;
    bool done = false;
  };

  Door(const Config& config, const net::Endpoint& endpoint, base::Descriptor listener, base::Descriptor poller,
       base::Descriptor timer);
  void accept_all();
  // False where all who are here have come a moment ago.
  bool make_room();
  void pause_accepting(std::chrono::milliseconds between_looks);
  // The system has no room for one more.
  void lack(int reason);
  void go_on_accepting();
  void hear(Newcomer& newcomer, std::vector<base::Descriptor>& admitted);
  void forget(const Newcomer& newcomer);
  void turn_out(const Newcomer& newcomer);
  void look_at_clock();

  Secret secret_;
  Service service_;
  base::Log log_;
  net::Endpoint endpoint_;
  base::Descriptor listener_;
  base::Descriptor poller_;
  base::Descriptor timer_; // ticks while somebody waits, or while nobody can be accepted
  bool accepts_ = true;
  bool full_ = false;             // why it does not accept: as many are here as may be
  std::list<Newcomer> newcomers_; // in the order in which they came
};

} // namespace heddle::auth
