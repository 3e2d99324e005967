// LU: symmetric successive over-relaxation of five coupled unknowns a point. Points are updated in order, so a plane of z can be begun only when the neighbours in the north and
// west have done theirs: a wave that goes through the processes plane by plane, with many small messages, and back. Verified: a known solution is found.
#include "kernel.h"

enum { kUnknowns = 5 };
static const double kCentre = 8, kCoupling = 0.1;  // six neighbours of weight 1: diagonally dominant

struct Part {
  int nx, ny, nz;           // of this process; beside them one layer of others' in x and y, and the boundary in z
  int north, south, west, east;
  double *u, *f;
};

static double* at(const struct Part* p, double* a, int x, int y, int z) {
  return a + (((size_t)z * (size_t)(p->ny + 2) + (size_t)y) * (size_t)(p->nx + 2) + (size_t)x) * kUnknowns;
}

// What the rest of the row of the matrix gives at a point.
static void around(const struct Part* p, int x, int y, int z, double* sum) {
  const double *west = at(p, p->u, x - 1, y, z), *east = at(p, p->u, x + 1, y, z), *north = at(p, p->u, x, y - 1, z);
  const double *south = at(p, p->u, x, y + 1, z), *below = at(p, p->u, x, y, z - 1), *above = at(p, p->u, x, y, z + 1);
  for (int k = 0; k < kUnknowns; ++k) sum[k] = west[k] + east[k] + north[k] + south[k] + below[k] + above[k];
}

// Solves (centre - coupling * ones) v = b: the inverse of a matrix of ones and a diagonal is known.
static void solve_point(const double* b, double* v) {
  double sum = 0;
  for (int k = 0; k < kUnknowns; ++k) sum += b[k];
  const double share = kCoupling * sum / (kCentre - kCoupling * kUnknowns);
  for (int k = 0; k < kUnknowns; ++k) v[k] = (b[k] + share) / kCentre;
}

static void update(const struct Part* p, int x, int y, int z) {
  double b[kUnknowns];
  around(p, x, y, z, b);
  const double* f = at(p, p->f, x, y, z);
  for (int k = 0; k < kUnknowns; ++k) b[k] += f[k];
  solve_point(b, at(p, p->u, x, y, z));
}

// A line of y in plane z, at x, to or from a message.
static void column(const struct Part* p, int x, int z, double* message, int out) {
  for (int y = 1; y <= p->ny; ++y, message += kUnknowns)
    memcpy(out ? message : at(p, p->u, x, y, z), out ? at(p, p->u, x, y, z) : message, kUnknowns * sizeof(double));
}

