// What the kernels share. Each is a small MPI program with the communication of a program of the NAS Parallel Benchmarks and a computation of its own that it
// verifies: NAME [S|W|A], sizes as there, W unless given. Rank 0 prints one line; exit status 1 where the result is wrong, 2 on bad usage.
// They are not the NAS programs: compare times of one kernel with each other, never with published ones.
#pragma once
#include <math.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, processes;
static double begin_time;

// The class as an index: 0 for S, 1 for W, 2 for A. The number of processes must be a power of two, up to `most`.
static int kernel_begin(int argc, char** argv, const char* name, int most) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &processes);
  const char letter = argc > 1 ? argv[1][0] : 'W';
  const char* found = argc > 2 || (argc > 1 && strlen(argv[1]) != 1) ? NULL : strchr("SWA", letter);
  const int fits = processes <= most && (processes & (processes - 1)) == 0;
  if (found == NULL || !fits) {
    if (rank == 0)
      fprintf(stderr, fits ? "%s: expected one argument, S, W or A\n" : "%s: expected 1, 2, 4, ... %d processes\n", name, most);
    MPI_Finalize();
    exit(2);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  begin_time = MPI_Wtime();
  return (int)(found - "SWA");
}

// `error` is what verification found, of which `allowed` may be. All processes call it.
static int kernel_end(const char* name, double error, double allowed) {
  const double seconds = MPI_Wtime() - begin_time;
  MPI_Allreduce(MPI_IN_PLACE, &error, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  const int right = error <= allowed;  // false of a NaN, too
  if (rank == 0)
    printf("%s: %s, error %.3g (at most %.3g), %d processes, %.3f s\n", name, right ? "verified" : "WRONG", error, allowed, processes,
           seconds);
  MPI_Finalize();
  return right ? 0 : 1;
}

static inline void* room(size_t bytes) {
  void* memory = calloc(1, bytes > 0 ? bytes : 1);
  if (memory == NULL) {
    fprintf(stderr, "no memory for %zu bytes\n", bytes);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  return memory;
}

// The generator of the NAS benchmarks: x(k + 1) = 5^13 x(k) mod 2^46, numbers between 0 and 1.
enum { kModulusBits = 46 };
static const uint64_t kMultiplier = 1220703125, kModulusMask = ((uint64_t)1 << kModulusBits) - 1;

static inline double next_random(uint64_t* state) {
  *state = *state * kMultiplier & kModulusMask;
  return (double)*state * 0x1p-46;
}

// The state `steps` further.
static inline uint64_t skip_random(uint64_t state, uint64_t steps) {
  for (uint64_t power = kMultiplier; steps > 0; steps >>= 1, power = power * power & kModulusMask)
    if (steps & 1) state = state * power & kModulusMask;
  return state;
}
