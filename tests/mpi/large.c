// Messages over 2 GiB, which Open MPI takes as many elements of a large type: contiguous, and with gaps. Needs some 7 GiB.
#include "expect.h"
#include <stdint.h>

static uint64_t word(uint64_t number) { return number * 0x9e3779b97f4a7c15u + 1; }

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const uint64_t block = 1 << 20, blocks = 2100, words = block * blocks / 8; // 2.05 GiB
  uint64_t* data = malloc(block * blocks);
  EXPECT(data != NULL);
  for (uint64_t i = 0; i < words; ++i) data[i] = rank == 0 ? word(i) : 0;
  MPI_Datatype large, gaps;
  MPI_Type_contiguous((int)block, MPI_BYTE, &large);
  MPI_Type_commit(&large);
  MPI_Type_vector(1050, (int)block, 2 * (int)block, MPI_BYTE, &gaps); // every second block
  MPI_Type_commit(&gaps);
  MPI_Status status;
  int count;
  if (rank == 0) {
    MPI_Send(data, (int)blocks, large, 1, 1, MPI_COMM_WORLD);
    MPI_Ssend(data, (int)blocks, large, 1, 2, MPI_COMM_WORLD);
    MPI_Send(data, 1, gaps, 1, 3, MPI_COMM_WORLD);
  } else if (rank == 1) {
    MPI_Recv(data, (int)blocks, large, 0, 1, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, large, &count);
    EXPECT(count == (int)blocks);
    for (uint64_t i = 0; i < words; ++i) EXPECT(data[i] == word(i));
    for (uint64_t i = 0; i < words; ++i) data[i] = 0;
    MPI_Probe(0, 2, MPI_COMM_WORLD, &status); // unexpected
    MPI_Recv(data, (int)blocks, large, 0, 2, MPI_COMM_WORLD, &status);
    for (uint64_t i = 0; i < words; ++i) EXPECT(data[i] == word(i));
    for (uint64_t i = 0; i < words; ++i) data[i] = 0;
    MPI_Recv(data, 1, gaps, 0, 3, MPI_COMM_WORLD, &status);
    for (uint64_t i = 0; i < words; ++i) EXPECT(data[i] == (i * 8 / block % 2 == 0 ? word(i) : 0));
  }
  MPI_Type_free(&large);
  MPI_Type_free(&gaps);
  free(data);
  if (rank == 0) puts("fine");
  MPI_Finalize();
}
