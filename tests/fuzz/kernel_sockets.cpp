#include "tests/fuzz/kernel.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace heddle::fuzz {

namespace {

// What the moods of a call mean; below the first, it goes as usual.
constexpr std::uint8_t kShort = 160; // to kShort + 63: so many bytes are read, and one
constexpr std::uint8_t kNothing = 224;
constexpr std::uint8_t kBroken = 240;

bool is_ip(int domain) {
  return domain == AF_INET || domain == AF_INET6;
}

std::uint16_t port_in(const std::string& name) {
  std::uint16_t port = 0;
  std::memcpy(&port, name.data() + offsetof(sockaddr_in, sin_port), sizeof port); // as in sockaddr_in6
  return ntohs(port);
}

void set_port(std::string& name, std::uint16_t port) {
  const std::uint16_t in_order = htons(port);
  std::memcpy(name.data() + offsetof(sockaddr_in, sin_port), &in_order, sizeof in_order);
}

std::string name_of(const sockaddr* address, socklen_t length) {
  return {reinterpret_cast<const char*>(address), length};
}

void give_name(const std::string& name, int domain, sockaddr* address, socklen_t* length) {
  const auto family = static_cast<sa_family_t>(domain);
  if (name.empty()) {
    std::memcpy(address, &family, std::min<std::size_t>(*length, sizeof family));
    *length = sizeof family;
    return;
  }
  std::memcpy(address, name.data(), std::min<std::size_t>(*length, name.size()));
  *length = static_cast<socklen_t>(name.size());
}

template <typename Value>
int give_option(const Value& given, void* value, socklen_t* length) {
  *length = static_cast<socklen_t>(std::min<std::size_t>(*length, sizeof given));
  std::memcpy(value, &given, *length);
  return 0;
}

} // namespace

int Kernel::fail(int reason) const {
  errno = reason;
  return -1;
}

std::size_t Kernel::open_descriptors() const {
  return static_cast<std::size_t>(std::ranges::count_if(objects_, [](const auto& each) { return each != nullptr; }));
}

int Kernel::add(std::unique_ptr<Object> object) {
  auto unused = std::find(objects_.begin(), objects_.end(), nullptr);
  if (unused == objects_.end()) unused = objects_.insert(unused, nullptr);
  *unused = std::move(object);
  return kFirstDescriptor + static_cast<int>(unused - objects_.begin());
}

Kernel::Object* Kernel::find(int descriptor, Kind kind) {
  const auto index = static_cast<std::size_t>(descriptor - kFirstDescriptor);
  if (index >= objects_.size() || objects_[index] == nullptr) {
    fail(EBADF);
    return nullptr;
  }
  if (objects_[index]->kind != kind) {
    fail(kind == Kind::socket ? ENOTSOCK : EINVAL);
    return nullptr;
  }
  return objects_[index].get();
}

Kernel::Object* Kernel::listener_at(const std::string& name) {
  const auto found =
      std::ranges::find_if(objects_, [&](const auto& each) { return each && each->listens && each->name == name; });
  return found == objects_.end() ? nullptr : found->get();
}

std::uint8_t Kernel::next_mood() {
  if (moods_.empty()) return 0;
  const auto mood = static_cast<std::uint8_t>(moods_.front());
  moods_ = moods_.subspan(1);
  return mood;
}

int Kernel::socket(int domain, int type, int) {
  if ((type & SOCK_STREAM) == 0) return fail(EPROTONOSUPPORT);
  if (domain != AF_UNIX && !is_ip(domain)) return fail(EAFNOSUPPORT);
  auto object = std::make_unique<Object>();
  object->domain = domain;
  return add(std::move(object));
}

int Kernel::bind(int descriptor, const sockaddr* address, socklen_t length) {
  Object* object = find(descriptor, Kind::socket);
  if (object == nullptr) return -1;
  std::string name = name_of(address, length);
  if (is_ip(object->domain) && port_in(name) == 0) set_port(name, next_port_++);
  if (listener_at(name) != nullptr) return fail(EADDRINUSE);
  object->name = std::move(name);
  return 0;
}

