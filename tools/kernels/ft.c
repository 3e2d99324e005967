// FT: a partial differential equation by three-dimensional Fourier transforms, as the NAS benchmark defines it. Each transform is an all-to-all of the whole
// array. Verified with the published checksums of class S and W.
#include "kernel.h"

#include <complex.h>

typedef double complex Number;
enum { kSteps = 6, kSampled = 1024 };

struct Transform {
  int n;
  Number* roots;  // exp(2 pi i k / n)
  Number* line;
};

static struct Transform prepare(int n) {
  struct Transform made = {n, room((size_t)n * sizeof(Number)), room((size_t)n * sizeof(Number))};
  for (int k = 0; k < n; ++k) made.roots[k] = cos(2 * M_PI * k / n) + I * sin(2 * M_PI * k / n);
  return made;
}

// In place, of made->line: bits reversed, then butterflies.
static void transform(const struct Transform* made, int inverse) {
  const int n = made->n;
  Number* x = made->line;
  for (int i = 1, j = 0; i < n; ++i) {
    int bit = n >> 1;
    for (; j & bit; bit >>= 1) j ^= bit;
    j ^= bit;
    if (i < j) {
      const Number kept = x[i];
      x[i] = x[j];
      x[j] = kept;
    }
  }
  for (int length = 2; length <= n; length *= 2)
    for (int start = 0; start < n; start += length)
      for (int k = 0; k < length / 2; ++k) {
        const Number root = made->roots[k * (n / length)];
        const Number u = x[start + k], v = x[start + k + length / 2] * (inverse ? conj(root) : root);
        x[start + k] = u + v;
        x[start + k + length / 2] = u - v;
      }
}

struct Grid {
  int nx, ny, nz, slabs, rows;  // slabs: planes of z here; rows: of y here, once exchanged
  struct Transform x, y, z;
  Number *buffer, *other;
};

// Every line of `a` that begins at each of `count` places `apart`, with elements `stride` apart.
static void lines(const struct Transform* made, Number* a, int count, int apart, int stride, int inverse) {
  for (int c = 0; c < count; ++c) {
    Number* from = a + (size_t)c * (size_t)apart;
    for (int i = 0; i < made->n; ++i) made->line[i] = from[(size_t)i * (size_t)stride];
    transform(made, inverse);
    for (int i = 0; i < made->n; ++i) from[(size_t)i * (size_t)stride] = made->line[i];
  }
}

// Slabs of z, [z][y][x], become slabs of y, [y][z][x], or the other way round: first the own planes in order of the peers, then all to all.
static void exchange(struct Grid* g, const Number* in, Number* out, int to_y) {
  const int outer = to_y ? g->slabs : g->rows, inner = to_y ? g->rows : g->slabs;
  const size_t nx = (size_t)g->nx, block = (size_t)g->slabs * (size_t)g->rows * nx;
  for (int p = 0; p < processes; ++p)
    for (int o = 0; o < outer; ++o)
      for (int i = 0; i < inner; ++i) {
        const Number* from = in + ((size_t)o * (size_t)(inner * processes) + (size_t)(p * inner + i)) * nx;
        memcpy(g->buffer + (size_t)p * block + ((size_t)i * (size_t)outer + (size_t)o) * nx, from, nx * sizeof *from);
      }
  MPI_Alltoall(g->buffer, (int)block * 2, MPI_DOUBLE, g->other, (int)block * 2, MPI_DOUBLE, MPI_COMM_WORLD);
  for (int p = 0; p < processes; ++p)
    for (int i = 0; i < inner; ++i)
      memcpy(out + ((size_t)i * (size_t)(outer * processes) + (size_t)(p * outer)) * nx,
             g->other + (size_t)p * block + (size_t)(i * outer) * nx, (size_t)outer * nx * sizeof *out);
}

static void forward(struct Grid* g, Number* in, Number* out) {
  for (int z = 0; z < g->slabs; ++z) {
    Number* plane = in + (size_t)z * (size_t)(g->ny * g->nx);
    lines(&g->x, plane, g->ny, g->nx, 1, 0);
    lines(&g->y, plane, g->nx, 1, g->nx, 0);
  }
  exchange(g, in, out, 1);
  for (int y = 0; y < g->rows; ++y) lines(&g->z, out + (size_t)y * (size_t)(g->nz * g->nx), g->nx, 1, g->nx, 0);
}

