// What all programs of this folder check with: the first that is wrong ends the job.
#pragma once

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define EXPECT(condition)                                                                        \
  do {                                                                                           \
    if (!(condition)) {                                                                          \
      int who_;                                                                                  \
      MPI_Comm_rank(MPI_COMM_WORLD, &who_);                                                      \
      fprintf(stderr, "%s:%d: rank %d: not so: %s\n", __FILE__, __LINE__, who_, #condition);     \
      MPI_Abort(MPI_COMM_WORLD, 3);                                                              \
      abort();                                                                                   \
    }                                                                                            \
  } while (0)
