// A memcached server as a board, for processes whose launcher has none: by a client of our own, since four commands do (set, get, and of the
// meta ones ma and mg, by which a fence is one round trip and a few looks), and the library then depends on nothing.
// A memcached is open to whoever reaches it: what is put there is signed with the job's secret, and the secret itself never is.
// Messages of a process: 2 to begin and a look now and then until all are there, 1 for each put or get, 1 for a fence and some looks.
#pragma once

#include "auth/secret.hpp"
#include "base/descriptor.hpp"
#include "store/pinboard.hpp"
#include "store/text_line.hpp"

#include <memory>
#include <vector>

namespace heddle::store {

inline constexpr std::string_view kByMemcached = "memcached:";

class Memcached final : public Pinboard {
 public:
  struct Place {
    std::string address; // HOST:PORT, or the path of a unix socket
    std::string job;     // of letters, digits, dots, dashes and underscores, up to 64
    std::uint32_t rank = 0;
    std::uint32_t size = 1;
    auth::Secret secret;
  };
  // Returns when all processes have come. Keys that an older job of the same name has left are told apart; all expire.
  static Result<std::unique_ptr<Memcached>> open(Place place, Deadline deadline);
  // What all its keys begin with: the job's name, and what only this secret makes of it. So jobs of one name and two secrets do not meet.
  static std::string prefix_of(const Place& place);

  [[nodiscard]] std::uint32_t rank() const override { return place_.rank; }
  [[nodiscard]] std::uint32_t size() const override { return place_.size; }
  [[nodiscard]] Placement placement(Deadline) override { return {}; }
  Result<void> fence(Deadline deadline) override;
  void leave(Deadline) override { socket_.reset(); }

 private:
  using Values = std::vector<std::optional<std::string>>;

  explicit Memcached(Place place) : place_(std::move(place)), prefix_(prefix_of(place_)) {}
  Result<void> connect(Deadline deadline);
  Result<void> meet(Deadline deadline);
  Result<void> lead(const std::string& own, Deadline deadline);
  Result<void> follow(const std::string& own, Deadline deadline);
  Result<void> set(const std::string& key, const std::string& value, Deadline deadline);
  Result<Values> fetch(const std::vector<std::string>& keys, Deadline deadline);
  Result<std::uint64_t> number_after(const std::string& command, Deadline deadline);
  // Connects anew and asks again where the server is lost; it may come back.
  template <typename Ask>
  auto while_lost(Ask&& ask, Deadline deadline) -> decltype(ask());

  [[nodiscard]] std::unexpected<Error> refused(const std::string& answer);
  // What is waited for has not come: where the server answers, somebody else is late.
  [[nodiscard]] std::unexpected<Error> late(Error error, std::string who, std::string remedy = "") const;
  // Nothing more is asked: the rest of an answer may still be on its way.
  [[nodiscard]] std::unexpected<Error> give_up(std::string fact, std::string remedy);
  [[nodiscard]] std::string key_of(std::string_view name) const;
  [[nodiscard]] std::string sign(const std::string& key, std::string_view value) const;

  [[nodiscard]] std::size_t longest() const override;
  Result<void> put_text(const std::string& key, const std::string& text, Deadline deadline) override;
  Result<std::optional<std::string>> get_text(const std::string& key, Deadline deadline) override;

  Place place_;
  std::string prefix_;
  base::Descriptor socket_;
  TextLine talk_{-1, {}};
  std::string time_; // of this job among those of its name
  std::uint32_t fences_ = 0;
  bool has_answered_ = false;
  bool given_up_ = false;
  bool was_lost_ = false; // the last answer was none, since there is no connection
};

} // namespace heddle::store