static void backward(struct Grid* g, Number* in, Number* out) {
  for (int y = 0; y < g->rows; ++y) lines(&g->z, in + (size_t)y * (size_t)(g->nz * g->nx), g->nx, 1, g->nx, 1);
  exchange(g, in, out, 0);
  for (int z = 0; z < g->slabs; ++z) {
    Number* plane = out + (size_t)z * (size_t)(g->ny * g->nx);
    lines(&g->y, plane, g->nx, 1, g->nx, 1);
    lines(&g->x, plane, g->ny, g->nx, 1, 1);
  }
}

static double decay(const struct Grid* g, int x, int y, int z) {
  const int kx = x < g->nx / 2 ? x : x - g->nx, ky = y < g->ny / 2 ? y : y - g->ny, kz = z < g->nz / 2 ? z : z - g->nz;
  return exp(-4e-6 * M_PI * M_PI * (kx * kx + ky * ky + kz * kz));
}

static Number checksum(const struct Grid* g, const Number* u) {
  Number sum = 0;
  for (int j = 1; j <= kSampled; ++j) {
    const int z = 5 * j % g->nz - rank * g->slabs;
    if (z >= 0 && z < g->slabs) sum += u[((size_t)z * (size_t)g->ny + (size_t)(3 * j % g->ny)) * (size_t)g->nx + (size_t)(j % g->nx)];
  }
  MPI_Allreduce(MPI_IN_PLACE, &sum, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return sum / ((double)g->nx * g->ny * g->nz);
}

int main(int argc, char** argv) {
  static const int sizes[][3] = {{64, 64, 64}, {128, 128, 32}, {256, 256, 128}};
  static const double published[][kSteps][2] = {
      {{5.546087004964e2, 4.845363331978e2}, {5.546385409189e2, 4.865304269511e2}, {5.546148406171e2, 4.883910722336e2},
       {5.545423607415e2, 4.901273169046e2}, {5.544255039624e2, 4.917475857993e2}, {5.542683411902e2, 4.932597244941e2}},
      {{5.673612178944e2, 5.293246849175e2}, {5.631436885271e2, 5.282149986629e2}, {5.594024089970e2, 5.270996558037e2},
       {5.560698047020e2, 5.260027904925e2}, {5.530898991250e2, 5.249400845633e2}, {5.504159734538e2, 5.239212247086e2}},
      {{5.046735008193e2, 5.114047905510e2}, {5.059412319734e2, 5.098809666433e2}, {5.069376896287e2, 5.098144042213e2},
       {5.077892868474e2, 5.101336130759e2}, {5.085233095391e2, 5.104914655194e2}, {5.091487099959e2, 5.107917842803e2}}};
  const int class = kernel_begin(argc, argv, "ft", 32);
  struct Grid g = {.nx = sizes[class][0], .ny = sizes[class][1], .nz = sizes[class][2]};
  g.slabs = g.nz / processes;
  g.rows = g.ny / processes;
  g.x = prepare(g.nx);
  g.y = prepare(g.ny);
  g.z = prepare(g.nz);
  const size_t own = (size_t)g.nx * (size_t)g.ny * (size_t)g.slabs;
  Number *u = room(own * sizeof *u), *spectrum = room(own * sizeof *u), *work = room(own * sizeof *u);
  g.buffer = room(own * sizeof *u);
  g.other = room(own * sizeof *u);
  uint64_t state = skip_random(314159265, 2 * own * (uint64_t)rank);
  for (size_t i = 0; i < own; ++i) {
    const double re = next_random(&state);
    u[i] = re + I * next_random(&state);
  }
  forward(&g, u, spectrum);
  double error = 0;
  for (int step = 0; step < kSteps; ++step) {
    for (int y = 0; y < g.rows; ++y)
      for (int z = 0; z < g.nz; ++z)
        for (int x = 0; x < g.nx; ++x)
          spectrum[((size_t)y * (size_t)g.nz + (size_t)z) * (size_t)g.nx + (size_t)x] *= decay(&g, x, y + rank * g.rows, z);
    memcpy(work, spectrum, own * sizeof *work);
    backward(&g, work, u);
    const Number sum = checksum(&g, u), expected = published[class][step][0] + I * published[class][step][1];
    error = fmax(error, cabs(sum - expected) / cabs(expected));
  }
  return kernel_end("ft", error, 1e-11);
}
