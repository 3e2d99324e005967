#include "store/client.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "net/sockets.hpp"
#include "store/address.hpp"
#include "store/dial.hpp"

namespace heddle::store {
namespace {

constexpr std::size_t kFirstInbox = 4 << 10;
constexpr std::chrono::seconds kBetweenLooks{1};
constexpr const char* kGone = "the store is gone: its launcher has ended, or its machine is not reached any more";
constexpr std::size_t kNoticesOfOne = 3; // that it left, that it failed after all, and that it has ended the job

Error store_error(std::string fact, int system_code = 0) {
  return {.code = ErrorCode::store_failed,
          .fact = std::move(fact),
          .remedy = "",
          .peer = kNoPeer,
          .system_code = system_code};
}

Error timed_out() {
  return {.code = ErrorCode::timed_out, .fact = "the store did not answer in time"};
}

Error too_long(std::string_view what, std::size_t size, std::size_t most) {
  return {.code = ErrorCode::bad_argument,
          .fact = std::string(what) + " of " + std::to_string(size) + " bytes: expected 1 to " + std::to_string(most)};
}

} // namespace

Result<std::unique_ptr<Client>> Client::connect(const Target& target, Deadline deadline) {
  auto socket = dial(target.address, target.secret, deadline);
  if (!socket) return std::unexpected(std::move(socket).error());
  std::unique_ptr<Client> client(new Client(std::move(*socket), target));
  FrameWriter hello(Kind::hello, ++client->sequence_);
  hello.u32(kWireVersion).u32(target.rank).text(target.job);
  const auto answer = client->ask(hello.finish(), Kind::done, deadline);
  if (!answer) return std::unexpected(answer.error());
  const auto size = BodyReader(*answer).u32();
  if (size != target.size) {
    return std::unexpected(store_error("the store serves " + std::to_string(size.value_or(0)) +
                                       " processes, expected " + std::to_string(target.size)));
  }
  return client;
}

Client::Client(base::Descriptor socket, const Target& target)
    : socket_(std::move(socket)),
      abort_too_(target.abort_too),
      leave_too_(target.leave_too),
      by_tcp_(target.address.starts_with(kByTcp)),
      rank_(target.rank),
      size_(target.size),
      inbox_(kFirstInbox),
      watch_(FrameWriter(Kind::watch, 0).finish()),
      largest_answer_(kLargestRequest + std::size_t{size_} * (sizeof(std::uint32_t) + kLargestBlob)) {
  noticed_.reserve(kNoticesOfOne * std::size_t{size_});
}

Result<void> Client::put(std::string_view key, std::span<const std::byte> value, Deadline deadline) {
  if (key.empty() || key.size() > kLargestKey) return std::unexpected(too_long("a key", key.size(), kLargestKey));
  if (value.size() > kLargestValue) return std::unexpected(too_long("a value", value.size(), kLargestValue));
  const auto answer = ask(FrameWriter(Kind::put, ++sequence_).text(key).text(value).finish(), Kind::done, deadline);
  if (!answer) return std::unexpected(answer.error());
  return {};
}

Result<Bytes> Client::get(std::string_view key, std::int64_t from, Deadline deadline) {
  if (key.empty() || key.size() > kLargestKey) return std::unexpected(too_long("a key", key.size(), kLargestKey));
  if (from < kNoPeer || from >= static_cast<std::int64_t>(size_)) {
    return std::unexpected(
        Error{.code = ErrorCode::bad_argument,
              .fact = "rank " + std::to_string(from) + " is outside the job of " + std::to_string(size_)});
  }
  auto answer = ask(FrameWriter(Kind::get, ++sequence_).text(key).i64(from).finish(), Kind::value, deadline);
  if (!answer) {
    if (answer.error().code == ErrorCode::timed_out) {
      answer.error().fact = "nobody put '" + std::string(key) + "' into the store in time";
      answer.error().peer = from;
    }
    return answer;
  }
  const auto value = BodyReader(*answer).text();
  if (!value) return std::unexpected(broken("the store sent a malformed value"));
  return Bytes(value->begin(), value->end());
}

Result<void> Client::fence(Deadline deadline) {
  auto answer = ask(FrameWriter(Kind::fence, ++sequence_).finish(), Kind::done, deadline);
  if (answer) return {};
  if (answer.error().code == ErrorCode::timed_out) answer.error().fact = "not every rank reached the fence in time";
  return std::unexpected(std::move(answer).error());
}

Result<void> Client::contribute(std::span<const std::byte> blob, Deadline deadline) {
  if (blob.size() > kLargestBlob) return std::unexpected(too_long("a blob", blob.size(), kLargestBlob));
  return send_request(FrameWriter(Kind::allgather, ++sequence_).text(blob).finish(), deadline);
}

Result<std::vector<Bytes>> Client::gather(Deadline deadline) {
  auto answer = await(Kind::gathered, deadline);
  if (!answer) {
    if (answer.error().code == ErrorCode::timed_out) answer.error().fact = "not every process has joined in time";
    return std::unexpected(std::move(answer).error());
  }
  std::vector<Bytes> blobs;
  blobs.reserve(size_);
  BodyReader reader(*answer);
  for (std::uint32_t i = 0; i < size_; ++i) {
    const auto one = reader.text();
    if (!one) return std::unexpected(broken("the store sent fewer blobs than ranks"));
    blobs.emplace_back(one->begin(), one->end());
  }
  return blobs;
}

Result<std::size_t> Client::take_notices(std::span<Notice> notices) {
  if (!socket_.open()) return std::unexpected(store_error("the connection to the store is closed"));
  const auto received = receive_some();
  if (!received) return std::unexpected(received.error());
  if (!*received && is_silent()) return std::unexpected(broken(kGone, ETIMEDOUT));
  if (filled_ > 0) { // also where nothing came now: a notice may have come right behind an answer
    ++sequence_;     // nobody waits: every answer that comes now is an old one
    if (const auto sorted = sort_inbox(); !sorted) return std::unexpected(sorted.error());
  }
  const std::size_t count = std::min(notices.size(), noticed_.size());
  std::copy_n(noticed_.begin(), count, notices.begin());
  noticed_.erase(noticed_.begin(), noticed_.begin() + static_cast<std::ptrdiff_t>(count));
  return count;
}

Result<void> Client::watch_departures() {
  if (!socket_.open()) return std::unexpected(store_error("the connection to the store is closed"));
  return try_send(watch_);
}

Result<void> Client::report_stall(std::uint32_t seconds, std::string_view waiting) {
  if (!socket_.open()) return std::unexpected(store_error("the connection to the store is closed"));
  return try_send(FrameWriter(Kind::stalled, 0).u32(seconds).text(waiting.substr(0, kLargestReport)).finish());
}

void Client::abort(int status) {
  if (socket_.open()) {
    const auto sent = send_all(FrameWriter(Kind::abort, 0).i64(status).finish(), base::deadline_in(kSilence));
    if (sent && by_tcp_) await_end();
  }
  if (abort_too_) abort_too_(status);
}

Client::~Client() {
  if (socket_.open()) static_cast<void>(part(false));
}

Result<void> Client::leave() {
  if (!socket_.open()) return std::unexpected(store_error("the connection to the store is closed"));
  auto said = part(true);
  if (leave_too_) leave_too_();
  return said;
}

// What stands in the buffer of a Unix socket is the store's to read, whatever becomes of this process; so no answer is waited
// for. A full buffer is waited for as long as the store lives: it may be stopped, and that is no reason to be lost.
Result<void> Client::part(bool in_good_order) {
  auto sent = send_all(FrameWriter(Kind::goodbye, ++sequence_).u8(in_good_order ? 1 : 0).finish(), Deadline::max());
  if (socket_.open() && by_tcp_) await_end();
  // A child of fork may hold the connection open, too.
  if (socket_.open()) ::shutdown(socket_.number(), SHUT_RDWR);
  socket_.reset();
  return sent;
}

// What others report of this process by other connections is not to overtake its goodbye: the store has read it when it closes
// this one. A socket that is closed with something unread would lose it, too.
void Client::await_end() {
  ::shutdown(socket_.number(), SHUT_WR);
  const Deadline limit = base::deadline_in(kSilence);
  while (net::wait_for(socket_.number(), POLLIN, limit)) {
    const ssize_t got = ::recv(socket_.number(), inbox_.data(), inbox_.size(), MSG_DONTWAIT);
    if (got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN)) return;
  }
}

