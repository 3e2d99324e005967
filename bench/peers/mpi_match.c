// The MPI side of the rows about matching: two ranks, one of which has many receives posted, or many messages that nobody has
// received yet. `heddle perf` does the same in measure_matching.cpp: whoever changes one changes the other.
//
//   mpi_match match-posted|match-unexpected|match-posted-masked|match-unexpected-masked BYTES REPETITIONS
//
// Rank 0 prints one JSON object in the form of `heddle perf ... --json`.
#include "mpi_common.h"

#include <mpi.h>
#include <signal.h>
#include <sys/prctl.h>

enum {
  kDepth = 10000,
  kBytes = 8,
  kFirstTag = 16,
  kLastWordTag = 1,
};

struct Pair {
  int rank;
  int source;  // of receives: rank 0, or any
  char *out, *in;
  MPI_Request requests[kDepth];
};

static void send_to_1(struct Pair* pair, int i) {
  MPI_Isend(pair->out, kBytes, MPI_BYTE, 1, kFirstTag + i, MPI_COMM_WORLD, &pair->requests[i]);
}

static void receive_at_1(struct Pair* pair, int i) {
  MPI_Irecv(pair->in + i * kBytes, kBytes, MPI_BYTE, pair->source, kFirstTag + i, MPI_COMM_WORLD, &pair->requests[i]);
}

static void wait_all(struct Pair* pair) { MPI_Waitall(kDepth, pair->requests, MPI_STATUSES_IGNORE); }

// The time in which the messages come, the last receive's first.
static double posted(struct Pair* pair) {
  for (int i = 0; pair->rank == 1 && i < kDepth; ++i) receive_at_1(pair, i);
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = seconds_now();
  for (int i = kDepth - 1; pair->rank == 0 && i >= 0; --i) send_to_1(pair, i);
  wait_all(pair);
  MPI_Barrier(MPI_COMM_WORLD);
  return seconds_now() - begin;
}

// What was sent before the last word has come with it; the probe looks whether it has.
static void arrive(struct Pair* pair) {
  char word = 0;
  if (pair->rank == 0) {
    for (int i = 0; i < kDepth; ++i) send_to_1(pair, i);
    MPI_Send(&word, 1, MPI_BYTE, 1, kLastWordTag, MPI_COMM_WORLD);
    wait_all(pair);
    return;
  }
  MPI_Recv(&word, 1, MPI_BYTE, 0, kLastWordTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  for (int found = 0; !found;)
    MPI_Iprobe(0, kFirstTag + kDepth - 1, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
}

// The time in which they are received, the last message first.
static double unexpected(struct Pair* pair) {
  arrive(pair);
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = seconds_now();
  for (int i = kDepth - 1; pair->rank == 1 && i >= 0; --i) receive_at_1(pair, i);
  if (pair->rank == 1) wait_all(pair);
  MPI_Barrier(MPI_COMM_WORLD);
  return seconds_now() - begin;
}

int main(int argc, char** argv) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const char* what = argc == 4 && strncmp(argv[1], "match-", 6) == 0 ? argv[1] + 6 : "";
  const int repetitions = argc == 4 ? atoi(argv[3]) : 0;
  double (*const pass)(struct Pair*) = strncmp(what, "posted", 6) == 0         ? posted
                                       : strncmp(what, "unexpected", 10) == 0 ? unexpected
                                                                              : NULL;
  if (pass == NULL || repetitions < 1 || atol(argv[2]) != kBytes) {
    fprintf(stderr, "mpi_match: expected match-posted|match-unexpected|..., %d, REPETITIONS\n", kBytes);
    return 2;
  }
  pin_pair("mpi_match");
  MPI_Init(&argc, &argv);
  static struct Pair pair;
  pair.source = strstr(what, "masked") != NULL ? MPI_ANY_SOURCE : 0;
  pair.out = pages(kBytes);
  pair.in = pages((size_t)kDepth * kBytes);
  MPI_Comm_rank(MPI_COMM_WORLD, &pair.rank);
  double values[repetitions];
  pass(&pair);
  for (int i = 0; i < repetitions; ++i) values[i] = pass(&pair) * 1e6 / kDepth;
  const double value = median_of(values, repetitions);
  if (pair.rank == 0) printf("{\"results\": [{\"bytes\": %d, \"median_us\": %.6g}]}\n", kBytes, value);
  MPI_Finalize();
  return 0;
}
