#include "store/memcached.hpp"

#include "store/address.hpp"
#include "store/text_dial.hpp"

#include "base/number_text.hpp"

#include <algorithm>
#include <utility>

namespace heddle::store {

namespace {

constexpr std::string_view kExpiry = "600"; // seconds: far more than any process is late
constexpr std::size_t kNonce = 16;          // digits
constexpr std::string_view kEnd = "\r\n";
constexpr std::size_t kLongestBlock = 1 << 20;
constexpr const char* kSameInAll = "HEDDLE_JOB, HEDDLE_SIZE and HEDDLE_SECRET are to be the same in all processes";

std::unexpected<Error> error(ErrorCode code, std::string fact, std::string remedy = "") {
  return std::unexpected(Error{.code = code, .fact = std::move(fact), .remedy = std::move(remedy)});
}

bool is_name(std::string_view text) {
  constexpr std::string_view kCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
  return !text.empty() && text.size() <= 64 && text.find_first_not_of(kCharacters) == std::string_view::npos;
}

std::string in_five_digits(std::uint32_t number) {
  const std::string digits = std::to_string(number);
  return std::string(5 - std::min<std::size_t>(digits.size(), 5), '0') + digits;
}

} // namespace

Result<std::unique_ptr<Memcached>> Memcached::open(Place place, Deadline deadline) {
  if (!is_name(place.job))
    return error(ErrorCode::bad_option,
                 "a job that meets in a memcached cannot be called '" + place.job.substr(0, 80) + "'",
                 "expected up to 64 letters, digits, dots, dashes and underscores");
  std::unique_ptr<Memcached> board(new Memcached(std::move(place)));
  if (auto made = board->connect(deadline); !made) return std::unexpected(std::move(made.error()));
  if (auto met = board->meet(deadline); !met) return std::unexpected(std::move(met.error()));
  return board;
}

Result<void> Memcached::connect(Deadline deadline) {
  auto socket = dial_text(place_.address, deadline);
  if (!socket) {
    socket.error().fact = "memcached at " + place_.address + ": " + socket.error().fact;
    if (socket.error().code == ErrorCode::unreachable) socket.error().code = ErrorCode::store_failed;
    return std::unexpected(std::move(socket.error()));
  }
  socket_ = std::move(*socket);
  talk_ = TextLine(socket_.number(), "memcached at " + place_.address);
  return {};
}

// Everybody leaves a number that nobody can have left before. Rank 0 answers each with one of its own, which is the job's from then on,
// beside theirs and the job's size: who finds its own number there knows that this is not an older job's, nor one of another size.
Result<void> Memcached::meet(Deadline deadline) {
  const std::string own = new_job_id();
  return place_.rank == 0 ? lead(own, deadline) : follow(own, deadline);
}

Result<void> Memcached::lead(const std::string& own, Deadline deadline) {
  constexpr const char* kLate = "not every rank came to";
  std::vector<std::string> keys;
  for (std::uint32_t rank = 1; rank < place_.size; ++rank) keys.push_back(key_of("here." + std::to_string(rank)));
  const std::string found_themselves = "mg " + key_of("come." + own) + " v";
  Values answered(keys.size());
  for (Looks looks(deadline); looks.pause();) {
    const auto here = fetch(keys, deadline);
    if (!here) return late(here.error(), kLate, kSameInAll);
    if (std::exchange(was_lost_, false)) answered.assign(keys.size(), std::nullopt); // what it held may be gone
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const auto& number = (*here)[i];
      if (!number || number == answered[i]) continue;
      if (auto put =
              set(key_of("time." + std::to_string(i + 1)), own + *number + in_five_digits(place_.size), deadline);
          !put)
        return put;
      answered[i] = number;
    }
    const auto come = while_lost([&] { return number_after(found_themselves, deadline); }, deadline);
    if (!come) return late(come.error(), kLate, kSameInAll);
    if (*come + 1 < place_.size) continue;
    time_ = own;
    return {};
  }
  return late({.code = ErrorCode::timed_out}, kLate, kSameInAll);
}

Result<void> Memcached::follow(const std::string& own, Deadline deadline) {
  constexpr const char* kLate = "rank 0 did not come to";
  const std::string rank = std::to_string(place_.rank);
  const std::string key = key_of("here." + rank);
  if (auto put = set(key, own, deadline); !put) return put;
  for (Looks looks(deadline); looks.pause();) {
    auto told = fetch({key_of("time." + rank)}, deadline);
    if (!told) return late(told.error(), kLate, kSameInAll);
    if (std::exchange(was_lost_, false)) // what it held may be gone
      if (auto put = set(key, own, deadline); !put) return put;
    const std::string answer = told->front().value_or("");
    if (answer.size() < kNonce || answer.substr(kNonce) != own + in_five_digits(place_.size)) continue;
    const std::string time = answer.substr(0, kNonce);
    auto counted = number_after("ma " + key_of("come." + time) + " N" + std::string(kExpiry) + " J1 D1 v", deadline);
    if (!counted) return std::unexpected(std::move(counted.error()));
    time_ = time;
    return {};
  }
  return late({.code = ErrorCode::timed_out}, kLate, kSameInAll);
}

std::string Memcached::prefix_of(const Place& place) {
  return place.job + ":" + place.secret.sign("keys").substr(0, kNonce) + ":";
}

std::string Memcached::key_of(std::string_view name) const {
  return prefix_ + (time_.empty() ? "" : time_ + ":") + std::string(name);
}

std::string Memcached::sign(const std::string& key, std::string_view value) const {
  return place_.secret.sign(key + "\n" + std::string(value));
}

