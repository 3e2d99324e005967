// All collectives, blocking and not, on the world and on parts of it, against what they must give.
#include "expect.h"
#include <string.h>

static void all(MPI_Comm comm, int count) {
  int rank, size;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  long* a = malloc(sizeof(long) * (size_t)(count * size + 1));
  long* b = malloc(sizeof(long) * (size_t)(count * size + 1));
  int* counts = malloc(sizeof(int) * (size_t)size);
  int* places = malloc(sizeof(int) * (size_t)size);
  long sum_ranks = 0;
  for (int p = 0; p < size; ++p) {
    counts[p] = count;
    places[p] = p * count;
    sum_ranks += p;
  }
  for (int root = 0; root < size; ++root) {
    for (int i = 0; i < count; ++i) a[i] = rank == root ? root * 1000 + i : -1;
    MPI_Bcast(a, count, MPI_LONG, root, comm);
    for (int i = 0; i < count; ++i) EXPECT(a[i] == root * 1000 + i);
    for (int i = 0; i < count; ++i) a[i] = rank * 1000 + i;
    MPI_Reduce(a, b, count, MPI_LONG, MPI_SUM, root, comm);
    if (rank == root)
      for (int i = 0; i < count; ++i) EXPECT(b[i] == sum_ranks * 1000 + (long)size * i);
    MPI_Gather(a, count, MPI_LONG, b, count, MPI_LONG, root, comm);
    if (rank == root)
      for (int p = 0; p < size; ++p)
        for (int i = 0; i < count; ++i) EXPECT(b[p * count + i] == p * 1000 + i);
    MPI_Gatherv(a, count, MPI_LONG, b, counts, places, MPI_LONG, root, comm);
    if (rank == root)
      for (int p = 0; p < size; ++p)
        for (int i = 0; i < count; ++i) EXPECT(b[p * count + i] == p * 1000 + i);
    for (int i = 0; i < count * size; ++i) b[i] = root + i;
    MPI_Scatter(b, count, MPI_LONG, a, count, MPI_LONG, root, comm);
    for (int i = 0; i < count; ++i) EXPECT(a[i] == root + rank * count + i);
    MPI_Scatterv(b, counts, places, MPI_LONG, a, count, MPI_LONG, root, comm);
    for (int i = 0; i < count; ++i) EXPECT(a[i] == root + rank * count + i);
  }
  for (int i = 0; i < count; ++i) a[i] = rank * 1000 + i;
  MPI_Allreduce(a, b, count, MPI_LONG, MPI_MAX, comm);
  for (int i = 0; i < count; ++i) EXPECT(b[i] == (size - 1) * 1000 + i);
  MPI_Allgather(a, count, MPI_LONG, b, count, MPI_LONG, comm);
  for (int p = 0; p < size; ++p)
    for (int i = 0; i < count; ++i) EXPECT(b[p * count + i] == p * 1000 + i);
  MPI_Allgatherv(a, count, MPI_LONG, b, counts, places, MPI_LONG, comm);
  MPI_Scan(a, b, count, MPI_LONG, MPI_SUM, comm);
  for (int i = 0; i < count; ++i) EXPECT(b[i] == (long)rank * (rank + 1) / 2 * 1000 + (long)(rank + 1) * i);
  MPI_Exscan(a, b, count, MPI_LONG, MPI_SUM, comm);
  if (rank > 0)
    for (int i = 0; i < count; ++i) EXPECT(b[i] == (long)rank * (rank - 1) / 2 * 1000 + (long)rank * i);
  for (int i = 0; i < count * size; ++i) a[i] = rank * 100000 + i;
  MPI_Alltoall(a, count, MPI_LONG, b, count, MPI_LONG, comm);
  for (int p = 0; p < size; ++p)
    for (int i = 0; i < count; ++i) EXPECT(b[p * count + i] == p * 100000 + rank * count + i);
  memset(b, 0, sizeof(long) * (size_t)(count * size));
  MPI_Alltoallv(a, counts, places, MPI_LONG, b, counts, places, MPI_LONG, comm);
  for (int p = 0; p < size; ++p)
    for (int i = 0; i < count; ++i) EXPECT(b[p * count + i] == p * 100000 + rank * count + i);
  MPI_Reduce_scatter_block(a, b, count, MPI_LONG, MPI_SUM, comm);
  for (int i = 0; i < count; ++i) EXPECT(b[i] == sum_ranks * 100000 + (long)size * (rank * count + i));
  MPI_Reduce_scatter(a, b, counts, MPI_LONG, MPI_SUM, comm);
  for (int i = 0; i < count; ++i) EXPECT(b[i] == sum_ranks * 100000 + (long)size * (rank * count + i));
  MPI_Request requests[3];
  long one = rank, total = 0;
  MPI_Iallreduce(&one, &total, 1, MPI_LONG, MPI_SUM, comm, &requests[0]);
  MPI_Ialltoall(a, count, MPI_LONG, b, count, MPI_LONG, comm, &requests[1]);
  MPI_Ibarrier(comm, &requests[2]);
  MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
  EXPECT(total == sum_ranks);
  for (int p = 0; p < size; ++p)
    for (int i = 0; i < count; ++i) EXPECT(b[p * count + i] == p * 100000 + rank * count + i);
  MPI_Barrier(comm);
  free(a);
  free(b);
  free(counts);
  free(places);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int counts[] = {1, 100, 3000, 20000};
  for (unsigned i = 0; i < sizeof counts / sizeof *counts; ++i) {
    all(MPI_COMM_WORLD, counts[i]);
    for (int parts = 2; parts <= 3; ++parts) {
      MPI_Comm part;
      MPI_Comm_split(MPI_COMM_WORLD, rank % parts, -rank, &part);
      all(part, counts[i]);
      MPI_Comm_free(&part);
    }
  }
  for (int i = 0; i < 100; ++i) { // many come and go
    MPI_Comm copy;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Barrier(copy);
    MPI_Comm_free(&copy);
  }
  if (rank == 0) puts("fine");
  MPI_Finalize();
}
