// What the client programs of the tests do with libibverbs, however they have come to its functions.
#pragma once

#include <infiniband/verbs.h>

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace heddle::tests {

struct Verbs {
  decltype(&::ibv_modify_qp) modify_qp;
  decltype(&::ibv_create_ah) create_ah;
  decltype(&::ibv_create_ah_from_wc) create_ah_from_wc;
  decltype(&::ibv_get_device_list) get_device_list;
  decltype(&::ibv_open_device) open_device;
  decltype(&::ibv_alloc_pd) alloc_pd;
  decltype(&::ibv_create_qp) create_qp;
  decltype(&::ibv_destroy_qp) destroy_qp;
  decltype(&::ibv_destroy_ah) destroy_ah;
};

class Client {
 public:
  explicit Client(const Verbs& verbs) : verbs_(verbs) {
    ibv_device** list = verbs.get_device_list(nullptr);
    context_ = verbs.open_device(list[0]);
    std::free(list);
    pd_ = verbs.alloc_pd(context_);
  }

  // ACTION:LID; true where all went well, and what was passed is as it was.
  bool act(const std::string& action) {
    const auto colon = action.find(':');
    const std::string what = action.substr(0, colon);
    const auto lid = static_cast<std::uint16_t>(colon == std::string::npos ? 0 : std::atoi(action.c_str() + colon + 1));
    if (what == "connect") return connect(lid, IBV_QP_STATE | IBV_QP_AV);
    if (what == "alternate") return connect(lid, IBV_QP_STATE | IBV_QP_AV | IBV_QP_ALT_PATH);
    if (what == "other") return connect(lid, IBV_QP_STATE | IBV_QP_TIMEOUT);
    if (what == "address") return address(lid);
    if (what == "reply") return reply(lid);
    if (what == "threads") return at_once(lid);
    if (what == "fork") return in_child(lid);
    if (what == "stderr") return replace_stderr();
    if (what == "time") return time_connections(lid);
    return false;
  }

 private:
  [[nodiscard]] static ibv_ah_attr to(std::uint16_t lid) {
    ibv_ah_attr address{};
    address.dlid = lid;
    address.src_path_bits = 1;
    address.sl = 3;
    address.port_num = 1;
    return address;
  }

  bool connect(std::uint16_t lid, int mask) {
    ibv_qp_init_attr wanted{};
    wanted.qp_type = IBV_QPT_RC;
    ibv_qp* const qp = verbs_.create_qp(pd_, &wanted);
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_RTR;
    attributes.ah_attr = attributes.alt_ah_attr = to(lid);
    const ibv_qp_attr before = attributes;
    const bool done = verbs_.modify_qp(qp, &attributes, mask) == 0;
    verbs_.destroy_qp(qp);
    return done && std::memcmp(&before, &attributes, sizeof before) == 0;
  }

  bool address(std::uint16_t lid) {
    ibv_ah_attr attributes = to(lid);
    const ibv_ah_attr before = attributes;
    ibv_ah* const handle = verbs_.create_ah(pd_, &attributes);
    verbs_.destroy_ah(handle);
    return handle != nullptr && std::memcmp(&before, &attributes, sizeof before) == 0;
  }

  bool reply(std::uint16_t lid) {
    ibv_wc arrived{};
    arrived.slid = lid;
    ibv_ah* const handle = verbs_.create_ah_from_wc(pd_, &arrived, nullptr, 1);
    verbs_.destroy_ah(handle);
    return handle != nullptr;
  }

  // Eight threads, a hundred connections each, the first of all among them.
  bool at_once(std::uint16_t lid) {
    std::vector<std::jthread> threads;
    std::atomic<bool> good = true;
    for (int i = 0; i < 8; ++i)
      threads.emplace_back([this, lid, &good] {
        for (int n = 0; n < 100; ++n)
          if (!connect(lid, IBV_QP_STATE | IBV_QP_AV)) good = false;
      });
    threads.clear();
    return good;
  }

  bool in_child(std::uint16_t lid) {
    const pid_t child = ::fork();
    if (child == 0) std::exit(connect(lid, IBV_QP_STATE | IBV_QP_AV) ? 0 : 1);
    int status = 1;
    return ::waitpid(child, &status, 0) == child && status == 0;
  }

  // Some programs close what they do not use, and the next file that they open comes to stand there.
  static bool replace_stderr() {
    ::close(STDERR_FILENO);
    return ::open(std::getenv("CLIENT_FILE"), O_WRONLY | O_CREAT | O_TRUNC, 0644) == STDERR_FILENO;
  }

  // Prints how many nanoseconds one call takes, of a hundred thousand: for bench/paths.
  bool time_connections(std::uint16_t lid) {
    constexpr int kCalls = 100'000;
    ibv_qp_init_attr wanted{};
    wanted.qp_type = IBV_QPT_RC;
    ibv_qp* const qp = verbs_.create_qp(pd_, &wanted);
    ibv_qp_attr attributes{};
    attributes.ah_attr = to(lid);
    using Clock = std::chrono::steady_clock;
    const auto first = Clock::now();
    verbs_.modify_qp(qp, &attributes, IBV_QP_AV);
    const auto begin = Clock::now();
    for (int i = 0; i < kCalls; ++i) verbs_.modify_qp(qp, &attributes, IBV_QP_AV);
    const std::chrono::duration<double, std::nano> took = Clock::now() - begin;
    const std::chrono::duration<double, std::micro> first_took = begin - first;
    std::printf("%.1f %.1f\n", took.count() / kCalls, first_took.count());
    verbs_.destroy_qp(qp);
    return true;
  }

  const Verbs verbs_;
  ibv_context* context_;
  ibv_pd* pd_;
};

// The file name of the library that a function is in.
inline std::string library_of(void* function) {
  Dl_info found{};
  if (function == nullptr || ::dladdr(function, &found) == 0) return "none";
  const std::string path = found.dli_fname;
  return path.substr(path.rfind('/') + 1);
}

inline int act_all(const Verbs& verbs, char** first, char** end) {
  Client client(verbs);
  for (; first != end; ++first)
    if (!client.act(*first)) {
      std::printf("%s went wrong\n", *first);
      return 1;
    }
  return 0;
}

} // namespace heddle::tests
