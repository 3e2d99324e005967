// The MPI side of the comparison: two ranks, tagged point-to-point messages, measured by the method of README.md.
// Built once per MPI library from this one source. Not a benchmark suite: only the rows that `run` prints.
//
//   mpi_pair latency|rate|bandwidth BYTES[,BYTES...]
//
// Rank 0 prints one JSON object in the form of `heddle perf ... --json`.
#include "mpi_common.h"

#include <mpi.h>
#include <signal.h>
#include <sys/prctl.h>

enum {
  kTag = 1,
  kAckTag = 2,
  kAckBytes = 4,
};

struct Pair {
  int rank;
  long bytes;
  char* buffer;
};

static void ping_pong(const struct Pair* pair, long round_trips) {
  const int count = (int)pair->bytes;
  for (long i = 0; i < round_trips; ++i) {
    if (pair->rank == 0) {
      MPI_Send(pair->buffer, count, MPI_BYTE, 1, kTag, MPI_COMM_WORLD);
      MPI_Recv(pair->buffer, count, MPI_BYTE, 1, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
      MPI_Recv(pair->buffer, count, MPI_BYTE, 0, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Send(pair->buffer, count, MPI_BYTE, 0, kTag, MPI_COMM_WORLD);
    }
  }
}

// As osu_mbw_mr: a window of non-blocking operations on one buffer, then a small acknowledgement.
static void stream(const struct Pair* pair, long windows, int window) {
  const int count = (int)pair->bytes;
  char ack[kAckBytes] = {0};
  MPI_Request requests[kMaxWindow];
  for (long w = 0; w < windows; ++w) {
    for (int i = 0; i < window; ++i) {
      if (pair->rank == 0)
        MPI_Isend(pair->buffer, count, MPI_BYTE, 1, kTag, MPI_COMM_WORLD, &requests[i]);
      else
        MPI_Irecv(pair->buffer, count, MPI_BYTE, 0, kTag, MPI_COMM_WORLD, &requests[i]);
    }
    MPI_Waitall(window, requests, MPI_STATUSES_IGNORE);
    if (pair->rank == 0)
      MPI_Recv(ack, kAckBytes, MPI_BYTE, 1, kAckTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
      MPI_Send(ack, kAckBytes, MPI_BYTE, 0, kAckTag, MPI_COMM_WORLD);
  }
}

// One repetition; the value is in the unit of the row.
static double repetition(const struct Pair* pair, const char* what) {
  const double begin = seconds_now();
  if (strcmp(what, "latency") == 0) {
    ping_pong(pair, kRoundTrips);
    return (seconds_now() - begin) * 1e6 / (2.0 * kRoundTrips);
  }
  if (strcmp(what, "rate") == 0) {
    stream(pair, kRateWindows, kMaxWindow);
    return (double)kRateWindows * kMaxWindow / (seconds_now() - begin);
  }
  const int window = pair->bytes >= (1L << 20) ? kShortWindow : kMaxWindow;
  const long enough = kBandwidthBytes / (window * pair->bytes);
  const long windows = enough < kRateWindows ? enough : kRateWindows;
  stream(pair, windows, window);
  return (double)(windows * window * pair->bytes) / (seconds_now() - begin) / 1e6;
}

// Median of the repetitions, after one that is not counted.
static double measure(const struct Pair* pair, const char* what) {
  double values[kRepetitions];
  repetition(pair, what);
  for (int i = 0; i < kRepetitions; ++i) values[i] = repetition(pair, what);
  return median_of(values, kRepetitions);
}

static const char* key_of(const char* what) {
  if (strcmp(what, "latency") == 0) return "median_us";
  if (strcmp(what, "rate") == 0) return "median_per_s";
  if (strcmp(what, "bandwidth") == 0) return "median_mb_s";
  return NULL;
}

int main(int argc, char** argv) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // a killed launcher leaves no spinning rank behind
  const char* key = argc == 3 ? key_of(argv[1]) : NULL;
  if (key == NULL) {
    fprintf(stderr, "mpi_pair: expected latency|rate|bandwidth BYTES[,BYTES...]\n");
    return 2;
  }
  pin_to_rank("mpi_pair");
  MPI_Init(&argc, &argv);
  struct Pair pair = {0};
  MPI_Comm_rank(MPI_COMM_WORLD, &pair.rank);
  const char* separator = "";
  if (pair.rank == 0) printf("{\"results\": [");
  for (char* size = strtok(argv[2], ","); size != NULL; size = strtok(NULL, ",")) {
    pair.bytes = atol(size);
    pair.buffer = pages((size_t)pair.bytes);
    const double value = measure(&pair, argv[1]);
    if (pair.rank == 0) printf("%s{\"bytes\": %ld, \"%s\": %.6g}", separator, pair.bytes, key, value);
    separator = ", ";
    free(pair.buffer);
  }
  if (pair.rank == 0) printf("]}\n");
  MPI_Finalize();
  return 0;
}
