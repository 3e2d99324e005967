// libheddle-mpi-times.so, for `heddle mpi --compare`: loaded before an MPI program's own libraries, it stands in front of those calls of MPI that
// may wait for other processes (waiting_calls.def), adds up how long they take, passes them on to PMPI_..., and notes the sums at MPI_Finalize.
//
// It knows no MPI in particular: arguments are passed on as the words that they came in, which every 64-bit Linux allows for integers and
// pointers, and MPI has nothing else. So one library serves any MPI, in C (MPI_Recv) and Fortran (mpi_recv_, mpi_recv_f08_, mpi_recv_f08ts_).
// It needs nothing but the C library, and rests where there is no MPI: mpiexec and shells load it, too.
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#define HEDDLE_SEEN extern "C" __attribute__((visibility("default")))

namespace {

using Word = std::uintptr_t;

std::atomic<std::uint64_t> waited{0}; // nanoseconds, of all threads
std::atomic<std::uint64_t> calls{0};
std::atomic<std::uint64_t> began{0};
thread_local bool within = false; // an MPI may carry out one of these calls by another, which is not to count twice

std::uint64_t now() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(time.tv_nsec);
}

// The MPI's own function. Where an interpreter has loaded the MPI for one of its modules alone, only that module sees it.
void* own_function(const char* name, const void* caller) {
  if (void* found = ::dlsym(RTLD_NEXT, name)) return found;
  Dl_info module{};
  if (::dladdr(caller, &module) != 0)
    if (void* handle = ::dlopen(module.dli_fname, RTLD_LAZY | RTLD_NOLOAD))
      if (void* found = ::dlsym(handle, name)) return found;
  std::fprintf(stderr, "heddle mpi: this MPI has no %s, by which its calls are timed\n", name);
  std::abort();
}

// A function of MPI, found when it is first called. It takes more words than MPI's has arguments: the rest are whatever lies there, and ignored.
template <typename... Words>
class Own {
 public:
  explicit constexpr Own(const char* name) : name_(name) {}

  int call(const void* caller, Words... words) {
    void* function = function_.load(std::memory_order_relaxed);
    if (function == nullptr) [[unlikely]] {
      function = own_function(name_, caller);
      function_.store(function, std::memory_order_relaxed);
    }
    return reinterpret_cast<int (*)(Words...)>(function)(words...);
  }

  int timed(const void* caller, Words... words) {
    if (within) return call(caller, words...);
    within = true;
    const std::uint64_t before = now();
    const int result = call(caller, words...);
    waited.fetch_add(now() - before, std::memory_order_relaxed);
    calls.fetch_add(1, std::memory_order_relaxed);
    within = false;
    return result;
  }

 private:
  const char* name_;
  std::atomic<void*> function_{nullptr};
};
using OwnShort = Own<Word, Word, Word, Word, Word, Word>;
using OwnLong = Own<Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word>;

void begin() {
  waited = 0;
  calls = 0;
  began = now();
}

// One line: nanoseconds from the end of MPI_Init, nanoseconds waited, calls.
void note() {
  const std::uint64_t since = began.exchange(0);
  const char* path = std::getenv("FI_HEDDLE_TIMES");
  if (since == 0 || path == nullptr) return;
  const unsigned long long ran = now() - since;
  const int file = ::open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW);
  if (file < 0) return; // of another machine
  char line[96];
  const int length =
      std::snprintf(line, sizeof line, "%llu %llu %llu\n", ran, static_cast<unsigned long long>(waited.load()),
                    static_cast<unsigned long long>(calls.load()));
  static_cast<void>(!::write(file, line, static_cast<std::size_t>(length)));
  ::close(file);
}

} // namespace

#define PARAMETERS_Short Word a, Word b, Word c, Word d, Word e, Word f
#define WORDS_Short a, b, c, d, e, f
#define PARAMETERS_Long PARAMETERS_Short, Word g, Word h, Word i, Word j, Word k, Word l, Word m
#define WORDS_Long WORDS_Short, g, h, i, j, k, l, m

// One name of a call that waits, of one that MPI begins with, and of the one that it ends with.
#define TIMED(name, form)                                        \
  HEDDLE_SEEN int name(PARAMETERS_##form) {                      \
    static constinit Own##form own("P" #name);                   \
    return own.timed(__builtin_return_address(0), WORDS_##form); \
  }
#define TIMED_FORTRAN(name, form)                                \
  HEDDLE_SEEN int name(PARAMETERS_##form) {                      \
    static constinit Own##form own("p" #name);                   \
    return own.timed(__builtin_return_address(0), WORDS_##form); \
  }
#define BEGINS(name, prefix)                                               \
  HEDDLE_SEEN int name(PARAMETERS_Short) {                                 \
    static constinit OwnShort own(prefix #name);                           \
    const int result = own.call(__builtin_return_address(0), WORDS_Short); \
    begin();                                                               \
    return result;                                                         \
  }
#define ENDS(name, prefix)                                     \
  HEDDLE_SEEN int name(PARAMETERS_Short) {                     \
    static constinit OwnShort own(prefix #name);               \
    note();                                                    \
    return own.call(__builtin_return_address(0), WORDS_Short); \
  }

#define CALL(in_c, in_fortran, form)           \
  TIMED(MPI_##in_c, form)                      \
  TIMED_FORTRAN(mpi_##in_fortran##_, form)     \
  TIMED_FORTRAN(mpi_##in_fortran##_f08_, form) \
  TIMED_FORTRAN(mpi_##in_fortran##_f08ts_, form)
#include "waiting_calls.def"

BEGINS(MPI_Init, "P")
BEGINS(MPI_Init_thread, "P")
BEGINS(mpi_init_, "p")
BEGINS(mpi_init_f08_, "p")
BEGINS(mpi_init_thread_, "p")
BEGINS(mpi_init_thread_f08_, "p")
ENDS(MPI_Finalize, "P")
ENDS(mpi_finalize_, "p")
ENDS(mpi_finalize_f08_, "p")
