// A store that answers with any bytes: each call of the client ends with what it asked for or with an error.
#include "store/client.hpp"

#include "base/descriptor.hpp"
#include "base/fuzz_input.hpp"
#include "store/address.hpp"

#include <sys/socket.h>

#include <thread>

namespace heddle::fuzz {
namespace {

// Listens once for all inputs; whoever connects is told the bytes given, and no more.
class RudeStore {
 public:
  static RudeStore& get() {
    static RudeStore store;
    return store;
  }
  [[nodiscard]] const std::string& address() const { return address_; }

  void answer_once(std::span<const std::byte> bytes) const {
    const base::Descriptor socket(::accept4(listener_.number(), nullptr, nullptr, SOCK_CLOEXEC));
    while (!bytes.empty()) {
      const ssize_t count = ::send(socket.number(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (count <= 0) break;
      bytes = bytes.subspan(static_cast<std::size_t>(count));
    }
    ::shutdown(socket.number(), SHUT_WR);
    std::array<std::byte, 512> ignored;
    while (::recv(socket.number(), ignored.data(), ignored.size(), 0) > 0) {
    }
  }

 private:
  RudeStore() : address_(store::address_of_job("fuzz-" + store::new_job_id())) {
    listener_ = base::Descriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const auto parsed = store::parse_address(address_);
    demand(::bind(listener_.number(), reinterpret_cast<const sockaddr*>(&parsed->address), parsed->length) == 0 &&
               ::listen(listener_.number(), 4) == 0,
           "a socket listens");
  }
  std::string address_;
  base::Descriptor listener_;
};

void use(store::Client& client, std::uint32_t call, base::Deadline deadline) {
  std::array<store::Notice, 4> notices;
  switch (call) {
    case 0: static_cast<void>(client.put("key", {}, deadline)); return;
    case 1: static_cast<void>(client.get("key", 1, deadline)); return;
    case 2: static_cast<void>(client.fence(deadline)); return;
    case 3:
      if (const auto blobs = client.allgather({}, deadline))
        demand(blobs->size() == client.size(), "there is a blob for every process");
      return;
    case 4: static_cast<void>(client.take_notices(notices)); return;
    case 5: static_cast<void>(client.watch_departures()); return;
    default: static_cast<void>(client.leave());
  }
}

} // namespace

void client(Input& input) {
  const RudeStore& rude = RudeStore::get();
  const auto calls = input.bytes(input.below(8));
  // Often a proper welcome, so that something comes after it.
  store::Bytes bytes;
  if (input.below(8) != 0) bytes = store::FrameWriter(store::Kind::done, 1).u32(3).finish();
  const auto rest = input.bytes(input.left());
  bytes.insert(bytes.end(), rest.begin(), rest.end());
  std::thread store([&] { rude.answer_once(bytes); });
  const auto deadline = base::deadline_in(std::chrono::seconds(5));
  auto client = store::Client::connect({.address = rude.address(), .job = "j", .rank = 0, .size = 3}, deadline);
  if (client)
    for (const std::byte call : calls) use(**client, static_cast<std::uint32_t>(call) % 7, deadline);
  else
    demand_message(client.error());
  if (client) client->reset();
  store.join();
}

} // namespace heddle::fuzz
