// All collectives, blocking and not, on the world and on parts of it, against what they must give: with counts that differ by process, in place,
// with operations of our own, on neighbourhoods and between groups.
#include "expect.h"
#include <string.h>

static MPI_Comm comm; // that is tried, and this process in it
static int rank, size;
static int waits;   // the calls that block, or the others
static int count;   // of the even forms
static int* counts; // of the uneven ones, by process: one is 0, and before each is a gap
static int* places;
static long *a, *b;
static MPI_Request request;

// MPI_Bcast or MPI_Ibcast and its wait.
#define EITHER(blocking, other, ...)                            \
  do {                                                          \
    if (waits) {                                                \
      MPI_##blocking(__VA_ARGS__);                              \
    } else {                                                    \
      MPI_##other(__VA_ARGS__, &request);                       \
      MPI_Wait(&request, MPI_STATUS_IGNORE);                    \
    }                                                           \
  } while (0)

static long value(int who, int i) { return who * 100000L + i; }
static long sum_of(int first, int end, int i) { // over processes
  long total = 0;
  for (int p = first; p < end; ++p) total += value(p, i);
  return total;
}
static size_t room(void) { return (size_t)(2 * size * (count + size + 2) + 8); }
static void fill(long* data, int n, int who, int from) {
  for (int i = 0; i < n; ++i) data[i] = value(who, from + i);
}
static void blank(void) {
  for (size_t i = 0; i < room(); ++i) b[i] = -7;
}
static void check(const long* data, int n, int who, int from) {
  for (int i = 0; i < n; ++i) EXPECT(data[i] == value(who, from + i));
}
static void check_sums(const long* data, int n, int end, int from) {
  for (int i = 0; i < n; ++i) EXPECT(data[i] == sum_of(0, end, from + i));
}
static void check_even(void) {
  for (int p = 0; p < size; ++p) check(b + p * count, count, p, 0);
  EXPECT(b[size * count] == -7);
}
static void check_uneven(void) {
  for (int p = 0; p < size; ++p) {
    EXPECT(b[places[p] - 1] == -7);
    check(b + places[p], counts[p], p, 0);
  }
  EXPECT(b[places[size - 1] + counts[size - 1]] == -7);
}

static void rooted(int root) {
  fill(a, count, rank, 0);
  EITHER(Bcast, Ibcast, a, count, MPI_LONG, root, comm);
  check(a, count, root, 0);
  fill(a, count, rank, 0);
  blank();
  EITHER(Reduce, Ireduce, a, b, count, MPI_LONG, MPI_SUM, root, comm);
  if (rank == root) check_sums(b, count, size, 0);
  blank();
  EITHER(Gather, Igather, a, count, MPI_LONG, b, count, MPI_LONG, root, comm);
  if (rank == root) check_even();
  fill(a, counts[rank], rank, 0);
  blank();
  EITHER(Gatherv, Igatherv, a, counts[rank], MPI_LONG, b, counts, places, MPI_LONG, root, comm);
  if (rank == root) check_uneven();
  for (int p = 0; p < size; ++p) fill(b + p * count, count, root, p);
  EITHER(Scatter, Iscatter, b, count, MPI_LONG, a, count, MPI_LONG, root, comm);
  check(a, count, root, rank);
  for (int p = 0; p < size; ++p) fill(b + places[p], counts[p], root, 3 * p);
  EITHER(Scatterv, Iscatterv, b, counts, places, MPI_LONG, a, counts[rank], MPI_LONG, root, comm);
  check(a, counts[rank], root, 3 * rank);
}

static void rooted_in_place(int root) {
  blank();
  fill(a, count, rank, 0);
  fill(b + rank * count, count, rank, 0);
  if (rank == root) {
    EITHER(Gather, Igather, MPI_IN_PLACE, 0, MPI_LONG, b, count, MPI_LONG, root, comm);
    check_even();
    EITHER(Reduce, Ireduce, MPI_IN_PLACE, a, count, MPI_LONG, MPI_SUM, root, comm);
    check_sums(a, count, size, 0);
    EITHER(Scatter, Iscatter, b, count, MPI_LONG, MPI_IN_PLACE, 0, MPI_LONG, root, comm);
  } else {
    EITHER(Gather, Igather, a, count, MPI_LONG, NULL, 0, MPI_LONG, root, comm);
    EITHER(Reduce, Ireduce, a, NULL, count, MPI_LONG, MPI_SUM, root, comm);
    memset(a, 0, sizeof(long) * (size_t)count);
    EITHER(Scatter, Iscatter, NULL, 0, MPI_LONG, a, count, MPI_LONG, root, comm);
    check(a, count, rank, 0);
  }
}

