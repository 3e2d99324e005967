// libmlx5.so.1 as far as programs send commands to an adapter by it: taken, and done nothing with.
#include <cstddef>

#define SEEN extern "C" [[gnu::visibility("default")]]

SEEN int mlx5dv_devx_obj_modify(void*, const void*, std::size_t, void*, std::size_t);
SEEN int mlx5dv_devx_qp_modify(void*, const void*, std::size_t, void*, std::size_t);

int mlx5dv_devx_obj_modify(void*, const void*, std::size_t, void*, std::size_t) {
  return 17;
}
int mlx5dv_devx_qp_modify(void*, const void*, std::size_t, void*, std::size_t) {
  return 18;
}