Result<Bytes> Client::ask(Bytes request, Kind expected, Deadline deadline) {
  if (auto sent = send_request(request, deadline); !sent) return std::unexpected(std::move(sent).error());
  return await(expected, deadline);
}

Result<void> Client::send_request(std::span<const std::byte> request, Deadline deadline) {
  if (!socket_.open()) return std::unexpected(store_error("the connection to the store is closed"));
  return send_all(request, deadline);
}

Result<Bytes> Client::await(Kind expected, Deadline deadline) {
  if (!socket_.open()) return std::unexpected(store_error("the connection to the store is closed"));
  while (true) {
    auto sorted = sort_inbox();
    if (!sorted) return std::unexpected(std::move(sorted).error());
    if (std::optional<Reply>& reply = *sorted) {
      if (reply->kind == Kind::refused) return std::unexpected(decode_refusal(reply->body));
      if (reply->kind != expected) return std::unexpected(broken("the store gave an answer of the wrong kind"));
      return std::move(reply->body);
    }
    if (!net::wait_for(socket_.number(), POLLIN, deadline)) {
      if (auto sent =
              send_all(FrameWriter(Kind::withdraw, sequence_).finish(), base::deadline_in(std::chrono::seconds(1)));
          !sent) {
        return std::unexpected(std::move(sent).error());
      }
      return std::unexpected(timed_out());
    }
    if (const auto received = receive_some(); !received) return std::unexpected(received.error());
  }
}

