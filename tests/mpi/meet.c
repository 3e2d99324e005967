// Two halves of the world meet anew by a port, talk, and part; several times.
#include "expect.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm half, other;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  int mine, theirs;
  MPI_Comm_size(half, &mine);
  for (int round = 0; round < 3; ++round) {
    char port[MPI_MAX_PORT_NAME] = "";
    if (rank == 0) MPI_Open_port(MPI_INFO_NULL, port);
    MPI_Bcast(port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, MPI_COMM_WORLD);
    if (rank % 2 == 0)
      MPI_Comm_accept(port, MPI_INFO_NULL, 0, half, &other);
    else
      MPI_Comm_connect(port, MPI_INFO_NULL, 0, half, &other);
    MPI_Comm_remote_size(other, &theirs);
    EXPECT(mine + theirs == size);
    for (int peer = 0; peer < theirs; ++peer) {
      int out = 100 * round + rank, in = -1;
      MPI_Sendrecv(&out, 1, MPI_INT, peer, round, &in, 1, MPI_INT, peer, round, other, MPI_STATUS_IGNORE);
      EXPECT(in == 100 * round + 2 * peer + (rank + 1) % 2);
    }
    int sum = 0;
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, other); // of the other half
    EXPECT(sum == theirs * (theirs - 1) + theirs * ((rank + 1) % 2));
    MPI_Comm_disconnect(&other);
    if (rank == 0) MPI_Close_port(port);
  }
  MPI_Comm_free(&half);
  if (rank == 0) puts("fine");
  MPI_Finalize();
}