static void to_all(void) {
  fill(a, count, rank, 0);
  blank();
  EITHER(Allreduce, Iallreduce, a, b, count, MPI_LONG, MPI_SUM, comm);
  check_sums(b, count, size, 0);
  EITHER(Allreduce, Iallreduce, a, b, count, MPI_LONG, MPI_MAX, comm);
  check(b, count, size - 1, 0);
  blank();
  EITHER(Allgather, Iallgather, a, count, MPI_LONG, b, count, MPI_LONG, comm);
  check_even();
  fill(a, counts[rank], rank, 0);
  blank();
  EITHER(Allgatherv, Iallgatherv, a, counts[rank], MPI_LONG, b, counts, places, MPI_LONG, comm);
  check_uneven();
  fill(a, count, rank, 0);
  EITHER(Scan, Iscan, a, b, count, MPI_LONG, MPI_SUM, comm);
  check_sums(b, count, rank + 1, 0);
  EITHER(Exscan, Iexscan, a, b, count, MPI_LONG, MPI_SUM, comm);
  if (rank > 0) check_sums(b, count, rank, 0);
  fill(a, count * size, rank, 0);
  EITHER(Reduce_scatter_block, Ireduce_scatter_block, a, b, count, MPI_LONG, MPI_SUM, comm);
  check_sums(b, count, size, rank * count);
  int before = 0, all = 0;
  for (int p = 0; p < size; ++p) {
    before += p < rank ? counts[p] : 0;
    all += counts[p];
  }
  fill(a, all, rank, 0);
  EITHER(Reduce_scatter, Ireduce_scatter, a, b, counts, MPI_LONG, MPI_SUM, comm);
  check_sums(b, counts[rank], size, before);
  if (waits) {
    MPI_Barrier(comm);
  } else {
    MPI_Ibarrier(comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
}

static void in_place(void) {
  fill(b, count, rank, 0);
  EITHER(Allreduce, Iallreduce, MPI_IN_PLACE, b, count, MPI_LONG, MPI_SUM, comm);
  check_sums(b, count, size, 0);
  fill(b, count, rank, 0);
  EITHER(Scan, Iscan, MPI_IN_PLACE, b, count, MPI_LONG, MPI_SUM, comm);
  check_sums(b, count, rank + 1, 0);
  blank();
  fill(b + rank * count, count, rank, 0);
  EITHER(Allgather, Iallgather, MPI_IN_PLACE, 0, MPI_LONG, b, count, MPI_LONG, comm);
  check_even();
  blank();
  fill(b + places[rank], counts[rank], rank, 0);
  EITHER(Allgatherv, Iallgatherv, MPI_IN_PLACE, 0, MPI_LONG, b, counts, places, MPI_LONG, comm);
  check_uneven();
  fill(b, count * size, rank, 0);
  EITHER(Alltoall, Ialltoall, MPI_IN_PLACE, 0, MPI_LONG, b, count, MPI_LONG, comm);
  for (int p = 0; p < size; ++p) check(b + p * count, count, p, rank * count);
  fill(b, count * size, rank, 0);
  EITHER(Reduce_scatter_block, Ireduce_scatter_block, MPI_IN_PLACE, b, count, MPI_LONG, MPI_SUM, comm);
  check_sums(b, count, size, rank * count);
}

// How many one process sends to another, in the uneven forms.
static int length(int from, int to) { return (from * 3 + to * 5) % 4 == 0 ? 0 : count / 2 + (from + 2 * to) % 3; }

static void exchanges(void) {
  fill(a, count * size, rank, 0);
  blank();
  EITHER(Alltoall, Ialltoall, a, count, MPI_LONG, b, count, MPI_LONG, comm);
  for (int p = 0; p < size; ++p) check(b + p * count, count, p, rank * count);
  int *out = malloc(sizeof(int) * (size_t)size * 4), *in = out + size, *out_at = in + size, *in_at = out_at + size;
  int *out_bytes = malloc(sizeof(int) * (size_t)size * 2), *in_bytes = out_bytes + size;
  MPI_Datatype* types = malloc(sizeof(MPI_Datatype) * (size_t)size);
  for (int p = 0; p < size; ++p) {
    out[p] = length(rank, p);
    in[p] = length(p, rank);
    out_at[p] = p * (count + 3);
    in_at[p] = (size - 1 - p) * (count + 3); // in another order
    out_bytes[p] = out_at[p] * (int)sizeof(long);
    in_bytes[p] = in_at[p] * (int)sizeof(long);
    types[p] = MPI_LONG;
    fill(a + out_at[p], out[p], rank, 17 * p);
  }
  for (int typed = 0; typed < 2; ++typed) {
    blank();
    if (typed)
      EITHER(Alltoallw, Ialltoallw, a, out, out_bytes, types, b, in, in_bytes, types, comm);
    else
      EITHER(Alltoallv, Ialltoallv, a, out, out_at, MPI_LONG, b, in, in_at, MPI_LONG, comm);
    for (int p = 0; p < size; ++p) {
      check(b + in_at[p], in[p], p, 17 * rank);
      EXPECT(b[in_at[p] + in[p]] == -7);
    }
  }
  free(out);
  free(out_bytes);
  free(types);
}

// x -> first x + second, composed: their order matters.
enum { prime = 1000003 };
static void compose(void* in, void* inout, int* n, MPI_Datatype* type) {
  const long* f = in;
  long* g = inout;
  (void)type;
  for (int i = 0; i < *n; ++i, f += 2, g += 2) {
    g[1] = (f[0] * g[1] + f[1]) % prime;
    g[0] = f[0] * g[0] % prime;
  }
}
static void largest_remainder(void* in, void* inout, int* n, MPI_Datatype* type) {
  const long* f = in;
  long* g = inout;
  (void)type;
  for (int i = 0; i < 2 * *n; ++i) g[i] = f[i] % 997 > g[i] % 997 ? f[i] : g[i];
}
static void function_of(int who, int i, long* f) {
  f[0] = who + 2;
  f[1] = 7 * who + i + 1;
}

static void own_operations(void) {
  MPI_Datatype pair;
  MPI_Op composition, largest;
  MPI_Type_contiguous(2, MPI_LONG, &pair);
  MPI_Type_commit(&pair);
  MPI_Op_create(compose, 0, &composition);
  MPI_Op_create(largest_remainder, 1, &largest);
  const int n = count / 2;
  for (int i = 0; i < n; ++i) function_of(rank, i, a + 2 * i);
  for (int form = 0; form < 3; ++form) { // to one, to all, and of those up to oneself
    const int root = size - 1, end = form == 2 ? rank + 1 : size, one = 1;
    if (form == 0) EITHER(Reduce, Ireduce, a, b, n, pair, composition, root, comm);
    if (form == 1) EITHER(Allreduce, Iallreduce, a, b, n, pair, composition, comm);
    if (form == 2) EITHER(Scan, Iscan, a, b, n, pair, composition, comm);
    for (int i = 0; i < n && (form > 0 || rank == root); ++i) {
      long expected[2], next[2], *last = expected;
      function_of(end - 1, i, last);
      for (int p = end - 2; p >= 0; --p) {
        function_of(p, i, next);
        compose(next, expected, (int*)&one, &pair);
      }
      EXPECT(b[2 * i] == expected[0] && b[2 * i + 1] == expected[1]);
    }
  }
  EITHER(Allreduce, Iallreduce, a, b, n, pair, largest, comm);
  for (int i = 0; i < n; ++i) {
    long expected[2], next[2];
    const int one = 1;
    function_of(0, i, expected);
    for (int p = 1; p < size; ++p) {
      function_of(p, i, next);
      largest_remainder(next, expected, (int*)&one, &pair);
    }
    EXPECT(b[2 * i] % 997 == expected[0] % 997 && b[2 * i + 1] % 997 == expected[1] % 997);
  }
  MPI_Op_free(&composition);
  MPI_Op_free(&largest);
  MPI_Type_free(&pair);
}

// Each sends to the next, and to the one behind it where there are so many.
static void neighbours(void) {
  const MPI_Comm whole = comm;
  const int degree = size >= 3 ? 2 : 1;
  int from[2], to[2], lengths_in[2], lengths_out[2], at_in[2], at_out[2], weights[2] = {1, 1};
  MPI_Aint bytes_in[2], bytes_out[2];
  MPI_Datatype types[2] = {MPI_LONG, MPI_LONG};
  for (int i = 0; i < degree; ++i) {
    from[i] = (rank + size - 1 - i) % size;
    to[i] = (rank + 1 + i) % size;
    lengths_in[i] = length(from[i], rank);
    lengths_out[i] = length(rank, to[i]);
    at_in[i] = (degree - 1 - i) * (count + 3);
    at_out[i] = i * (count + 3);
    bytes_in[i] = at_in[i] * (MPI_Aint)sizeof(long);
    bytes_out[i] = at_out[i] * (MPI_Aint)sizeof(long);
  }
  MPI_Dist_graph_create_adjacent(whole, degree, from, weights, degree, to, weights, MPI_INFO_NULL, 0, &comm);
  fill(a, count * degree, rank, 0);
  blank();
  EITHER(Neighbor_allgather, Ineighbor_allgather, a, count, MPI_LONG, b, count, MPI_LONG, comm);
  for (int i = 0; i < degree; ++i) check(b + i * count, count, from[i], 0);
  EITHER(Neighbor_alltoall, Ineighbor_alltoall, a, count, MPI_LONG, b, count, MPI_LONG, comm);
  for (int i = 0; i < degree; ++i) check(b + i * count, count, from[i], i * count);
  int counts_in[2];
  for (int i = 0; i < degree; ++i) counts_in[i] = counts[from[i]] < count ? counts[from[i]] : count;
  blank();
  EITHER(Neighbor_allgatherv, Ineighbor_allgatherv, a, counts[rank] < count ? counts[rank] : count, MPI_LONG, b, counts_in, at_in,
         MPI_LONG, comm);
  for (int i = 0; i < degree; ++i) {
    check(b + at_in[i], counts_in[i], from[i], 0);
    EXPECT(b[at_in[i] + counts_in[i]] == -7);
  }
  for (int i = 0; i < degree; ++i) fill(a + at_out[i], lengths_out[i], rank, 17 * to[i]);
  for (int typed = 0; typed < 2; ++typed) {
    blank();
    if (typed)
      EITHER(Neighbor_alltoallw, Ineighbor_alltoallw, a, lengths_out, bytes_out, types, b, lengths_in, bytes_in, types, comm);
    else
      EITHER(Neighbor_alltoallv, Ineighbor_alltoallv, a, lengths_out, at_out, MPI_LONG, b, lengths_in, at_in, MPI_LONG, comm);
    for (int i = 0; i < degree; ++i) {
      check(b + at_in[i], lengths_in[i], from[i], 17 * rank);
      EXPECT(b[at_in[i] + lengths_in[i]] == -7);
    }
  }
  MPI_Comm_free(&comm);
  comm = whole;
}

// Between those of even and those of odd rank: what is gathered and summed is the other group's.
static void between_groups(void) {
  if (size < 2) return;
  const MPI_Comm whole = comm;
  MPI_Comm mine;
  int own, others;
  MPI_Comm_split(whole, rank % 2, rank, &mine);
  MPI_Intercomm_create(mine, 0, whole, 1 - rank % 2, 5, &comm);
  MPI_Comm_rank(mine, &own);
  MPI_Comm_remote_size(comm, &others);
  fill(a, count, rank, 0);
  blank();
  EITHER(Allgather, Iallgather, a, count, MPI_LONG, b, count, MPI_LONG, comm);
  for (int p = 0; p < others; ++p) check(b + p * count, count, 2 * p + 1 - rank % 2, 0);
  EITHER(Allreduce, Iallreduce, a, b, count, MPI_LONG, MPI_SUM, comm);
  for (int i = 0; i < count; ++i) {
    long expected = 0;
    for (int p = 0; p < others; ++p) expected += value(2 * p + 1 - rank % 2, i);
    EXPECT(b[i] == expected);
  }
  fill(a, count * others, rank, 0);
  EITHER(Alltoall, Ialltoall, a, count, MPI_LONG, b, count, MPI_LONG, comm);
  for (int p = 0; p < others; ++p) check(b + p * count, count, 2 * p + 1 - rank % 2, own * count);
  for (int odd = 0; odd < 2; ++odd) { // the first of one group to all of the other
    const int root = rank % 2 != odd ? 0 : own == 0 ? MPI_ROOT : MPI_PROC_NULL;
    fill(a, count, rank, 0);
    EITHER(Bcast, Ibcast, a, count, MPI_LONG, root, comm);
    check(a, count, root == 0 ? odd : rank, 0);
  }
  MPI_Comm_free(&comm);
  MPI_Comm_free(&mine);
  comm = whole;
}

static void all(MPI_Comm tried, int n) {
  comm = tried;
  count = n;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  a = malloc(sizeof(long) * room());
  b = malloc(sizeof(long) * room());
  counts = malloc(sizeof(int) * (size_t)size);
  places = malloc(sizeof(int) * (size_t)size);
  int at = 0;
  for (int p = 0; p < size; ++p) {
    counts[p] = p == 1 ? 0 : count + p;
    places[p] = ++at;
    at += counts[p];
  }
  for (waits = 0; waits < 2; ++waits) {
    for (int root = 0; root < size; ++root) {
      rooted(root);
      rooted_in_place(root);
    }
    to_all();
    in_place();
    exchanges();
    own_operations();
    neighbours();
    between_groups();
  }
  free(a);
  free(b);
  free(counts);
  free(places);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int own;
  MPI_Comm_rank(MPI_COMM_WORLD, &own);
  const int lengths[] = {1, 100, 3000, 20000};
  for (unsigned i = 0; i < sizeof lengths / sizeof *lengths; ++i) {
    all(MPI_COMM_WORLD, lengths[i]);
    for (int parts = 2; parts <= 3; ++parts) {
      MPI_Comm part;
      MPI_Comm_split(MPI_COMM_WORLD, own % parts, -own, &part);
      all(part, lengths[i]);
      MPI_Comm_free(&part);
    }
  }
  for (int i = 0; i < 100; ++i) { // many come and go
    MPI_Comm copy;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Barrier(copy);
    MPI_Comm_free(&copy);
  }
  if (own == 0) puts("fine");
  MPI_Finalize();
}