int Kernel::listen(int descriptor, int) {
  Object* object = find(descriptor, Kind::socket);
  if (object == nullptr) return -1;
  object->listens = true;
  return 0;
}

int Kernel::connect(int descriptor, const sockaddr* address, socklen_t length) {
  Object* caller = find(descriptor, Kind::socket);
  if (caller == nullptr) return -1;
  if (caller->connected) return fail(EISCONN);
  std::string name = name_of(address, length);
  Object* listener = listener_at(name);
  if (listener == nullptr) return fail(ECONNREFUSED);
  if (caller->name.empty() && is_ip(caller->domain)) {
    caller->name = name; // from the address it goes to
    set_port(caller->name, next_port_++);
  }
  auto other = std::make_unique<Object>();
  other->domain = caller->domain;
  other->connected = caller->connected = true;
  other->name = name;
  other->peer_name = caller->name;
  other->peer = caller;
  caller->peer = other.get();
  caller->peer_name = std::move(name);
  listener->waiting.push_back(std::move(other));
  caller->on_its_way = is_ip(caller->domain) && next_mood() >= kNothing;
  return caller->on_its_way ? fail(EINPROGRESS) : 0;
}

int Kernel::accept4(int descriptor, sockaddr*, socklen_t*, int) {
  Object* listener = find(descriptor, Kind::socket);
  if (listener == nullptr) return -1;
  if (listener->waiting.empty()) return fail(EAGAIN);
  const std::uint8_t mood = next_mood();
  disturbed_ = disturbed_ || mood >= kNothing;
  if (mood >= kBroken) return fail(EMFILE);
  auto next = std::move(listener->waiting.front());
  listener->waiting.erase(listener->waiting.begin());
  if (mood < kNothing) return add(std::move(next));
  disconnect(*next, true);
  return fail(ECONNABORTED);
}

int Kernel::getsockname(int descriptor, sockaddr* address, socklen_t* length) {
  const Object* object = find(descriptor, Kind::socket);
  if (object == nullptr) return -1;
  give_name(object->name, object->domain, address, length);
  return 0;
}

int Kernel::getpeername(int descriptor, sockaddr* address, socklen_t* length) {
  const Object* object = find(descriptor, Kind::socket);
  if (object == nullptr) return -1;
  if (!object->connected || object->on_its_way || object->was_reset) return fail(ENOTCONN);
  give_name(object->peer_name, object->domain, address, length);
  return 0;
}

int Kernel::getsockopt(int descriptor, int level, int option, void* value, socklen_t* length) {
  Object* object = find(descriptor, Kind::socket);
  if (object == nullptr) return -1;
  if (level == SOL_SOCKET && option == SO_ERROR) return give_option(std::exchange(object->error, 0), value, length);
  if (level == SOL_SOCKET && option == SO_PEERCRED)
    return give_option(ucred{.pid = ::getpid(), .uid = ::geteuid(), .gid = ::getegid()}, value, length);
  if (level == IPPROTO_TCP && option == TCP_INFO) {
    tcp_info info{};
    const bool stands = object->connected && !object->was_reset;
    info.tcpi_state = object->on_its_way ? TCP_SYN_SENT : stands ? TCP_ESTABLISHED : TCP_CLOSE;
    if (next_mood() >= kBroken) { // it has not answered for long
      disturbed_ = true;
      info.tcpi_unacked = 1;
      info.tcpi_last_ack_recv = 1'000'000;
    }
    return give_option(info, value, length);
  }
  return fail(ENOPROTOOPT);
}

int Kernel::setsockopt(int descriptor, int level, int option, const void* value, socklen_t length) {
  Object* object = find(descriptor, Kind::socket);
  if (object == nullptr) return -1;
  if (level == SOL_SOCKET && option == SO_LINGER && length >= sizeof(linger)) {
    linger wanted{};
    std::memcpy(&wanted, value, sizeof wanted);
    object->resets = wanted.l_onoff != 0 && wanted.l_linger == 0;
  }
  return 0; // what else may be set changes nothing that can be seen here
}

ssize_t Kernel::send(int descriptor, const void* data, std::size_t bytes, int flags) {
  iovec piece{.iov_base = const_cast<void*>(data), .iov_len = bytes};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  return sendmsg(descriptor, &message, flags);
}

