// What the MPI programs of the comparison share: how much is measured, pinning, memory, the clock, the median.
#pragma once
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
  kMaxWindow = 64,
  kShortWindow = 16,      // from 1 MiB on
  kRepetitions = 11,
  kRoundTrips = 20000,    // per repetition of latency: some milliseconds, far above the clock's resolution
  kRateWindows = 4000,    // per repetition of rate; of bandwidth at most
};

// Bytes per repetition of bandwidth: many times any cache, yet a repetition takes some ten milliseconds.
static const long kBandwidthBytes = 256L << 20;

// Both MPI libraries name the rank in the environment, so pinning can precede MPI_Init and the memory that it touches.
static void pin_to_rank(const char* program) {
  const char* rank = getenv("OMPI_COMM_WORLD_RANK");
  if (rank == NULL) rank = getenv("PMI_RANK");
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  CPU_SET(rank == NULL ? 0 : atoi(rank), &cpus);
  if (sched_setaffinity(0, sizeof cpus, &cpus) != 0) {
    fprintf(stderr, "%s: cannot pin: %s\n", program, strerror(errno));
    exit(1);
  }
}

// A job of two is pinned; one that has more processes than there are cpus is left to the system, under every library alike.
static inline void pin_pair(const char* program) {
  const char* size = getenv("OMPI_COMM_WORLD_SIZE");
  if (size == NULL) size = getenv("PMI_SIZE");
  if (size != NULL && atoi(size) == 2) pin_to_rank(program);
}

static double seconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

// As pages.hpp of the program: aligned, and written.
static char* pages(size_t bytes) {
  const size_t room = (bytes + 4095) / 4096 * 4096;
  char* memory = aligned_alloc(4096, room > 0 ? room : 4096);
  if (memory == NULL) {
    fprintf(stderr, "no memory for %zu bytes\n", bytes);
    exit(1);
  }
  memset(memory, 1, room);
  return memory;
}

static int by_value(const void* left, const void* right) {
  const double a = *(const double*)left, b = *(const double*)right;
  return (a > b) - (a < b);
}

static double median_of(double* values, int count) {
  qsort(values, (size_t)count, sizeof values[0], by_value);
  return values[count / 2];
}
