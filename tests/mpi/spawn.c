// Dynamic processes: each of two spawned ones talks to all that spawned it and to each other; then both worlds are merged, and part.
#include "expect.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm parent, other, all;
  MPI_Comm_get_parent(&parent);
  int rank, size, remote;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int spawned = parent != MPI_COMM_NULL;
  if (spawned)
    other = parent;
  else
    MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &other, MPI_ERRCODES_IGNORE);
  MPI_Comm_remote_size(other, &remote);
  EXPECT(spawned ? size == 2 : remote == 2);
  for (int peer = 0; peer < remote; ++peer) {
    int out = 100 * spawned + rank, in = -1;
    MPI_Sendrecv(&out, 1, MPI_INT, peer, 7, &in, 1, MPI_INT, peer, 7, other, MPI_STATUS_IGNORE);
    EXPECT(in == 100 * !spawned + peer);
  }
  MPI_Intercomm_merge(other, spawned, &all);
  int total, sum = 0, one = 1;
  MPI_Comm_size(all, &total);
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, all);
  EXPECT(total == size + remote && sum == total);
  MPI_Comm_free(&all);
  MPI_Comm_disconnect(&other);
  if (!spawned && rank == 0) puts("fine");
  MPI_Finalize();
}
