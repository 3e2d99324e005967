// Rank 1 waits while rank 0 sleeps; the barrier, so that it is there when the sleep begins.
#include <mpi.h>
#include <unistd.h>

int main(int argc, char** argv) {
  int rank, word = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    usleep(200000);
    MPI_Send(&word, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
  } else if (rank == 1) {
    MPI_Recv(&word, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  MPI_Finalize();
  return 0;
}
