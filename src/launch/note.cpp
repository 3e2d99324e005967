#include "launch/note.hpp"

#include <sstream>
#include <string_view>
#include <utility>

namespace heddle::launch {

namespace {

constexpr std::string_view kGiven = "given"; // no secret has five digits

std::unexpected<Error> one_sided(std::string fact) {
  return std::unexpected(
      Error{.code = ErrorCode::no_launcher,
            .fact = std::move(fact),
            .remedy = "set HEDDLE_SECRET in all processes of the job, or in none; mpirun passes it on to other "
                      "machines when told to: mpirun -x HEDDLE_SECRET"});
}

} // namespace

std::string note_of(const store::Client::Target& target, bool given) {
  return "+ " + target.job + " " + target.address + " " + (given ? std::string(kGiven) : target.secret->text());
}

std::string note_of(const Error& why_there_is_none) {
  return "- " + why_there_is_none.fact;
}

Result<store::Client::Target> read_note(const store::Bytes& note, const std::optional<auth::Secret>& given) {
  const std::string text(store::as_characters(note));
  if (text.starts_with("- "))
    return std::unexpected(
        Error{.code = ErrorCode::store_failed, .fact = "rank 0: " + text.substr(2), .remedy = "", .peer = 0});
  std::istringstream words(text);
  std::string mark;
  std::string secret;
  store::Client::Target target;
  words >> mark >> target.job >> target.address >> secret;
  const bool expected = secret == kGiven;
  const auto drawn = auth::Secret::parse(secret);
  if (mark != "+" || (!expected && !drawn))
    return std::unexpected(
        Error{.code = ErrorCode::store_failed, .fact = "what rank 0 says of the job's store is spoilt"});
  if (expected && !given) return one_sided("HEDDLE_SECRET is set in rank 0, and not in this process");
  if (!expected && given) return one_sided("HEDDLE_SECRET is set in this process, and not in rank 0");
  target.secret = expected ? *given : *drawn;
  return target;
}

} // namespace heddle::launch