std::size_t Memcached::longest() const {
  return 2 * kLargestNote + 16;
}
Result<void> Memcached::put_text(const std::string& key, const std::string& text, Deadline deadline) {
  return set(key_of(key), text, deadline);
}
Result<std::optional<std::string>> Memcached::get_text(const std::string& key, Deadline deadline) {
  auto values = fetch({key_of(key)}, deadline);
  if (!values) return std::unexpected(std::move(values.error()));
  return std::move(values->front());
}

template <typename Ask>
auto Memcached::while_lost(Ask&& ask, Deadline deadline) -> decltype(ask()) {
  while (true) {
    auto answer = ask();
    if (answer || given_up_ || talk_.usable() || answer.error().code == ErrorCode::timed_out) return answer;
    was_lost_ = true;
    for (Looks looks(deadline); !connect(deadline);)
      if (!looks.pause()) return answer;
  }
}

Result<void> Memcached::set(const std::string& key, const std::string& value, Deadline deadline) {
  const std::string signed_value = sign(key, value) + value;
  const auto ask = [&]() -> Result<void> {
    if (auto said = talk_.say("set " + key + " 0 " + std::string(kExpiry) + " " + std::to_string(signed_value.size()) +
                                  "\r\n" + signed_value + "\r\n",
                              deadline);
        !said)
      return said;
    const auto answer = talk_.line(kEnd, deadline);
    if (!answer) return std::unexpected(answer.error());
    if (*answer != "STORED") return refused(*answer);
    return {};
  };
  return while_lost(ask, deadline);
}

Result<Memcached::Values> Memcached::fetch(const std::vector<std::string>& keys, Deadline deadline) {
  const auto ask = [&]() -> Result<Values> {
    Values values(keys.size());
    if (keys.empty()) return values;
    std::string request = "get";
    for (const std::string& key : keys) request += " " + key;
    if (auto said = talk_.say(request + "\r\n", deadline); !said) return std::unexpected(std::move(said.error()));
    while (true) { // "VALUE key flags bytes", the value; "END"
      const auto head = talk_.line(kEnd, deadline);
      if (!head) return std::unexpected(head.error());
      has_answered_ = true;
      if (*head == "END") return values;
      const std::size_t key_end = head->find(' ', 6);
      const auto bytes = base::number_in(std::string_view(*head).substr(head->rfind(' ') + 1));
      if (!head->starts_with("VALUE ") || key_end == std::string::npos || !bytes || *bytes > kLongestBlock)
        return refused(*head);
      auto value = talk_.block(*bytes + kEnd.size(), deadline);
      if (!value) return std::unexpected(value.error());
      value->resize(*bytes);
      const auto key = std::ranges::find(keys, head->substr(6, key_end - 6));
      const std::size_t signature = sign("", "").size();
      if (key == keys.end() || value->size() < signature) continue;
      const std::string_view content = std::string_view(*value).substr(signature);
      if (sign(*key, content) != value->substr(0, signature))
        return give_up("'" + *key + "' at memcached " + place_.address + " is not signed with this job's secret",
                       "give each job a name of its own (HEDDLE_JOB), and all its processes the same HEDDLE_SECRET");
      values[static_cast<std::size_t>(key - keys.begin())] = content;
    }
  };
  return while_lost(ask, deadline);
}

// A number that a meta command gives back; 0 where there is none.
Result<std::uint64_t> Memcached::number_after(const std::string& command, Deadline deadline) {
  if (auto said = talk_.say(command + "\r\n", deadline); !said) return std::unexpected(std::move(said.error()));
  const auto head = talk_.line(kEnd, deadline);
  if (!head) return std::unexpected(head.error());
  has_answered_ = true;
  if (*head == "EN" || *head == "NF") return 0;
  const auto bytes = head->starts_with("VA ")
                         ? base::number_in(std::string_view(*head).substr(3, head->find(' ', 3) - 3))
                         : std::nullopt;
  if (!bytes || *bytes > 20) return refused(*head);
  auto value = talk_.block(*bytes + kEnd.size(), deadline);
  if (!value) return std::unexpected(value.error());
  value->resize(*bytes);
  const auto number = base::number_in(*value);
  return number ? Result<std::uint64_t>(*number) : refused(*value);
}

// Who has added its one does not do so again, whatever becomes of the server: it might count twice. So a server that is lost now fails the
// fence; what was put before it would be gone as well.
Result<void> Memcached::fence(Deadline deadline) {
  const std::string key = key_of("fence." + std::to_string(++fences_));
  auto come = number_after("ma " + key + " N" + std::string(kExpiry) + " J1 D1 v", deadline);
  for (Looks looks(deadline); come && *come < place_.size && looks.pause();)
    come = while_lost([&] { return number_after("mg " + key + " v", deadline); }, deadline);
  if (come && *come >= place_.size) return {};
  return late(come ? Error{.code = ErrorCode::timed_out} : come.error(), "not every rank came to the fence of");
}

std::unexpected<Error> Memcached::late(Error error, std::string who, std::string remedy) const {
  if (error.code == ErrorCode::timed_out && has_answered_)
    error = {.code = error.code,
             .fact = std::move(who) + " memcached at " + place_.address + " in time",
             .remedy = std::move(remedy)};
  return std::unexpected(std::move(error));
}

std::unexpected<Error> Memcached::refused(const std::string& answer) {
  const bool full = answer.starts_with("SERVER_ERROR");
  return give_up("memcached at " + place_.address + " answers '" + answer.substr(0, 80) + "'",
                 full ? "give it more memory (-m)" : "is that a memcached of at least version 1.6?");
}

std::unexpected<Error> Memcached::give_up(std::string fact, std::string remedy) {
  given_up_ = true;
  talk_.close();
  socket_.reset();
  return error(ErrorCode::store_failed, std::move(fact), std::move(remedy));
}

} // namespace heddle::store
