// linked_program ACTION...: linked against libibverbs, as libuct_ib.so and libfabric are. Without an action it says whose function it got.
#include "tests/paths/client.hpp"

int main(int argc, char** argv) {
  if (argc == 1) {
    std::printf("%s\n", heddle::tests::library_of(reinterpret_cast<void*>(&ibv_modify_qp)).c_str());
    return 0;
  }
  return heddle::tests::act_all({.modify_qp = &ibv_modify_qp,
                                 .create_ah = &ibv_create_ah,
                                 .create_ah_from_wc = &ibv_create_ah_from_wc,
                                 .get_device_list = &ibv_get_device_list,
                                 .open_device = &ibv_open_device,
                                 .alloc_pd = &ibv_alloc_pd,
                                 .create_qp = &ibv_create_qp,
                                 .destroy_qp = &ibv_destroy_qp,
                                 .destroy_ah = &ibv_destroy_ah},
                                argv + 1, argv + argc);
}
