// A VCQ of this process and the commands posted to it. Nothing runs by itself: every call on a VCQ carries out some of what is under way, in an
// order drawn from the seed where strong order does not forbid it.
#pragma once

#include "fabric.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <random>
#include <span>
#include <unordered_map>
#include <vector>

namespace tofu_emulation {

enum class Kind : std::uint8_t { none, put, piggyback, get, armw, cswap };

// A prepared command: one descriptor.
struct Descriptor {
  std::uint64_t to;
  std::uint32_t flags_low;
  std::uint8_t flags_high; // none is known
  Kind kind;
  std::uint8_t edata;
  std::uint8_t edata_too_long;
  std::uint64_t remote;
  std::uint32_t length;
  std::uint32_t prepared_for; // a VCQ
  std::array<std::uint64_t, 4>
      data; // put, get: local; armw: operation, value; cswap: expected, value; piggyback: the bytes

  [[nodiscard]] std::uint64_t flags() const { return flags_low | static_cast<std::uint64_t>(flags_high) << 32U; }
  [[nodiscard]] bool has(std::uint64_t flag) const { return (flags() & flag) != 0; }
  [[nodiscard]] bool strong() const { return has(UTOFU_ONESIDED_FLAG_STRONG_ORDER); }
};
static_assert(sizeof(Descriptor) == 64);

class Vcq {
 public:
  static constexpr std::uint64_t kAlive = 0x7643'7145'6d75'0001;

  Vcq(Cq& cq, unsigned long flags);

  // Whoever works on it. Two at once, on one that is not THREAD_SAFE, is a violation.
  class Use {
   public:
    explicit Use(Vcq& vcq);
    ~Use();
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

   private:
    Vcq& vcq_;
  };

  [[nodiscard]] Cq& cq() { return cq_; }
  [[nodiscard]] std::uint32_t number() const { return number_; } // unlike any other's of this process
  [[nodiscard]] bool idle() const { return pending_.empty(); }
  // Whether a command under way reads or writes that memory of its own side. The queue is locked.
  [[nodiscard]] bool works_on(const Stag& memory);
  int post(std::span<const Descriptor> commands, void* cbdata);
  int poll_tcq(void** cbdata);
  int poll_mrq(utofu_mrq_notice& notice);

  std::uint64_t mark = kAlive; // something else once it is freed

 private:
  struct Pending {
    Descriptor command;
    void* cbdata;
    std::uint64_t due;
    bool room_taken, told;
    std::vector<std::byte> left{}; // what a put has taken from its memory already
  };
  struct Done {
    void* cbdata;
    int code;
  };

  void step();
  [[nodiscard]] bool must_wait(std::size_t index) const;
  // False: there is no room for its notices now.
  bool carry_out(Pending& pending);
  bool take_room();
  // At the target, whose queue is locked. The code of the API.
  int access(Cq& target, const Pending& pending, std::uint64_t& old, bool& no_room);
  int transfer(Cq& target, const Descriptor& command, const Reached& far, std::uint64_t local);
  int atomic(Cq& target, const Descriptor& command, std::uint64_t address, std::uint64_t& old);
  void tell_target(Cq& target, const Descriptor& command);
  void tell_self(const Descriptor& command, int code, std::uint64_t old);
  [[nodiscard]] std::uint64_t draw(std::uint64_t most) { return most == 0 ? 0 : dice_() % (most + 1); }
  Cq* target_of(std::uint64_t id);
  void log(const Descriptor& command) const;

  Cq& cq_;
  static inline std::atomic<std::uint32_t> last_number_ = 0;
  const std::uint32_t number_ = ++last_number_;
  unsigned long flags_;
  std::atomic<bool> busy_ = false;
  std::mutex mutex_; // THREAD_SAFE
  std::deque<Pending> pending_;
  std::deque<Done> done_;
  std::uint64_t calls_ = 0;
  std::uint64_t tcq_polls_ = 0, mrq_polls_ = 0;
  std::mt19937_64 dice_;
  std::unordered_map<std::uint64_t, Cq*> known_;
};

} // namespace tofu_emulation
