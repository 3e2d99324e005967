// Very many requests at once: unexpected messages taken last first, receives that wait for long, cancelled in any order, and messages matched by
// probes long before they are received.
#include "expect.h"

enum { many = 20000, some = 200 };
static int rank, size;

// The tags are drawn from the numbers below, so that those of neighbours meet.
static int tag_of(int peer, int number) { return number * 10 + peer; }

static void unexpected(void) {
  int* values = malloc(sizeof(int) * many);
  MPI_Request* requests = malloc(sizeof(MPI_Request) * many);
  for (int i = 0; rank > 0 && i < many; ++i) {
    values[i] = i * rank;
    MPI_Isend(&values[i], 1, MPI_INT, 0, tag_of(rank, i), MPI_COMM_WORLD, &requests[i]);
  }
  if (rank > 0) MPI_Waitall(many, requests, MPI_STATUSES_IGNORE);
  for (int peer = 1; rank == 0 && peer < size; ++peer)
    for (int i = many - 1; i >= 0; --i) {
      int value = -1;
      MPI_Recv(&value, 1, MPI_INT, i % 2 ? peer : MPI_ANY_SOURCE, tag_of(peer, i), MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      EXPECT(value == i * peer);
    }
  free(values);
  free(requests);
}

static void posted(void) {
  const int count = rank == 0 ? many * (size - 1) : 0;
  int* values = malloc(sizeof(int) * (size_t)(count + 1));
  MPI_Request* requests = malloc(sizeof(MPI_Request) * (size_t)(count + 1));
  for (int i = 0; i < count; ++i) {
    const int peer = 1 + i / many;
    MPI_Irecv(&values[i], 1, MPI_INT, i % 2 ? peer : MPI_ANY_SOURCE, tag_of(peer, i % many), MPI_COMM_WORLD, &requests[i]);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = many - 1; rank > 0 && i >= 0; --i) {
    const int value = i + rank;
    MPI_Send(&value, 1, MPI_INT, 0, tag_of(rank, i), MPI_COMM_WORLD);
  }
  MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
  for (int i = 0; i < count; ++i) EXPECT(values[i] == i % many + 1 + i / many);
  free(values);
  free(requests);
}

static void cancelled(void) {
  MPI_Request requests[some];
  int value, is_cancelled;
  MPI_Status status;
  for (int i = 0; i < some; ++i) MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &requests[i]);
  for (int i = 0; i < some; ++i) MPI_Cancel(&requests[i * 7 % some]);
  for (int i = 0; i < some; ++i) {
    MPI_Wait(&requests[i], &status);
    MPI_Test_cancelled(&status, &is_cancelled);
    EXPECT(is_cancelled);
  }
}

// All of one tag: the i-th probe matches the i-th message, whenever that is received.
static void matched(void) {
  const int to = (rank + 1) % size, from = (rank + size - 1) % size;
  int* out[some];
  MPI_Request requests[some];
  MPI_Message messages[some];
  MPI_Status statuses[some];
  for (int i = 0; i < some; ++i) {
    const int count = 1 + i * 317; // to 250 KiB
    out[i] = malloc(sizeof(int) * (size_t)count);
    for (int k = 0; k < count; ++k) out[i][k] = i + k + rank;
    MPI_Isend(out[i], count, MPI_INT, to, 5, MPI_COMM_WORLD, &requests[i]);
  }
  for (int i = 0; i < some; ++i)
    MPI_Mprobe(i % 2 ? from : MPI_ANY_SOURCE, i % 3 ? 5 : MPI_ANY_TAG, MPI_COMM_WORLD, &messages[i], &statuses[i]);
  for (int i = some - 1; i >= 0; --i) {
    int count;
    MPI_Get_count(&statuses[i], MPI_INT, &count);
    EXPECT(count == 1 + i * 317 && statuses[i].MPI_SOURCE == from);
    int* in = malloc(sizeof(int) * (size_t)count);
    MPI_Mrecv(in, count, MPI_INT, &messages[i], MPI_STATUS_IGNORE);
    for (int k = 0; k < count; ++k) EXPECT(in[k] == i + k + from);
    free(in);
  }
  MPI_Waitall(some, requests, MPI_STATUSES_IGNORE);
  for (int i = 0; i < some; ++i) free(out[i]);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  unexpected();
  MPI_Barrier(MPI_COMM_WORLD); // no message meets a receive with wildcards that is not meant
  posted();
  MPI_Barrier(MPI_COMM_WORLD);
  cancelled();
  MPI_Barrier(MPI_COMM_WORLD);
  matched();
  if (rank == 0) puts("fine");
  MPI_Finalize();
}