Result<void> Client::send_all(std::span<const std::byte> bytes, Deadline deadline) {
  while (!bytes.empty()) {
    const ssize_t count = ::send(socket_.number(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count >= 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(count));
    } else if (errno == EAGAIN) {
      // Half a request cannot be taken back, so the connection is of no use after this.
      if (!net::wait_for(socket_.number(), POLLOUT, deadline))
        return std::unexpected(broken("the store accepts no request"));
    } else if (errno != EINTR) {
      return std::unexpected(broken(kGone, errno));
    }
  }
  return {};
}

Result<void> Client::try_send(std::span<const std::byte> bytes) {
  const ssize_t count = ::send(socket_.number(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (count < 0 && (errno == EAGAIN || errno == EINTR))
    return std::unexpected(Error{.code = ErrorCode::would_block, .fact = "the store accepts no request right now"});
  if (count != static_cast<ssize_t>(bytes.size())) return std::unexpected(broken(kGone, count < 0 ? errno : 0));
  return {};
}

bool Client::is_silent() {
  if (!by_tcp_ || base::Clock::now() < next_look_) return false;
  next_look_ = base::deadline_in(kBetweenLooks);
  return net::is_silent(socket_.number(), kSilence);
}

Result<bool> Client::receive_some() {
  const ssize_t count = ::recv(socket_.number(), inbox_.data() + filled_, inbox_.size() - filled_, MSG_DONTWAIT);
  if (count > 0) {
    filled_ += static_cast<std::size_t>(count);
    return true;
  }
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  return std::unexpected(broken(kGone, count < 0 ? errno : ECONNRESET));
}

Result<std::optional<Client::Reply>> Client::sort_inbox() {
  std::optional<Reply> reply;
  std::size_t used = 0;
  while (!reply) {
    const Cut cut = cut_frame(std::span<const std::byte>(inbox_).subspan(used, filled_ - used), largest_answer_);
    if (cut.state == Cut::State::malformed) return std::unexpected(broken("the store sent a malformed message"));
    if (cut.state == Cut::State::incomplete) {
      if (cut.length > inbox_.size()) inbox_.resize(cut.length);
      break;
    }
    used += cut.length;
    if (cut.frame.kind == Kind::notice) {
      BodyReader reader(cut.frame.body);
      const auto rank = reader.u32();
      const auto failed = reader.u8();
      if (rank && failed && noticed_.size() < noticed_.capacity())
        noticed_.push_back({.rank = *rank, .failed = *failed != 0});
    } else if (cut.frame.kind == Kind::aborted) {
      BodyReader reader(cut.frame.body);
      const auto rank = reader.u32();
      const auto status = reader.i64();
      if (reader.finished() && noticed_.size() < noticed_.capacity())
        noticed_.push_back(
            {.rank = *rank, .failed = true, .ends_job_with = static_cast<int>(*status & kHighestStatus)});
    } else if (cut.frame.sequence == sequence_) {
      reply = {cut.frame.kind, Bytes(cut.frame.body.begin(), cut.frame.body.end())};
    }
  }
  std::memmove(inbox_.data(), inbox_.data() + used, filled_ - used);
  filled_ -= used;
  return reply;
}

Error Client::broken(std::string fact, int system_code) {
  socket_.reset();
  return store_error(std::move(fact), system_code);
}

} // namespace heddle::store
