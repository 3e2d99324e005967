#include "store/pmi.hpp"

#include "net/sockets.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>

namespace heddle::store {

namespace {

// Hydra cuts a value after 1023 characters without a word, and Slurm's line of version 1 ends after 1024.
constexpr std::size_t kLongestValue = 900;
constexpr std::size_t kLongestAnswer = 64 << 10;
constexpr std::size_t kLengthDigits = 6; // before an answer of version 2, padded on either side

std::uint32_t number_of(const PmiFields& fields, std::string_view name, std::uint32_t otherwise) {
  const auto found = fields.find(name);
  if (found == fields.end()) return otherwise;
  std::uint32_t value = 0;
  const auto& text = found->second;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  return status == std::errc{} && end == text.data() + text.size() ? value : otherwise;
}

std::string text_of(const PmiFields& fields, std::string_view name) {
  const auto found = fields.find(name);
  return found == fields.end() ? std::string() : found->second;
}

bool went_well(const PmiFields& fields) {
  const std::string code = text_of(fields, "rc");
  return code.empty() || code == "0";
}

} // namespace

Pmi::Pmi(const Place& place, base::Descriptor own)
    : own_(std::move(own)),
      socket_(own_.open() ? own_.number() : place.descriptor),
      rank_(place.rank),
      size_(place.size) {}

Result<std::unique_ptr<Pmi>> Pmi::open(const Place& place, Deadline deadline) {
  base::Descriptor own;
  if (place.descriptor < 0) {
    const auto there = net::resolve(place.port);
    if (!there) return std::unexpected(there.error());
    auto socket = net::begin_connect(*there);
    if (!socket) return std::unexpected(std::move(socket.error()));
    net::wait_for(socket->number(), POLLOUT, deadline);
    if (const int code = net::connect_error(socket->number()); code != 0)
      return std::unexpected(Error{.code = ErrorCode::store_failed,
                                   .fact = "the launcher is not reached at PMI_PORT=" + place.port,
                                   .remedy = "",
                                   .peer = kNoPeer,
                                   .system_code = code});
    own = std::move(*socket);
  }
  std::unique_ptr<Pmi> board(new Pmi(place, std::move(own)));
  if (place.descriptor < 0)
    if (auto done = board->introduce(place.id, deadline); !done) return std::unexpected(std::move(done.error()));
  for (const std::uint32_t version : {1U, 2U}) {
    if (place.version != 0 && place.version != version) continue;
    const auto taken = board->begin(version, deadline);
    if (!taken) return std::unexpected(taken.error());
    if (!*taken) continue;
    board->version_ = version;
    if (version == 2) {
      if (auto done = board->begin_2(place, deadline); !done) return std::unexpected(std::move(done.error()));
    } else {
      auto told = board->ask("cmd=get_my_kvsname", "my_kvsname", deadline);
      if (!told) return std::unexpected(std::move(told.error()));
      board->space_ = text_of(*told, "kvsname");
    }
    if (board->size_ == 0 || board->rank_ >= board->size_)
      return board->broken("the launcher says rank " + std::to_string(board->rank_) + " of " +
                           std::to_string(board->size_) + " by PMI");
    return board;
  }
  return board->broken("the launcher speaks no version of PMI that is known here (1, 2)");
}

// Hydra's -pmi-port: who calls says its id, and is told its size and rank, a line each, and a third that does not matter.
Result<void> Pmi::introduce(const std::string& id, Deadline deadline) {
  if (auto said = say("cmd=initack pmiid=" + id + "\n", deadline); !said) return said;
  for (int i = 0; i < 4; ++i) {
    const auto told = line(deadline);
    if (!told) return std::unexpected(told.error());
    size_ = number_of(*told, "size", size_);
    rank_ = number_of(*told, "rank", rank_);
  }
  return {};
}

Result<bool> Pmi::begin(std::uint32_t version, Deadline deadline) {
  const std::string wanted = std::to_string(version);
  if (auto said =
          say("cmd=init pmi_version=" + wanted + " pmi_subversion=" + (version == 1 ? "1" : "0") + "\n", deadline);
      !said)
    return std::unexpected(std::move(said.error()));
  const auto told = line(deadline); // a line in both versions
  if (!told) return std::unexpected(told.error());
  return text_of(*told, "cmd") == "response_to_init" && went_well(*told) && text_of(*told, "pmi_version") == wanted;
}

Result<void> Pmi::begin_2(const Place& place, Deadline deadline) {
  auto told = ask("cmd=fullinit;pmijobid=" + place.job + ";pmirank=" + std::to_string(rank_) + ";threaded=FALSE;",
                  "fullinit-response", deadline);
  if (!told) return std::unexpected(std::move(told.error()));
  rank_ = number_of(*told, "rank", rank_);
  size_ = number_of(*told, "size", size_);
  told = ask("cmd=job-getid;", "job-getid-response", deadline);
  if (!told) return std::unexpected(std::move(told.error()));
  space_ = text_of(*told, "jobid");
  return {};
}

Placement Pmi::placement(Deadline deadline) {
  const auto mapping =
      version_ == 1
          ? look_up("cmd=get kvsname=" + space_ + " key=PMI_process_mapping", "get_result", deadline)
          : look_up("cmd=info-getjobattr;key=PMI_process_mapping;wait=FALSE;", "info-getjobattr-response", deadline);
  if (!mapping || !*mapping) return {};
  const std::vector<std::uint32_t> nodes = pmi_nodes(**mapping, size_);
  if (nodes.empty()) return {};
  std::vector<std::uint32_t> different = nodes;
  std::ranges::sort(different);
  const auto repeated = std::ranges::unique(different);
  return {.nodes = static_cast<std::uint32_t>(different.size() - repeated.size()),
          .node = std::to_string(nodes[rank_])};
}

std::size_t Pmi::longest() const {
  return kLongestValue;
}

Result<void> Pmi::put_text(const std::string& key, const std::string& text, Deadline deadline) {
  const auto done = version_ == 1
                        ? ask("cmd=put kvsname=" + space_ + " key=" + key + " value=" + text, "put_result", deadline)
                        : ask("cmd=kvs-put;key=" + key + ";value=" + text + ";", "kvs-put-response", deadline);
  if (!done) return std::unexpected(done.error());
  if (!went_well(*done)) return broken("the launcher does not take a value by PMI: " + text_of(*done, "msg"));
  return {};
}

Result<std::optional<std::string>> Pmi::get_text(const std::string& key, Deadline deadline) {
  return version_ == 1
             ? look_up("cmd=get kvsname=" + space_ + " key=" + key, "get_result", deadline)
             : look_up("cmd=kvs-get;jobid=" + space_ + ";srcid=-1;key=" + key + ";", "kvs-get-response", deadline);
}

Result<std::optional<std::string>> Pmi::look_up(const std::string& request, std::string_view answer,
                                                Deadline deadline) {
  const auto told = ask(request, answer, deadline);
  if (!told) return std::unexpected(told.error());
  if (!went_well(*told) || text_of(*told, "found") == "FALSE") return std::nullopt;
  return text_of(*told, "value");
}

Result<void> Pmi::fence(Deadline deadline) {
  auto done = version_ == 1 ? ask("cmd=barrier_in", "barrier_out", deadline)
                            : ask("cmd=kvs-fence;", "kvs-fence-response", deadline);
  if (done && went_well(*done)) return {};
  if (done) return broken("the launcher's fence has failed (PMI)");
  if (done.error().code == ErrorCode::timed_out)
    done.error().fact = "not every rank reached the launcher's fence in time";
  return std::unexpected(std::move(done.error()));
}

void Pmi::abort(int status) {
  const std::string code = std::to_string(status);
  const std::string request = version_ == 1 ? "cmd=abort exitcode=" + code + "\n"
                                            : in_frame("cmd=abort;isworld=TRUE;exitcode=" + code + ";msg=aborted;");
  static_cast<void>(say(request, base::deadline_in(std::chrono::seconds(1))));
}

void Pmi::leave(Deadline deadline) {
  static_cast<void>(version_ == 1 ? ask("cmd=finalize", "finalize_ack", deadline)
                                  : ask("cmd=finalize;", "finalize-response", deadline));
  open_ = false;
}

Result<PmiFields> Pmi::ask(const std::string& request, std::string_view wanted, Deadline deadline) {
  if (auto said = say(version_ == 1 ? request + "\n" : in_frame(request), deadline); !said)
    return std::unexpected(std::move(said.error()));
  auto told = version_ == 1 ? line(deadline) : answer(deadline);
  if (told && text_of(*told, "cmd") != wanted)
    return broken("the launcher answers '" + text_of(*told, "cmd").substr(0, 80) + "' by PMI, expected '" +
                  std::string(wanted) + "'");
  return told;
}

std::string Pmi::in_frame(const std::string& request) const {
  const std::string length = std::to_string(request.size());
  return std::string(kLengthDigits - length.size(), ' ') + length + request;
}

Result<void> Pmi::say(const std::string& text, Deadline deadline) {
  if (!open_) return broken("the launcher's PMI connection is closed");
  for (std::string_view rest = text; !rest.empty();) {
    const ssize_t count = ::send(socket_, rest.data(), rest.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count >= 0)
      rest.remove_prefix(static_cast<std::size_t>(count));
    else if (errno == EAGAIN && !net::wait_for(socket_, POLLOUT, deadline))
      return broken("the launcher takes no request by PMI", ErrorCode::timed_out);
    else if (errno != EINTR && errno != EAGAIN)
      return broken("the launcher's PMI connection is no use", ErrorCode::store_failed, errno);
  }
  return {};
}

Result<void> Pmi::fill(Deadline deadline) {
  std::array<char, 4096> some{};
  while (true) {
    const ssize_t count = ::recv(socket_, some.data(), some.size(), MSG_DONTWAIT);
    if (count > 0) {
      inbox_.append(some.data(), static_cast<std::size_t>(count));
      if (inbox_.size() > kLongestAnswer) return broken("the launcher's answer by PMI has no end");
      return {};
    }
    if (count == 0) return broken("the launcher has closed the PMI connection");
    if (errno != EAGAIN && errno != EINTR)
      return broken("the launcher's PMI connection is no use", ErrorCode::store_failed, errno);
    if (!net::wait_for(socket_, POLLIN, deadline))
      return broken("the launcher gives no answer by PMI in time", ErrorCode::timed_out);
  }
}

Result<PmiFields> Pmi::line(Deadline deadline) {
  std::size_t end = 0;
  while ((end = inbox_.find('\n')) == std::string::npos)
    if (auto filled = fill(deadline); !filled) return std::unexpected(std::move(filled.error()));
  const PmiFields fields = pmi_fields(std::string_view(inbox_).substr(0, end), ' ');
  inbox_.erase(0, end + 1);
  return fields;
}

Result<PmiFields> Pmi::answer(Deadline deadline) {
  const auto has = [&](std::size_t bytes) -> Result<void> {
    while (inbox_.size() < bytes)
      if (auto filled = fill(deadline); !filled) return filled;
    return {};
  };
  if (auto there = has(kLengthDigits); !there) return std::unexpected(std::move(there.error()));
  unsigned length = 0;
  if (std::sscanf(inbox_.substr(0, kLengthDigits).c_str(), "%u", &length) != 1 || length > kLongestAnswer)
    return broken("the launcher's answer by PMI has no length");
  if (auto there = has(kLengthDigits + length); !there) return std::unexpected(std::move(there.error()));
  const PmiFields fields = pmi_fields(std::string_view(inbox_).substr(kLengthDigits, length), ';');
  inbox_.erase(0, kLengthDigits + length);
  return fields;
}

std::unexpected<Error> Pmi::broken(std::string fact, ErrorCode code, int errno_) {
  open_ = false; // half an exchange cannot be taken back
  return std::unexpected(
      Error{.code = code, .fact = std::move(fact), .remedy = "", .peer = kNoPeer, .system_code = errno_});
}

} // namespace heddle::store