// One plane's edges, from those who come before in the order, or to those who come after.
static void edges(const struct Part* p, int z, int row_peer, int column_peer, int y, int x, double* line, int out) {
  double* row = at(p, p->u, 1, y, z);
  if (out) {
    MPI_Send(row, p->nx * kUnknowns, MPI_DOUBLE, row_peer, 1, MPI_COMM_WORLD);
    column(p, x, z, line, 1);
    MPI_Send(line, p->ny * kUnknowns, MPI_DOUBLE, column_peer, 2, MPI_COMM_WORLD);
  } else {
    MPI_Recv(row, p->nx * kUnknowns, MPI_DOUBLE, row_peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Recv(line, p->ny * kUnknowns, MPI_DOUBLE, column_peer, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (column_peer != MPI_PROC_NULL) column(p, x, z, line, 0);
  }
}

static void wave_down(const struct Part* p, double* line) {
  for (int z = 1; z <= p->nz; ++z) {
    edges(p, z, p->north, p->west, 0, 0, line, 0);
    for (int y = 1; y <= p->ny; ++y)
      for (int x = 1; x <= p->nx; ++x) update(p, x, y, z);
    edges(p, z, p->south, p->east, p->ny, p->nx, line, 1);
  }
}

static void wave_up(const struct Part* p, double* line) {
  for (int z = p->nz; z >= 1; --z) {
    edges(p, z, p->south, p->east, p->ny + 1, p->nx + 1, line, 0);
    for (int y = p->ny; y >= 1; --y)
      for (int x = p->nx; x >= 1; --x) update(p, x, y, z);
    edges(p, z, p->north, p->west, 1, 1, line, 1);
  }
}

// Whole faces, to one side: what the wave that comes from there finds of the turn before.
static void halo(const struct Part* p, int down, double* out, double* in) {
  const size_t face = (size_t)p->ny * kUnknowns, row = (size_t)p->nx * kUnknowns;
  const int xs = p->nz * p->ny * kUnknowns, ys = p->nz * p->nx * kUnknowns;
  for (int z = 1; z <= p->nz; ++z) column(p, down ? p->nx : 1, z, out + (size_t)(z - 1) * face, 1);
  MPI_Sendrecv(out, xs, MPI_DOUBLE, down ? p->east : p->west, 3, in, xs, MPI_DOUBLE, down ? p->west : p->east, 3, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  if ((down ? p->west : p->east) != MPI_PROC_NULL)
    for (int z = 1; z <= p->nz; ++z) column(p, down ? 0 : p->nx + 1, z, in + (size_t)(z - 1) * face, 0);
  for (int z = 1; z <= p->nz; ++z) memcpy(out + (size_t)(z - 1) * row, at(p, p->u, 1, down ? p->ny : 1, z), row * sizeof(double));
  MPI_Sendrecv(out, ys, MPI_DOUBLE, down ? p->south : p->north, 4, in, ys, MPI_DOUBLE, down ? p->north : p->south, 4, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  if ((down ? p->north : p->south) != MPI_PROC_NULL)
    for (int z = 1; z <= p->nz; ++z) memcpy(at(p, p->u, 1, down ? 0 : p->ny + 1, z), in + (size_t)(z - 1) * row, row * sizeof(double));
}

int main(int argc, char** argv) {
  static const int sizes[] = {16, 64, 96}, turns[] = {60, 20, 30};
  const int class = kernel_begin(argc, argv, "lu", 64), n = sizes[class];
  int columns = 1, rows = 1;
  while (columns * rows < processes) {
    if (columns == rows)
      columns *= 2;
    else
      rows *= 2;
  }
  const int px = rank % columns, py = rank / columns;
  struct Part p = {.nx = n / columns, .ny = n / rows, .nz = n};
  p.west = px > 0 ? rank - 1 : MPI_PROC_NULL;
  p.east = px < columns - 1 ? rank + 1 : MPI_PROC_NULL;
  p.north = py > 0 ? rank - columns : MPI_PROC_NULL;
  p.south = py < rows - 1 ? rank + columns : MPI_PROC_NULL;
  const size_t all = (size_t)(p.nx + 2) * (size_t)(p.ny + 2) * (size_t)(p.nz + 2) * kUnknowns;
  p.u = room(all * sizeof(double));
  p.f = room(all * sizeof(double));
  double* known = room(all * sizeof(double));
  const size_t widest = (size_t)(p.nx > p.ny ? p.nx : p.ny) * (size_t)n * kUnknowns;
  double *out = room(widest * sizeof(double)), *in = room(widest * sizeof(double));
  // The solution is known, and 0 on the boundary of the cube; the right side is the matrix times it.
  for (int z = 0; z <= n + 1; ++z)
    for (int y = 0; y <= p.ny + 1; ++y)
      for (int x = 0; x <= p.nx + 1; ++x)
        for (int k = 0; k < kUnknowns; ++k)
          at(&p, known, x, y, z)[k] = (k + 1) * sin(M_PI * (px * p.nx + x) / (n + 1)) * sin(M_PI * (py * p.ny + y) / (n + 1)) *
                                      sin(M_PI * z / (n + 1));
  double* const own = p.u;
  p.u = known;
  for (int z = 1; z <= n; ++z)
    for (int y = 1; y <= p.ny; ++y)
      for (int x = 1; x <= p.nx; ++x) {
        double sum[kUnknowns], total = 0;
        around(&p, x, y, z, sum);
        const double* here = at(&p, known, x, y, z);
        for (int k = 0; k < kUnknowns; ++k) total += here[k];
        for (int k = 0; k < kUnknowns; ++k) at(&p, p.f, x, y, z)[k] = kCentre * here[k] - kCoupling * total - sum[k];
      }
  p.u = own;
  for (int t = 0; t < turns[class]; ++t) {
    halo(&p, 0, out, in);
    wave_down(&p, out);
    halo(&p, 1, out, in);
    wave_up(&p, out);
  }
  double error = 0;
  for (int z = 1; z <= n; ++z)
    for (int y = 1; y <= p.ny; ++y)
      for (int x = 1; x <= p.nx; ++x)
        for (int k = 0; k < kUnknowns; ++k) error = fmax(error, fabs(at(&p, p.u, x, y, z)[k] - at(&p, known, x, y, z)[k]));
  return kernel_end("lu", error, 1e-6);
}
