// MG: Poisson's equation on a periodic cube by multigrid. On every level, from the whole cube to two points a side and process, the six faces of each part are exchanged with
// neighbours in three dimensions. Verified: the residual falls as multigrid's does.
#include "kernel.h"

enum { kLevels = 12, kCycles = 10, kSmoothings = 2, kCoarsest = 20 };

struct Level {
  int n[3];          // points of this process in x, y, z; beside them one layer of others' on each side
  double spacing;
  double *u, *f, *r;
};

static int neighbour[3][2];  // below and above, in x, y, z
static double *leaving, *coming;

static size_t index_of(const struct Level* l, int x, int y, int z) {
  return ((size_t)z * (size_t)(l->n[1] + 2) + (size_t)y) * (size_t)(l->n[0] + 2) + (size_t)x;
}
static size_t points(const struct Level* l) { return index_of(l, l->n[0] + 1, l->n[1] + 1, l->n[2] + 1) + 1; }

// One layer of points between an array and a message; the layers of the dimensions before are part of it.
static int layer(const struct Level* l, double* a, int dimension, int at, double* message, int out) {
  int low[3], high[3], count = 0;
  for (int d = 0; d < 3; ++d) {
    low[d] = d == dimension ? at : d < dimension ? 0 : 1;
    high[d] = d == dimension ? at : d < dimension ? l->n[d] + 1 : l->n[d];
  }
  for (int z = low[2]; z <= high[2]; ++z)
    for (int y = low[1]; y <= high[1]; ++y)
      for (int x = low[0]; x <= high[0]; ++x) {
        if (out)
          message[count++] = a[index_of(l, x, y, z)];
        else
          a[index_of(l, x, y, z)] = message[count++];
      }
  return count;
}

static void exchange(const struct Level* l, double* a) {
  for (int d = 0; d < 3; ++d)
    for (int up = 0; up < 2; ++up) {
      const int to = neighbour[d][up], from = neighbour[d][1 - up];
      const int count = layer(l, a, d, up ? l->n[d] : 1, leaving, 1);
      if (to == rank) {
        layer(l, a, d, up ? 0 : l->n[d] + 1, leaving, 0);
        continue;
      }
      MPI_Request request;
      MPI_Irecv(coming, count, MPI_DOUBLE, from, 2 * d + up, MPI_COMM_WORLD, &request);
      MPI_Send(leaving, count, MPI_DOUBLE, to, 2 * d + up, MPI_COMM_WORLD);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      layer(l, a, d, up ? 0 : l->n[d] + 1, coming, 0);
    }
}

// r = f - A u, where A is the Laplacian's six neighbours.
static void residual(const struct Level* l) {
  const double scale = 1 / (l->spacing * l->spacing);
  const size_t dy = (size_t)(l->n[0] + 2), dz = dy * (size_t)(l->n[1] + 2);
  for (int z = 1; z <= l->n[2]; ++z)
    for (int y = 1; y <= l->n[1]; ++y)
      for (size_t i = index_of(l, 1, y, z), end = i + (size_t)l->n[0]; i < end; ++i)
        l->r[i] = l->f[i] - scale * (6 * l->u[i] - l->u[i - 1] - l->u[i + 1] - l->u[i - dy] - l->u[i + dy] - l->u[i - dz] - l->u[i + dz]);
}

// Jacobi's method with the damping that suits three dimensions.
static void smooth(const struct Level* l, int times) {
  const double factor = 6.0 / 7 / 6 * l->spacing * l->spacing;
  for (; times > 0; --times) {
    residual(l);
    for (int z = 1; z <= l->n[2]; ++z)
      for (int y = 1; y <= l->n[1]; ++y)
        for (size_t i = index_of(l, 1, y, z), end = i + (size_t)l->n[0]; i < end; ++i) l->u[i] += factor * l->r[i];
    exchange(l, l->u);
  }
}

