// EP: pairs of normally distributed numbers, as the NAS benchmark defines it. Next to no communication: two sums at the end. Verified with its published sums.
#include "kernel.h"

enum { kRings = 10 };

int main(int argc, char** argv) {
  static const int logarithm[] = {24, 25, 28};
  static const double sums[][2] = {{-3.247834652034740e3, -6.958407078382297e3},
                                   {-2.863319731645753e3, -6.320053679109499e3},
                                   {-4.295875165629892e3, -1.580732573678431e4}};
  const int class = kernel_begin(argc, argv, "ep", 1 << 16);
  const uint64_t pairs = ((uint64_t)1 << logarithm[class]) / (uint64_t)processes;
  uint64_t state = skip_random(271828183, 2 * pairs * (uint64_t)rank);
  double sum[2] = {0, 0};
  double counts[kRings] = {0};
  for (uint64_t i = 0; i < pairs; ++i) {
    const double x = 2 * next_random(&state) - 1, y = 2 * next_random(&state) - 1;
    const double t = x * x + y * y;
    if (t > 1) continue;
    const double factor = sqrt(-2 * log(t) / t);
    const double a = fabs(x * factor), b = fabs(y * factor);
    counts[(int)(a > b ? a : b)] += 1;
    sum[0] += x * factor;
    sum[1] += y * factor;
  }
  MPI_Allreduce(MPI_IN_PLACE, sum, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  MPI_Allreduce(MPI_IN_PLACE, counts, kRings, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  double error = 0;
  for (int i = 0; i < 2; ++i) error = fmax(error, fabs(sum[i] / sums[class][i] - 1));
  return kernel_end("ep", error, 1e-8);
}
