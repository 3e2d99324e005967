#include "store/pmi.hpp"

#include "store/text_dial.hpp"

#include "base/number_text.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

namespace heddle::store {

namespace {

// Hydra cuts a value after 1023 characters without a word, and Slurm's line of version 1 ends after 1024.
constexpr std::size_t kLongestValue = 900;
constexpr std::size_t kLongestAnswer = 64 << 10;
constexpr std::size_t kLengthDigits = 6; // before an answer of version 2, padded on either side

std::uint32_t number_of(const PmiFields& fields, std::string_view name, std::uint32_t otherwise) {
  const auto found = fields.find(name);
  return found == fields.end() ? otherwise : base::number_in<std::uint32_t>(found->second).value_or(otherwise);
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
      talk_(own_.open() ? own_.number() : place.descriptor, "the launcher, by PMI,"),
      rank_(place.rank),
      size_(place.size) {}

Result<std::unique_ptr<Pmi>> Pmi::open(const Place& place, Deadline deadline) {
  base::Descriptor own;
  int type = 0;
  socklen_t length = sizeof type;
  if (place.descriptor >= 0 && ::getsockopt(place.descriptor, SOL_SOCKET, SO_TYPE, &type, &length) != 0)
    return std::unexpected(Error{.code = ErrorCode::store_failed,
                                 .fact = "PMI_FD=" + std::to_string(place.descriptor) + " is no socket here",
                                 .remedy = "only a process that its launcher has started itself has it: start others "
                                           "without the variables that begin with PMI",
                                 .peer = kNoPeer,
                                 .system_code = errno});
  if (place.descriptor < 0) {
    const auto unreached = [&](int code) {
      return std::unexpected(Error{.code = ErrorCode::store_failed,
                                   .fact = "the launcher is not reached at PMI_PORT=" + place.port,
                                   .remedy = "expected HOST:PORT, where mpiexec.hydra -pmi-port listens",
                                   .peer = kNoPeer,
                                   .system_code = code});
    };
    auto socket = dial_text(place.port, deadline);
    if (!socket) return unreached(socket.error().system_code);
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
      return board->talk_.broken("says rank " + std::to_string(board->rank_) + " of " + std::to_string(board->size_));
    return board;
  }
  return board->talk_.broken("speaks no version that is known here (1, 2)");
}

// Hydra's -pmi-port: who calls says its id, and is told its size and rank, a line each, and a third that does not matter.
Result<void> Pmi::introduce(const std::string& id, Deadline deadline) {
  if (auto said = talk_.say("cmd=initack pmiid=" + id + "\n", deadline); !said) return said;
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
  if (auto said = talk_.say("cmd=init pmi_version=" + wanted + " pmi_subversion=" + (version == 1 ? "1" : "0") + "\n",
                            deadline);
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
  if (!went_well(*done)) return talk_.broken("does not take a value: " + text_of(*done, "msg"));
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
  if (done) return talk_.broken("says that its fence has failed");
  if (done.error().code == ErrorCode::timed_out)
    done.error().fact = "not every rank reached the launcher's fence in time";
  return std::unexpected(std::move(done.error()));
}

void Pmi::abort(int status) {
  const std::string code = std::to_string(status);
  const std::string request = version_ == 1 ? "cmd=abort exitcode=" + code + "\n"
                                            : in_frame("cmd=abort;isworld=TRUE;exitcode=" + code + ";msg=aborted;");
  static_cast<void>(talk_.say(request, base::deadline_in(std::chrono::seconds(1))));
}

void Pmi::leave(Deadline deadline) {
  static_cast<void>(version_ == 1 ? ask("cmd=finalize", "finalize_ack", deadline)
                                  : ask("cmd=finalize;", "finalize-response", deadline));
  talk_.close();
}

Result<PmiFields> Pmi::ask(const std::string& request, std::string_view wanted, Deadline deadline) {
  if (auto said = talk_.say(version_ == 1 ? request + "\n" : in_frame(request), deadline); !said)
    return std::unexpected(std::move(said.error()));
  auto told = version_ == 1 ? line(deadline) : answer(deadline);
  if (told && text_of(*told, "cmd") != wanted)
    return talk_.broken("answers '" + text_of(*told, "cmd").substr(0, 80) + "', expected '" + std::string(wanted) +
                        "'");
  return told;
}

std::string Pmi::in_frame(const std::string& request) {
  const std::string length = std::to_string(request.size());
  return std::string(kLengthDigits - length.size(), ' ') + length + request;
}

Result<PmiFields> Pmi::line(Deadline deadline) {
  const auto text = talk_.line("\n", deadline);
  if (!text) return std::unexpected(text.error());
  return pmi_fields(*text, ' ');
}

Result<PmiFields> Pmi::answer(Deadline deadline) {
  const auto digits = talk_.block(kLengthDigits, deadline);
  if (!digits) return std::unexpected(digits.error());
  unsigned length = 0;
  if (std::sscanf(digits->c_str(), "%u", &length) != 1 || length > kLongestAnswer)
    return talk_.broken("gives an answer without a length");
  const auto text = talk_.block(length, deadline);
  if (!text) return std::unexpected(text.error());
  return pmi_fields(*text, ';');
}

} // namespace heddle::store