// Coarse point i lies on fine point 2 i: weights of a quarter, a half, a quarter in each dimension.
static void restrict_to(const struct Level* fine, const struct Level* coarse) {
  static const double weight[] = {0.25, 0.5, 0.25};
  for (int z = 1; z <= coarse->n[2]; ++z)
    for (int y = 1; y <= coarse->n[1]; ++y)
      for (int x = 1; x <= coarse->n[0]; ++x) {
        double sum = 0;
        for (int c = 0; c < 3; ++c)
          for (int b = 0; b < 3; ++b)
            for (int a = 0; a < 3; ++a)
              sum += weight[a] * weight[b] * weight[c] * fine->r[index_of(fine, 2 * x + a - 1, 2 * y + b - 1, 2 * z + c - 1)];
        coarse->f[index_of(coarse, x, y, z)] = sum;
      }
}

// Between coarse points their mean.
static void correct_by(const struct Level* fine, const struct Level* coarse) {
  for (int z = 1; z <= fine->n[2]; ++z)
    for (int y = 1; y <= fine->n[1]; ++y)
      for (int x = 1; x <= fine->n[0]; ++x) {
        double sum = 0;
        for (int corner = 0; corner < 8; ++corner)
          sum += coarse->u[index_of(coarse, (x + (corner & 1)) / 2, (y + (corner >> 1 & 1)) / 2, (z + (corner >> 2)) / 2)];
        fine->u[index_of(fine, x, y, z)] += sum / 8;
      }
  exchange(fine, fine->u);
}

static void cycle(const struct Level* l, int left) {
  if (left == 0) return smooth(l, kCoarsest);
  smooth(l, kSmoothings);
  residual(l);
  exchange(l, l->r);
  restrict_to(l, l + 1);
  memset(l[1].u, 0, points(l + 1) * sizeof(double));
  cycle(l + 1, left - 1);
  correct_by(l, l + 1);
  smooth(l, kSmoothings);
}

static double norm(const struct Level* l, const double* a) {
  double sum = 0;
  for (int z = 1; z <= l->n[2]; ++z)
    for (int y = 1; y <= l->n[1]; ++y)
      for (int x = 1; x <= l->n[0]; ++x) sum += a[index_of(l, x, y, z)] * a[index_of(l, x, y, z)];
  MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return sqrt(sum);
}

int main(int argc, char** argv) {
  static const int sizes[] = {32, 128, 256};
  const int class = kernel_begin(argc, argv, "mg", 64), n = sizes[class];
  int grid[3] = {1, 1, 1}, place[3];
  for (int d = 2; grid[0] * grid[1] * grid[2] < processes; d = (d + 2) % 3) grid[d] *= 2;
  place[0] = rank % grid[0];
  place[1] = rank / grid[0] % grid[1];
  place[2] = rank / grid[0] / grid[1];
  for (int d = 0, step = 1; d < 3; step *= grid[d++])
    for (int up = 0; up < 2; ++up)
      neighbour[d][up] = rank + ((place[d] + (up ? 1 : grid[d] - 1)) % grid[d] - place[d]) * step;
  struct Level levels[kLevels];
  int last = 0;
  for (int l = 0; l < kLevels; ++l) {
    struct Level* level = &levels[l];
    level->spacing = (double)(1 << l) / n;
    for (int d = 0; d < 3; ++d) level->n[d] = (n >> l) / grid[d];
    if (level->n[2] < 2) break; // z has the most processes
    last = l;
    level->u = room(points(level) * sizeof(double));
    level->f = room(points(level) * sizeof(double));
    level->r = room(points(level) * sizeof(double));
  }
  leaving = room((size_t)(n + 2) * (size_t)(n + 2) * sizeof(double));
  coming = room((size_t)(n + 2) * (size_t)(n + 2) * sizeof(double));
  // Ten charges of each sign, as in the NAS benchmark; here at random places.
  uint64_t state = 314159265;
  for (int charge = 0; charge < 20; ++charge) {
    int at[3], inside = 1;
    for (int d = 0; d < 3; ++d) {
      at[d] = (int)(next_random(&state) * n) - place[d] * levels[0].n[d] + 1;
      inside &= at[d] >= 1 && at[d] <= levels[0].n[d];
    }
    if (inside) levels[0].f[index_of(&levels[0], at[0], at[1], at[2])] += charge % 2 == 0 ? 1 : -1;
  }
  const double before = norm(&levels[0], levels[0].f);
  for (int c = 0; c < kCycles; ++c) cycle(&levels[0], last);
  residual(&levels[0]);
  return kernel_end("mg", norm(&levels[0], levels[0].r) / before, 1e-6);
}
