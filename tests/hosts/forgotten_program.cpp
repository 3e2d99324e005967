// Processes without a launcher, of which one is forgotten by the other:
//   forgotten_program serve FILE        writes its name to the file, and hears whoever comes
//   forgotten_program call FILE         says something to who is named there ("met"), waits until it has failed, and says when
//   forgotten_program post FILE GATE    the same; when a file GATE is there it says something more, which has left at once, and sleeps in a loop
//                                       of its own until it is told
//   forgotten_program stand PORT KIND   only stands at a port (0: any; it says which), and is no process of Heddle, or of another one:
//                                       mute: says nothing; version, order: turns everybody away for that
#include "auth/introduction.hpp"
#include "net/sockets.hpp"
#include "tests/job/member.hpp"

#include <heddle/name.hpp>

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>

namespace heddle::tests {
namespace {

void serve(const std::string& file) {
  auto context = demand(Context::open(), "open");
  std::ofstream(file + ".new") << demand(context.name(), "name").text();
  std::filesystem::rename(file + ".new", file);
  say("serves");
  while (true) {
    std::array<Event, 4> events;
    for (std::size_t i = context.wait_events(events); i > 0; --i)
      if (events[i - 1].kind == Event::Kind::unsolicited_arrived) context.release(events[i - 1].unsolicited);
  }
}

// Sleeps on the context's descriptor alone.
bool sleep_until_failed(Context& context) {
  while (true) {
    std::array<Event, 4> events;
    for (std::size_t i = context.poll(events); i > 0; --i)
      if (events[i - 1].kind == Event::Kind::peer_failed) return true;
    if (!demand(context.ready_to_sleep(), "ready_to_sleep")) continue;
    pollfd entry{.fd = demand(context.descriptor(), "descriptor"), .events = POLLIN, .revents = 0};
    ::poll(&entry, 1, -1);
  }
}

void call(const std::string& file, const char* gate = nullptr) {
  std::string text;
  std::ifstream(file) >> text;
  const Name name = demand(Name::from_text(text), "name");
  auto context = demand(Context::open(), "open");
  const auto peer = context.add_peer(name);
  if (!peer) {
    say(peer.error().message());
    return;
  }
  const std::uint64_t word = 1;
  const auto sent = context.send_unsolicited(*peer, Tag{1}, ConstLayout(&word, 8));
  const ErrorCode code = sent ? context.wait(*sent).code : sent.error().code;
  say(code == ErrorCode::ok ? "met" : "not met: " + std::string(to_string(code)));
  bool failed = code == ErrorCode::peer_failed;
  if (gate != nullptr) {
    std::array<Event, 4> events;
    while (!std::filesystem::exists(gate)) static_cast<void>(context.wait_events(events, std::chrono::milliseconds(5)));
    const auto posted = demand(context.send_unsolicited(*peer, Tag{1}, ConstLayout(&word, 8)), "send");
    demand(context.wait(posted).code == ErrorCode::ok, "what is small has left");
    say("posted");
    failed = sleep_until_failed(context);
  }
  while (!failed) {
    std::array<Event, 4> events;
    for (std::size_t i = context.wait_events(events); i > 0; --i)
      failed = failed || events[i - 1].kind == Event::Kind::peer_failed;
  }
  say("failed at " + std::to_string(machine_ns()));
}

void stand(std::uint16_t port, std::string_view kind) {
  net::Endpoint place{.host = in6addr_any};
  const auto listener = demand(net::listen_at(place, {.first = port, .last = port}), "listen");
  say("stands at " + std::to_string(place.port));
  std::vector<base::Descriptor> here;
  while (true) {
    pollfd entry{.fd = listener.number(), .events = POLLIN, .revents = 0};
    ::poll(&entry, 1, -1);
    base::Descriptor& came = here.emplace_back(net::accept_one(listener.number()));
    if (kind == "mute" || !came.open()) continue;
    // The answer to a greeting (docs/protocols/introduction.md).
    std::array<char, auth::kMessageBytes> message{};
    entry.fd = came.number();
    ::poll(&entry, 1, -1);
    static_cast<void>(::recv(came.number(), message.data(), message.size(), 0));
    message[8] = kind == "version" ? 3 : 4;
    if (kind == "version") message[11] = 99;
    static_cast<void>(::send(came.number(), message.data(), message.size(), MSG_NOSIGNAL));
  }
}

} // namespace
} // namespace heddle::tests

int main(int argc, char** argv) {
  using namespace heddle::tests;
  const std::string_view what = argc < 3 ? "" : argv[1];
  if (what == "serve") serve(argv[2]);
  if (what == "call") call(argv[2]);
  if (what == "post" && argc == 4) call(argv[2], argv[3]);
  if (what == "stand" && argc == 4) stand(static_cast<std::uint16_t>(number(argv[2])), argv[3]);
  return 0;
}
