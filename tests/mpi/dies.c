// One rank is killed while the others wait for it: mpiexec ends the job.
#include "expect.h"
#include <signal.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, word = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1) {
    puts("about to die");
    fflush(stdout);
    MPI_Send(&word, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    raise(SIGKILL);
  }
  if (rank == 0) MPI_Recv(&word, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Recv(&word, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  puts("a dead rank has sent something");
  MPI_Finalize();
}
