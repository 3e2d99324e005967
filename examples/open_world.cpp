// Processes that no launcher has started together find each other by name: open_world
// The server's name goes to its clients on their command line, as it might by a file, a pipe or a service. One client leaves, one dies.
#include <heddle/heddle.hpp>
#include <heddle/name.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <iostream>
#include <string>

namespace {

using heddle::ErrorCode;
using heddle::Event;
using heddle::Tag;

int fail(const std::string& why) {
  std::cerr << why << '\n';
  return 1;
}

int be_client(const std::string& text, const std::string& greeting) {
  const auto name = heddle::Name::from_text(text);
  if (!name) return fail(name.error().message());
  auto context = heddle::Context::open();
  if (!context) return fail(context.error().message());
  const auto server = context->add_peer(*name);
  if (!server) return fail(server.error().message());
  std::string answer(64, ' ');
  const auto received = context->receive({.source = *server, .tag = Tag{1}}, answer);
  const auto sent = context->send_unsolicited(*server, Tag{1}, greeting);
  if (!received || !sent || context->wait(*sent).code != ErrorCode::ok) return fail("the server is gone");
  if (context->wait(*received).code != ErrorCode::ok) return fail("the server has left");
  if (greeting == "sudden") ::raise(SIGKILL);
  return 0;
}

pid_t start(const char* program, const std::string& name, const char* greeting) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  ::execl(program, program, name.c_str(), greeting, nullptr);
  ::_exit(127);
}

} // namespace

int main(int count, char** arguments) {
  if (count == 3) return be_client(arguments[1], arguments[2]);
  auto context = heddle::Context::open();
  if (!context) return fail(context.error().message());
  const auto name = context->name();
  if (!name) return fail(name.error().message());
  const std::array clients{start("/proc/self/exe", name->text(), "polite"),
                           start("/proc/self/exe", name->text(), "sudden")};

  const std::string answer = "welcome";
  int welcomed = 0;
  int left = 0;
  int died = 0;
  while (left + died < 2) {
    std::array<Event, 4> events;
    const std::size_t heard = context->wait_events(events);
    for (const Event& event : std::span(events).first(heard)) {
      if (event.kind == Event::Kind::peer_left) ++left;
      if (event.kind == Event::Kind::peer_failed) ++died;
      if (event.kind != Event::Kind::unsolicited_arrived) continue;
      context->release(event.unsolicited);
      const auto sent = context->send(event.completion.peer, Tag{1}, answer); // it has a rank, though nobody added it
      if (sent && context->wait(*sent).code == ErrorCode::ok) ++welcomed;
    }
  }
  for (const pid_t client : clients) ::waitpid(client, nullptr, 0);
  std::cout << "welcomed " << welcomed << ": " << left << " left, " << died << " died\n";
  return welcomed == 2 && left == 1 && died == 1 ? 0 : 1;
}
