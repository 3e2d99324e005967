// One-sided communication: put, get, accumulate, fetch_and_op and compare_and_swap, under fences, locks and post-start-complete-wait; and on
// memory that is attached later.
#include "expect.h"

static void attached_later(int rank, int size) {
  enum { count = 30000 }; // 120 KB: no small message
  const int next = (rank + 1) % size, before = (rank + size - 1) % size;
  MPI_Win window;
  MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  int* memory = calloc(count, sizeof(int));
  int* local = malloc(sizeof(int) * count);
  for (int i = 0; i < count; ++i) local[i] = rank * count + i;
  MPI_Win_attach(window, memory, sizeof(int) * count);
  MPI_Aint mine, theirs;
  MPI_Get_address(memory, &mine);
  MPI_Sendrecv(&mine, 1, MPI_AINT, before, 1, &theirs, 1, MPI_AINT, next, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Win_lock_all(0, window);
  MPI_Put(local, count, MPI_INT, next, theirs, count, MPI_INT, window);
  MPI_Win_flush_all(window);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_sync(window);
  for (int i = 0; i < count; ++i) EXPECT(memory[i] == before * count + i);
  MPI_Win_unlock_all(window);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_detach(window, memory);
  MPI_Win_free(&window);
  free(memory);
  free(local);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int count = 50000;
  int* memory;
  MPI_Win window;
  MPI_Win_allocate((MPI_Aint)sizeof(int) * count, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
  int* local = malloc(sizeof(int) * (size_t)count);
  const int next = (rank + 1) % size, before = (rank + size - 1) % size;
  for (int i = 0; i < count; ++i) {
    memory[i] = -1;
    local[i] = rank * 100000 + i;
  }
  MPI_Win_fence(0, window);
  MPI_Put(local, count, MPI_INT, next, 0, count, MPI_INT, window);
  MPI_Win_fence(0, window);
  for (int i = 0; i < count; ++i) EXPECT(memory[i] == before * 100000 + i);
  MPI_Get(local, count, MPI_INT, next, 0, count, MPI_INT, window);
  MPI_Win_fence(0, window);
  for (int i = 0; i < count; ++i) EXPECT(local[i] == rank * 100000 + i);
  for (int i = 0; i < count; ++i) memory[i] = 0;
  MPI_Win_fence(0, window);
  for (int p = 0; p < size; ++p) MPI_Accumulate(local, 1000, MPI_INT, p, 10, 1000, MPI_INT, MPI_SUM, window);
  MPI_Win_fence(0, window);
  for (int i = 0; i < 1000; ++i) EXPECT(memory[10 + i] == size * (size - 1) / 2 * 100000 + size * i);
  for (int i = 0; i < count; ++i) memory[i] = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < 50; ++i) { // tickets, each drawn once
    int one = 1, ticket;
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window);
    MPI_Fetch_and_op(&one, &ticket, MPI_INT, 0, 0, MPI_SUM, window);
    MPI_Win_unlock(0, window);
    int old, empty = 0, mine = rank + 1;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
    MPI_Compare_and_swap(&mine, &empty, &old, MPI_INT, 0, 1 + ticket, window);
    MPI_Win_unlock(0, window);
    EXPECT(old == 0);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    EXPECT(memory[0] == 50 * size);
    int per_rank[64] = {0};
    for (int i = 0; i < 50 * size; ++i) ++per_rank[memory[1 + i]];
    for (int p = 0; p < size; ++p) EXPECT(per_rank[p + 1] == 50);
  }
  MPI_Group world, to, from;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_incl(world, 1, &next, &to);
  MPI_Group_incl(world, 1, &before, &from);
  MPI_Win_post(from, 0, window);
  MPI_Win_start(to, 0, window);
  MPI_Put(&rank, 1, MPI_INT, next, 7000, 1, MPI_INT, window);
  MPI_Win_complete(window);
  MPI_Win_wait(window);
  EXPECT(memory[7000] == before);
  MPI_Group_free(&world);
  MPI_Group_free(&to);
  MPI_Group_free(&from);
  MPI_Win_free(&window);
  free(local);
  attached_later(rank, size);
  if (rank == 0) puts("fine");
  MPI_Finalize();
}
