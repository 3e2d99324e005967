// The MPI side of the rows in which all processes take part, measured by the method of README.md. `heddle perf` does the
// same in measure_together.cpp and repetitions.cpp: whoever changes one changes the other.
//
//   mpi_together alltoall|barrier|random|memory BYTES REPETITIONS
//
// Rank 0 prints one JSON object in the form of `heddle perf ... --json`.
#include "mpi_common.h"

#include <mpi.h>
#include <signal.h>
#include <stdint.h>
#include <sys/prctl.h>

enum {
  kTag = 1,
  kCountTag = 3,
  kWindow = 16,           // steps of random traffic that are under way together
  kLargest = 32 << 10,    // message of random traffic
};
static const double kSeconds = 0.2;  // a repetition at most

struct Job {
  int rank, size;
  long bytes;
  char *out, *in;
};

typedef void (*Work)(const struct Job* job, long count);

static void exchanges(const struct Job* job, long count) {
  const int bytes = (int)job->bytes;
  for (long i = 0; i < count; ++i)
    MPI_Alltoall(job->out, bytes, MPI_BYTE, job->in, bytes, MPI_BYTE, MPI_COMM_WORLD);
}

static void barriers(const struct Job* job, long count) {
  (void)job;
  for (long i = 0; i < count; ++i) MPI_Barrier(MPI_COMM_WORLD);
}

// Xorshift64 of a seed that all have.
static uint64_t draw(uint64_t* state) {
  *state ^= *state << 13;
  *state ^= *state >> 7;
  *state ^= *state << 17;
  return *state;
}

static void random_windows(const struct Job* job, long count) {
  static const int kSizes[] = {8, 512, 4 << 10, kLargest};
  const int size = job->size;
  uint64_t state = 1;
  MPI_Request requests[2 * kWindow];
  for (long w = 0; w < count; ++w) {
    for (int i = 0; i < kWindow; ++i) {
      const int offset = 1 + (int)(draw(&state) % (uint64_t)(size - 1));
      const int bytes = kSizes[draw(&state) % 4];
      MPI_Irecv(job->in + i * kLargest, bytes, MPI_BYTE, (job->rank + size - offset) % size, kTag, MPI_COMM_WORLD,
                &requests[2 * i]);
      MPI_Isend(job->out, bytes, MPI_BYTE, (job->rank + offset) % size, kTag, MPI_COMM_WORLD, &requests[2 * i + 1]);
    }
    MPI_Waitall(2 * kWindow, requests, MPI_STATUSES_IGNORE);
  }
}

struct Row {
  const char* what;
  const char* key;
  Work work;
};
static const struct Row kRows[] = {
    {"alltoall", "median_us", exchanges},
    {"barrier", "median_us", barriers},
    {"random", "median_per_s", random_windows},
    {"memory", "median_kib", NULL},
};

static const struct Row* row_of(const char* what) {
  for (size_t i = 0; i < sizeof kRows / sizeof kRows[0]; ++i)
    if (strcmp(kRows[i].what, what) == 0) return &kRows[i];
  return NULL;
}

static long most_of(const struct Row* row, const struct Job* job) {
  if (row->work == barriers) return kRoundTrips;
  if (row->work == random_windows) return kRateWindows;
  const long per_exchange = job->bytes * (job->size - 1);
  const long most = kBandwidthBytes / 8 / (per_exchange > 0 ? per_exchange : 1);
  return most < 1 ? 1 : most < kRateWindows ? most : kRateWindows;
}

// Rank 0's word to the others, one after the other.
static void pass_on(const struct Job* job, long word[2]) {
  if (job->rank != 0) MPI_Recv(word, 2, MPI_LONG, 0, kCountTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  for (int rank = 1; job->rank == 0 && rank < job->size; ++rank)
    MPI_Send(word, 2, MPI_LONG, rank, kCountTag, MPI_COMM_WORLD);
}

// How often the work is done in a repetition, by rank 0's clock: after a first time that judges nothing four times as often each
// time, until a quarter of the seconds is taken.
static long choose_count(const struct Job* job, Work work, long most) {
  long word[2] = {1, 0};  // count, is it the last word
  work(job, 1);
  while (word[1] == 0) {
    const double begin = seconds_now();
    work(job, word[0]);
    const double taken = seconds_now() - begin;
    if (word[0] >= most || taken >= kSeconds / 4) {
      const double fitting = (double)word[0] * kSeconds / (taken > 1e-9 ? taken : 1e-9);
      const long fewest = most < 2 ? most : 2;
      word[0] = fitting < (double)most ? (long)fitting : most;
      if (word[0] < fewest) word[0] = fewest;
      word[1] = 1;
    } else {
      word[0] = 4 * word[0] < most ? 4 * word[0] : most;
    }
    pass_on(job, word);
  }
  return word[0];
}

// Microseconds each, or messages of the whole job per second.
static double repetition(const struct Job* job, const struct Row* row, long count) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = seconds_now();
  row->work(job, count);
  MPI_Barrier(MPI_COMM_WORLD);
  const double seconds = seconds_now() - begin;
  if (row->work == random_windows) return (double)(count * kWindow * job->size) / seconds;
  return seconds * 1e6 / (double)count;
}

static double measure(const struct Job* job, const struct Row* row, int repetitions) {
  const long count = choose_count(job, row->work, most_of(row, job));
  double values[repetitions];
  repetition(job, row, count);
  for (int i = 0; i < repetitions; ++i) values[i] = repetition(job, row, count);
  return median_of(values, repetitions);
}

static double proportional_kib(void) {
  FILE* file = fopen("/proc/self/smaps_rollup", "r");
  char line[256];
  long kib = -1;
  while (file != NULL && kib < 0 && fgets(line, sizeof line, file) != NULL) sscanf(line, "Pss: %ld", &kib);
  if (file != NULL) fclose(file);
  return (double)kib;
}

static double median_memory(const struct Job* job) {
  double all[job->size];
  exchanges(job, 1);
  MPI_Barrier(MPI_COMM_WORLD);
  const double mine = proportional_kib();
  MPI_Allgather(&mine, 1, MPI_DOUBLE, all, 1, MPI_DOUBLE, MPI_COMM_WORLD);
  return median_of(all, job->size);
}

int main(int argc, char** argv) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const struct Row* row = argc == 4 ? row_of(argv[1]) : NULL;
  const int repetitions = argc == 4 ? atoi(argv[3]) : 0;
  if (row == NULL || repetitions < 1) {
    fprintf(stderr, "mpi_together: expected alltoall|barrier|random|memory BYTES REPETITIONS\n");
    return 2;
  }
  pin_pair("mpi_together");
  MPI_Init(&argc, &argv);
  struct Job job = {.bytes = atol(argv[2])};
  MPI_Comm_rank(MPI_COMM_WORLD, &job.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &job.size);
  const size_t room = row->work == random_windows ? (size_t)kWindow * kLargest : (size_t)(job.bytes * job.size);
  job.out = pages(room);
  job.in = pages(room);
  const double value = row->work == NULL ? median_memory(&job) : measure(&job, row, repetitions);
  if (job.rank == 0) printf("{\"results\": [{\"bytes\": %ld, \"%s\": %.6g}]}\n", job.bytes, row->key, value);
  free(job.out);
  free(job.in);
  MPI_Finalize();
  return 0;
}