ssize_t Kernel::sendmsg(int descriptor, const msghdr* message, int) {
  Object* object = find(descriptor, Kind::socket);
  if (object == nullptr) return -1;
  if (!object->connected) return fail(ENOTCONN);
  if (object->on_its_way) return fail(EAGAIN);
  if (const int error = std::exchange(object->error, 0); error != 0) return fail(error);
  if (object->peer != nullptr && next_mood() >= kBroken) {
    disturbed_ = true;
    disconnect(*object, true);
    return fail(ECONNRESET);
  }
  if (object->peer == nullptr) {
    if (object->domain == AF_UNIX || std::exchange(object->was_reset, true)) return fail(EPIPE);
    object->error = EPIPE; // the first leaves; that nobody takes it is heard later
    std::size_t all = 0;
    for (std::size_t i = 0; i < message->msg_iovlen; ++i) all += message->msg_iov[i].iov_len;
    return static_cast<ssize_t>(all);
  }
  Object& reader = *object->peer;
  std::size_t sent = 0;
  for (std::size_t i = 0; i < message->msg_iovlen; ++i) {
    const iovec& piece = message->msg_iov[i];
    const std::size_t count = std::min(piece.iov_len, capacity_ - std::min(capacity_, reader.unread()));
    const auto* from = static_cast<const std::byte*>(piece.iov_base);
    reader.incoming.insert(reader.incoming.end(), from, from + count);
    sent += count;
    if (count < piece.iov_len) break;
  }
  return sent == 0 ? fail(EAGAIN) : static_cast<ssize_t>(sent);
}

ssize_t Kernel::recv(int descriptor, void* data, std::size_t bytes, int) {
  const iovec piece{.iov_base = data, .iov_len = bytes};
  return readv(descriptor, &piece, 1);
}

ssize_t Kernel::readv(int descriptor, const iovec* pieces, int count) {
  Object* object = find(descriptor, Kind::socket);
  if (object == nullptr) return -1;
  if (!object->connected) return fail(object->domain == AF_UNIX ? EINVAL : ENOTCONN);
  if (object->on_its_way) return fail(EAGAIN);
  if (object->unread() == 0) {
    if (const int error = std::exchange(object->error, 0); error != 0) return fail(error);
    return object->ended ? 0 : fail(EAGAIN);
  }
  const std::uint8_t mood = next_mood();
  if (mood >= kBroken && object->peer != nullptr) {
    disturbed_ = true;
    disconnect(*object, true);
    return fail(ECONNRESET);
  }
  if (mood >= kNothing) return fail(EAGAIN);
  std::size_t most = mood >= kShort ? mood - kShort + 1U : object->unread();
  std::size_t got = 0;
  for (int i = 0; i < count; ++i) {
    const std::size_t part = std::min({pieces[i].iov_len, object->unread(), most - got});
    if (part > 0) std::memcpy(pieces[i].iov_base, object->incoming.data() + object->taken, part);
    object->taken += part;
    got += part;
  }
  if (object->unread() == 0) {
    object->incoming.clear();
    object->taken = 0;
  }
  return static_cast<ssize_t>(got);
}

void Kernel::disconnect(Object& object, bool by_reset) {
  object.ended = true;
  object.was_reset = object.was_reset || by_reset;
  Object* peer = std::exchange(object.peer, nullptr);
  if (peer == nullptr) return;
  peer->peer = nullptr;
  peer->ended = true;
  peer->was_reset = by_reset;
  if (by_reset) peer->error = ECONNRESET;
}

int Kernel::close(int descriptor) {
  const auto index = static_cast<std::size_t>(descriptor - kFirstDescriptor);
  if (index >= objects_.size() || objects_[index] == nullptr) return fail(EBADF);
  const auto object = std::move(objects_[index]);
  if (object->connected) disconnect(*object, object->resets || object->unread() > 0);
  for (const auto& waiting : object->waiting) disconnect(*waiting, true);
  for (const auto& each : objects_)
    if (each != nullptr && each->kind == Kind::poller)
      std::erase_if(each->watched, [&](const Watched& one) { return one.descriptor == descriptor; });
  return 0;
}

} // namespace heddle::fuzz
