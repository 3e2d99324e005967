// MPI_THREAD_MULTIPLE: several threads of each process exchange messages at once, each with its partner by tag and communicator.
#include "expect.h"
#include <pthread.h>
#include <string.h>

enum { threads = 3, rounds = 200 };
static int rank, size;
static MPI_Comm comms[threads];

static void* work(void* argument) {
  const int who = (int)(long)argument;
  unsigned state = (unsigned)(rank * 100 + who + 1);
  const int to = (rank + 1) % size, from = (rank + size - 1) % size;
  static const int sizes[] = {1, 50, 2000, 20000, 100000};
  unsigned char* out = malloc(100000);
  unsigned char* in = malloc(100000);
  for (int i = 0; i < rounds; ++i) {
    state = state * 1103515245U + 12345U;
    const int bytes = sizes[i % 5] - (int)(i % 2);
    memset(out, rank * 16 + who + i, (size_t)bytes);
    MPI_Request request;
    MPI_Status status;
    MPI_Irecv(in, 100000, MPI_BYTE, i % 3 ? from : MPI_ANY_SOURCE, who * 1000 + i, comms[who % 2], &request);
    MPI_Send(out, bytes, MPI_BYTE, to, who * 1000 + i, comms[who % 2]);
    MPI_Wait(&request, &status);
    int count;
    MPI_Get_count(&status, MPI_BYTE, &count);
    EXPECT(count == bytes && status.MPI_SOURCE == from);
    for (int k = 0; k < bytes; k += 997) EXPECT(in[k] == (unsigned char)(from * 16 + who + i));
  }
  free(out);
  free(in);
  return NULL;
}

int main(int argc, char** argv) {
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  EXPECT(provided == MPI_THREAD_MULTIPLE);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int i = 0; i < threads; ++i) MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
  pthread_t ids[threads];
  for (long i = 0; i < threads; ++i) pthread_create(&ids[i], NULL, work, (void*)i);
  for (int i = 0; i < threads; ++i) pthread_join(ids[i], NULL);
  for (int i = 0; i < threads; ++i) MPI_Comm_free(&comms[i]);
  if (rank == 0) puts("fine");
  MPI_Finalize();
}
