// IS: sorts integers. Each turn: histogram, its sum over all processes, an exchange of how many keys go where, and an all-to-all of uneven blocks with the
// keys themselves. Verified: each turn's keys are in order, within processes and between them, and the same as before.
#include "kernel.h"

enum { kBuckets = 1024, kTurns = 10, kChanges = 64 };

struct Sort {
  uint32_t count, range;
  uint32_t *keys, *arranged, *received, *ranks;
  size_t received_room;
};

// As in the NAS benchmark the sum of four random numbers: keys are unevenly spread.
static void draw(struct Sort* sort) {
  uint64_t state = skip_random(314159265, 4 * (uint64_t)sort->count * (uint64_t)rank);
  for (uint32_t i = 0; i < sort->count; ++i) {
    double sum = 0;
    for (int k = 0; k < 4; ++k) sum += next_random(&state);
    sort->keys[i] = (uint32_t)(sum / 4 * sort->range);
  }
}

// Which buckets go to which process, so that all have about as many keys: the first bucket of each, and behind the last.
static void share_out(const uint32_t* all, uint64_t total, int* first) {
  uint64_t sum = 0;
  int to = 0;
  for (int b = 0; b < kBuckets; ++b) {
    while (to < processes && sum >= total * (uint64_t)to / (uint64_t)processes) first[to++] = b;
    sum += all[b];
  }
  while (to <= processes) first[to++] = kBuckets;
}

// One turn; the number of keys that this process has then, in order, in sort->received.
static uint32_t turn(struct Sort* sort) {
  const uint32_t width = (sort->range + kBuckets - 1) / kBuckets;
  uint32_t own[kBuckets] = {0}, all[kBuckets];
  for (uint32_t i = 0; i < sort->count; ++i) ++own[sort->keys[i] / width];
  MPI_Allreduce(own, all, kBuckets, MPI_UINT32_T, MPI_SUM, MPI_COMM_WORLD);
  int first[processes + 1], sends[processes], receives[processes], from[processes], to[processes];
  share_out(all, (uint64_t)sort->count * (uint64_t)processes, first);
  uint32_t at[kBuckets];
  for (int b = 0, sum = 0; b < kBuckets; sum += (int)own[b++]) at[b] = (uint32_t)sum;
  for (int p = 0; p < processes; ++p) {
    sends[p] = 0;
    for (int b = first[p]; b < first[p + 1]; ++b) sends[p] += (int)own[b];
  }
  for (uint32_t i = 0; i < sort->count; ++i) sort->arranged[at[sort->keys[i] / width]++] = sort->keys[i];
  MPI_Alltoall(sends, 1, MPI_INT, receives, 1, MPI_INT, MPI_COMM_WORLD);
  uint32_t count = 0;
  for (int p = 0, sum = 0; p < processes; sum += sends[p++]) {
    to[p] = sum;
    from[p] = (int)count;
    count += (uint32_t)receives[p];
  }
  if (count > sort->received_room) {
    free(sort->received);
    sort->received_room = count;
    sort->received = room(count * sizeof *sort->received);
  }
  MPI_Alltoallv(sort->arranged, sends, to, MPI_UINT32_T, sort->received, receives, from, MPI_UINT32_T, MPI_COMM_WORLD);
  // By counting.
  const uint32_t low = (uint32_t)first[rank] * width, values = (uint32_t)(first[rank + 1] - first[rank]) * width;
  memset(sort->ranks, 0, values * sizeof *sort->ranks);
  for (uint32_t i = 0; i < count; ++i) ++sort->ranks[sort->received[i] - low];
  uint32_t next = 0;
  for (uint32_t v = 0; v < values; ++v)
    for (uint32_t n = sort->ranks[v]; n > 0; --n) sort->received[next++] = low + v;
  return count;
}

// 0 where the keys are in order, and as many and with the same sum as all had before.
static double wrong(const struct Sort* sort, uint32_t count) {
  int bad = 0;
  for (uint32_t i = 1; i < count; ++i) bad += sort->received[i - 1] > sort->received[i];
  // The largest of the processes before this one.
  uint32_t largest = count > 0 ? sort->received[count - 1] : 0, before = 0;
  MPI_Exscan(&largest, &before, 1, MPI_UINT32_T, MPI_MAX, MPI_COMM_WORLD);
  if (rank > 0 && count > 0) bad += before > sort->received[0];
  int64_t differences[2] = {(int64_t)count - sort->count, 0};
  for (uint32_t i = 0; i < count; ++i) differences[1] += sort->received[i];
  for (uint32_t i = 0; i < sort->count; ++i) differences[1] -= sort->keys[i];
  MPI_Allreduce(MPI_IN_PLACE, differences, 2, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  return bad + (differences[0] != 0) + (differences[1] != 0);
}

int main(int argc, char** argv) {
  static const uint32_t counts[] = {1U << 16, 1U << 22, 1U << 24}, ranges[] = {1U << 11, 1U << 16, 1U << 19};
  const int class = kernel_begin(argc, argv, "is", 256);
  struct Sort sort = {.count = counts[class] / (uint32_t)processes, .range = ranges[class]};
  sort.keys = room(sort.count * sizeof *sort.keys);
  sort.arranged = room(sort.count * sizeof *sort.keys);
  sort.ranks = room((sort.range + kBuckets) * sizeof *sort.ranks);
  draw(&sort);
  double error = 0;
  for (uint32_t t = 0; t < kTurns; ++t) {
    for (uint32_t i = 0; i < kChanges; ++i) sort.keys[(t * kChanges + i) % sort.count] = (t * 131 + i * 17) % sort.range;
    error += wrong(&sort, turn(&sort));
  }
  free(sort.keys);
  free(sort.arranged);
  free(sort.received);
  free(sort.ranks);
  return kernel_end("is", error, 0);
}
