// CG: conjugate gradients on a sparse symmetric matrix whose blocks lie on a grid of processes. Each step: partial products are summed along a row of processes, pair by
// pair; the result goes to the transposed place; two dot products over all. Verified: systems whose solution is known are solved.
#include "kernel.h"

enum { kOffsets = 20, kSystems = 15, kSteps = 25 };
static const double kDiagonal = 16;  // keeps the eigenvalues within 16 +- 8 or so: 25 steps suffice

struct Matrix {
  int n, rows, columns;            // of processes
  int row, column;                 // this one's place
  int height, width;               // of its block
  int *begin, *at;                 // compressed rows
  double* value;
};

// Symmetric: of the two places alone.
static double entry(int i, int j) {
  uint64_t state = skip_random(271828183, ((uint64_t)(i < j ? i : j) << 20) + (uint64_t)(i < j ? j : i));
  return 2 * next_random(&state) - 1;
}

static struct Matrix make_matrix(int n) {
  struct Matrix m = {.n = n, .rows = 1, .columns = 1};
  while (m.rows * m.columns < processes) {
    if (m.columns == m.rows)
      m.columns *= 2;
    else
      m.rows *= 2;
  }
  m.row = rank / m.columns;
  m.column = rank % m.columns;
  m.height = n / m.rows;
  m.width = n / m.columns;
  int offsets[kOffsets];
  uint64_t state = 314159265;
  for (int k = 0; k < kOffsets; ++k) offsets[k] = 1 + k * (n / 2 / kOffsets) + (int)(next_random(&state) * (n / 2 / kOffsets - 1));
  m.begin = room((size_t)(m.height + 1) * sizeof(int));
  m.at = room((size_t)m.height * (2 * kOffsets + 1) * sizeof(int));
  m.value = room((size_t)m.height * (2 * kOffsets + 1) * sizeof(double));
  int count = 0;
  for (int r = 0; r < m.height; ++r) {
    const int i = m.row * m.height + r;
    for (int k = -kOffsets; k <= kOffsets; ++k) {
      const int j = k == 0 ? i : k > 0 ? (i + offsets[k - 1]) % n : (i + n - offsets[-k - 1]) % n;
      if (j / m.width != m.column) continue;
      m.at[count] = j % m.width;
      m.value[count++] = k == 0 ? kDiagonal : entry(i, j);
    }
    m.begin[r + 1] = count;
  }
  return m;
}

// w = A p. Both lie as the columns do: block `column` of the vector in every process of that column.
static void multiply(const struct Matrix* m, const double* p, double* w, double* sums, double* others) {
  for (int r = 0; r < m->height; ++r) {
    double sum = 0;
    for (int k = m->begin[r]; k < m->begin[r + 1]; ++k) sum += m->value[k] * p[m->at[k]];
    sums[r] = sum;
  }
  for (int step = 1; step < m->columns; step *= 2) {
    const int partner = m->row * m->columns + (m->column ^ step);
    MPI_Request request;
    MPI_Irecv(others, m->height, MPI_DOUBLE, partner, 1, MPI_COMM_WORLD, &request);
    MPI_Send(sums, m->height, MPI_DOUBLE, partner, 1, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int r = 0; r < m->height; ++r) sums[r] += others[r];
  }
  // With twice as many columns as rows a column's block is half of a row's: (row, 2 a + half) has that of (a, 2 row + half).
  const int times = m->columns / m->rows, half = m->column % times;
  const int partner = m->column / times * m->columns + m->row * times + half;
  const double* mine = sums + half * m->width;
  if (partner == rank) {
    memcpy(w, mine, (size_t)m->width * sizeof *w);
    return;
  }
  MPI_Request request;
  MPI_Irecv(w, m->width, MPI_DOUBLE, partner, 2, MPI_COMM_WORLD, &request);
  MPI_Send(mine, m->width, MPI_DOUBLE, partner, 2, MPI_COMM_WORLD);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static double dot(const struct Matrix* m, const double* a, const double* b) {
  double sum = 0;
  for (int i = 0; i < m->width; ++i) sum += a[i] * b[i];
  MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return sum / m->rows;  // every block is there once a row
}

int main(int argc, char** argv) {
  static const int sizes[] = {1 << 11, 1 << 14, 1 << 16};
  const int class = kernel_begin(argc, argv, "cg", 64);
  const struct Matrix m = make_matrix(sizes[class]);
  const size_t bytes = (size_t)m.width * sizeof(double), rows = (size_t)m.height * sizeof(double);
  double *known = room(bytes), *x = room(bytes), *p = room(bytes), *q = room(bytes), *r = room(bytes);
  double *sums = room(rows), *others = room(rows);
  double error = 0;
  for (int system = 0; system < kSystems; ++system) {
    for (int i = 0; i < m.width; ++i) known[i] = 1 + (m.column * m.width + i + system) % 7;
    multiply(&m, known, r, sums, others);  // from x = 0 on
    memset(x, 0, bytes);
    memcpy(p, r, bytes);
    double rho = dot(&m, r, r);
    for (int step = 0; step < kSteps && rho > 0; ++step) {
      multiply(&m, p, q, sums, others);
      const double alpha = rho / dot(&m, p, q);
      for (int i = 0; i < m.width; ++i) {
        x[i] += alpha * p[i];
        r[i] -= alpha * q[i];
      }
      const double before = rho;
      rho = dot(&m, r, r);
      for (int i = 0; i < m.width; ++i) p[i] = r[i] + rho / before * p[i];
    }
    for (int i = 0; i < m.width; ++i) error = fmax(error, fabs(x[i] - known[i]));
  }
  return kernel_end("cg", error, 1e-8);
}
