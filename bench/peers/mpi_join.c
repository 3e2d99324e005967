// A job that joins and leaves at once: `run` times the whole of mpiexec.
#include <mpi.h>
#include <signal.h>
#include <sys/prctl.h>

int main(int argc, char** argv) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  MPI_Init(&argc, &argv);
  MPI_Finalize();
  return 0;
}
