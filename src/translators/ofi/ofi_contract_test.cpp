// The contract over libfabric's own providers: TCP with its message layer, and shared memory.
#include "translators/contract/contract.hpp"
#include "translators/decorator.hpp"
#include "translators/ofi/ofi.hpp"

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define HEDDLE_UNDER_TSAN
#endif
#endif

// TSan does not see by what the threads inside libfabric are ordered.
#if HEDDLE_HAS_LIBFABRIC && !defined(HEDDLE_UNDER_TSAN)
#include "translators/ofi/library.hpp"

#include <dlfcn.h>

#include <csignal>
#include <cstring>
#include <thread>

namespace heddle::translators::contract {
namespace {

std::unique_ptr<ir::Translator> ofi_of(std::uint32_t rank, const char* provider, const char* domain) {
  base::Values own({.name = Ofi::kName, .options = Ofi::kOptions});
  EXPECT_TRUE(own.assign(ofi::kProvider, provider) && own.assign(ofi::kDomain, domain));
  auto made = Ofi::make({.rank = rank, .size = 4, .own = &own});
  EXPECT_TRUE(made) << made.error().message();
  return made ? std::move(*made) : nullptr;
}

// The provider takes its time to connect: a poll lasts until what was submitted has left.
class Patient final : public Decorator {
 public:
  explicit Patient(ir::Translator& own) : Decorator(own) {}
  void polls_too(ir::Translator& other) { other_ = &other; }
  std::size_t poll(std::span<ir::Event> events) override {
    const auto end = std::chrono::steady_clock::now() + kPatience;
    do {
      other_->poll({});
      inner().poll({});
    } while (!(inner().drained() && other_->drained()) && std::chrono::steady_clock::now() < end);
    return Decorator::poll(events);
  }

 private:
  ir::Translator* other_ = nullptr;
};

class OfiNetwork : public Network {
 public:
  OfiNetwork(const char* provider, const char* domain) : provider_(provider), domain_(domain) {
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      networks_.push_back(ofi_of(rank, provider, domain));
      sides_.push_back(std::make_unique<Patient>(*networks_.back()));
    }
    sides_[0]->polls_too(*networks_[1]);
    sides_[1]->polls_too(*networks_[0]);
  }
  // Each leaves when the other has what was sent to it.
  ~OfiNetwork() override {
    std::thread other([this] { networks_[1].reset(); });
    networks_[0].reset();
    other.join();
  }
  ir::Translator& at(std::uint32_t rank) override { return *sides_[rank]; }
  Contact nobody() override { return {.peer = ir::Peer{3}, .address = {}}; }
  Contact gone() override { return {.peer = ir::Peer{2}, .address = ofi_of(2, provider_, domain_)->address()}; }
  [[nodiscard]] bool threads() const override { return false; }

 private:
  const char* provider_;
  const char* domain_;
  std::vector<std::unique_ptr<ir::Translator>> networks_;
  std::vector<std::unique_ptr<Patient>> sides_;
};

class OfiOverTcp final : public OfiNetwork {
 public:
  OfiOverTcp() : OfiNetwork("tcp;ofi_rxm", "lo") {}
};
class OfiOverShm final : public OfiNetwork {
 public:
  OfiOverShm() : OfiNetwork("shm", "automatic") {}
};

// libpsm2, a part of Debian's libfabric, takes signals over as it is loaded.
TEST(OfiLibrary, LeavesTheProgramsSignalsAlone) {
  if (::dlopen("libfabric.so.1", RTLD_NOW | RTLD_NOLOAD) != nullptr)
    GTEST_SKIP() << "it is loaded already: run this test alone";
  for (const int signal : {SIGSEGV, SIGTERM}) ASSERT_NE(std::signal(signal, SIG_DFL), SIG_ERR);
  ASSERT_TRUE(ofi::Library::load());
  for (const int signal : {SIGSEGV, SIGTERM}) EXPECT_EQ(std::signal(signal, SIG_DFL), SIG_DFL) << ::strsignal(signal);
}

HEDDLE_TRANSLATOR_CONTRACT(OfiTcp, OfiOverTcp);
HEDDLE_TRANSLATOR_CONTRACT(OfiShm, OfiOverShm);

} // namespace
} // namespace heddle::translators::contract
#endif
