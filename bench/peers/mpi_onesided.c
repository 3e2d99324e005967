// The MPI side of the one-sided comparison: two ranks, one window each, lock_all for the whole run, measured by the method of
// README.md. Built once per MPI library from this one source.
//
//   mpi_onesided push|push-rate|push-bandwidth|pull|fetch-add|lock BYTES
//
// Rank 0 prints one JSON object in the form of `heddle perf ... --json`.
#include "mpi_common.h"

#include <mpi.h>
#include <signal.h>
#include <stdint.h>
#include <sys/prctl.h>

enum {
  kLine = 64,             // the count stands in a cache line of its own before the data
};

struct Pair {
  int rank;
  int peer;
  long bytes;
  char* memory; // of the window
  char* data;
  MPI_Win window;
  uint64_t sent;
  uint64_t heard;
};

static void tell(struct Pair* pair) {
  ++pair->sent;
  if (pair->bytes > (long)sizeof pair->sent) {
    MPI_Put(pair->data, (int)pair->bytes, MPI_BYTE, pair->peer, kLine, (int)pair->bytes, MPI_BYTE, pair->window);
    MPI_Win_flush(pair->peer, pair->window);
  }
  MPI_Put(&pair->sent, 8, MPI_BYTE, pair->peer, 0, 8, MPI_BYTE, pair->window);
  MPI_Win_flush(pair->peer, pair->window);
}

static void await(struct Pair* pair) {
  const volatile uint64_t* word = (const volatile uint64_t*)pair->memory;
  while (*word == pair->heard) MPI_Win_sync(pair->window);
  pair->heard = *word;
}

static void stream(struct Pair* pair, long windows, int window) {
  for (long w = 0; w < windows; ++w) {
    for (int i = 0; i < window; ++i)
      MPI_Put(pair->data, (int)pair->bytes, MPI_BYTE, pair->peer, kLine, (int)pair->bytes, MPI_BYTE, pair->window);
    MPI_Win_flush(pair->peer, pair->window);
  }
}

// One repetition; the value is in the unit of the row. Rank 1 takes part in `push` alone.
static double repetition(struct Pair* pair, const char* what) {
  const double begin = seconds_now();
  if (strcmp(what, "push") == 0) {
    for (long i = 0; i < kRoundTrips; ++i) {
      if (pair->rank == 1) await(pair);
      tell(pair);
      if (pair->rank == 0) await(pair);
    }
    return (seconds_now() - begin) * 1e6 / (2.0 * kRoundTrips);
  }
  if (strcmp(what, "push-rate") == 0) {
    stream(pair, kRateWindows, kMaxWindow);
    return (double)kRateWindows * kMaxWindow / (seconds_now() - begin);
  }
  if (strcmp(what, "push-bandwidth") == 0) {
    const int window = pair->bytes >= (1L << 20) ? kShortWindow : kMaxWindow;
    const long windows = kBandwidthBytes / (window * pair->bytes);
    stream(pair, windows, window);
    return (double)(windows * window * pair->bytes) / (seconds_now() - begin) / 1e6;
  }
  for (long i = 0; i < kRoundTrips; ++i) {
    if (strcmp(what, "pull") == 0) {
      MPI_Get(pair->data, (int)pair->bytes, MPI_BYTE, pair->peer, kLine, (int)pair->bytes, MPI_BYTE, pair->window);
      MPI_Win_flush(pair->peer, pair->window);
    } else {
      const uint64_t one = 1;
      uint64_t old = 0;
      MPI_Fetch_and_op(&one, &old, MPI_UINT64_T, pair->peer, kLine, MPI_SUM, pair->window);
      MPI_Win_flush(pair->peer, pair->window);
    }
  }
  return (seconds_now() - begin) * 1e6 / kRoundTrips;
}

// The exclusive lock of the peer's window, outside lock_all.
static double lock_repetition(struct Pair* pair) {
  const double begin = seconds_now();
  for (long i = 0; i < kRoundTrips; ++i) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, pair->peer, 0, pair->window);
    MPI_Win_unlock(pair->peer, pair->window);
  }
  return (seconds_now() - begin) * 1e6 / kRoundTrips;
}

static double measure(struct Pair* pair, const char* what) {
  const int locks = strcmp(what, "lock") == 0;
  double values[kRepetitions];
  if (!locks) MPI_Win_lock_all(0, pair->window);
  for (int i = -1; i < kRepetitions; ++i) {
    if (pair->rank == 1 && strcmp(what, "push") != 0) break;
    const double value = locks ? lock_repetition(pair) : repetition(pair, what);
    if (i >= 0) values[i] = value;
  }
  if (!locks) MPI_Win_unlock_all(pair->window);
  MPI_Barrier(MPI_COMM_WORLD);
  if (pair->rank == 1) return 0;
  return median_of(values, kRepetitions);
}

static const char* key_of(const char* what) {
  if (strcmp(what, "push-rate") == 0) return "median_per_s";
  if (strcmp(what, "push-bandwidth") == 0) return "median_mb_s";
  if (strcmp(what, "push") == 0 || strcmp(what, "pull") == 0 || strcmp(what, "fetch-add") == 0 ||
      strcmp(what, "lock") == 0)
    return "median_us";
  return NULL;
}

int main(int argc, char** argv) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const char* key = argc == 3 ? key_of(argv[1]) : NULL;
  if (key == NULL) {
    fprintf(stderr, "mpi_onesided: expected push|push-rate|push-bandwidth|pull|fetch-add|lock BYTES\n");
    return 2;
  }
  pin_to_rank("mpi_onesided");
  MPI_Init(&argc, &argv);
  struct Pair pair = {.bytes = atol(argv[2])};
  MPI_Comm_rank(MPI_COMM_WORLD, &pair.rank);
  pair.peer = 1 - pair.rank;
  MPI_Win_allocate(kLine + pair.bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &pair.memory, &pair.window);
  memset(pair.memory, 0, (size_t)(kLine + pair.bytes));
  pair.data = pages((size_t)pair.bytes);
  MPI_Barrier(MPI_COMM_WORLD);
  const double value = measure(&pair, argv[1]);
  if (pair.rank == 0) printf("{\"results\": [{\"bytes\": %ld, \"%s\": %.6g}]}\n", pair.bytes, key, value);
  MPI_Win_free(&pair.window);
  MPI_Finalize();
  return 0;
}
