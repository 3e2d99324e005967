// opening_program HOW ACTION...: opens libibverbs for itself alone and asks for its functions, as MVAPICH (dlsym) and NCCL (dlvsym) do.
// HOW `names` says whose functions it gets by all ways of asking; `commands` sends commands to an adapter by libmlx5; `next` asks for
// the next function of a name from a library.
#include "tests/paths/client.hpp"

namespace heddle::tests {
namespace {

void* libibverbs() {
  void* const library = ::dlopen("libibverbs.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    std::printf("%s\n", ::dlerror());
    std::exit(2);
  }
  return library;
}

Verbs ask(const std::string& how) {
  void* const library = libibverbs();
  const auto find = [&](auto& function, const char* name) {
    void* const found = how == "dlsym" ? ::dlsym(library, name) : ::dlvsym(library, name, "IBVERBS_1.1");
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(found);
  };
  Verbs verbs{};
  find(verbs.modify_qp, "ibv_modify_qp");
  find(verbs.create_ah, "ibv_create_ah");
  find(verbs.create_ah_from_wc, "ibv_create_ah_from_wc");
  find(verbs.get_device_list, "ibv_get_device_list");
  find(verbs.open_device, "ibv_open_device");
  find(verbs.alloc_pd, "ibv_alloc_pd");
  find(verbs.create_qp, "ibv_create_qp");
  find(verbs.destroy_qp, "ibv_destroy_qp");
  find(verbs.destroy_ah, "ibv_destroy_ah");
  return verbs;
}

int print_names() {
  void* const library = libibverbs();
  for (const char* name : {"ibv_modify_qp", "ibv_create_ah", "ibv_create_ah_from_wc", "ibv_create_qp", "no_such"})
    std::printf("%s %s %s\n", name, library_of(::dlsym(library, name)).c_str(),
                library_of(::dlvsym(library, name, "IBVERBS_1.1")).c_str());
  std::printf("1.0 %s\n", library_of(::dlvsym(library, "ibv_modify_qp", "IBVERBS_1.0")).c_str());
  std::printf("default %s\n", library_of(::dlsym(RTLD_DEFAULT, "ibv_modify_qp")).c_str());
  return 0;
}

int send_commands() {
  void* const library = ::dlopen("libmlx5.so.1", RTLD_NOW | RTLD_LOCAL);
  using Modify = int (*)(void*, const void*, std::size_t, void*, std::size_t);
  const auto object = reinterpret_cast<Modify>(::dlsym(library, "mlx5dv_devx_obj_modify"));
  const auto queue = reinterpret_cast<Modify>(::dlvsym(library, "mlx5dv_devx_qp_modify", "MLX5_1.8"));
  const unsigned char connect[64] = {0x05, 0x03};
  const unsigned char other[64] = {0x05, 0x04};
  const bool passed_on = object(nullptr, connect, sizeof connect, nullptr, 0) == 17 &&
                         object(nullptr, other, sizeof other, nullptr, 0) == 17 &&
                         queue(nullptr, connect, sizeof connect, nullptr, 0) == 18;
  return passed_on ? 0 : 1;
}

int ask_for_next() {
  void* const library = ::dlopen("libasking.so", RTLD_NOW | RTLD_LOCAL);
  const auto next = reinterpret_cast<int (*)(const char*)>(::dlsym(library, "next_library"));
  std::printf("%d %d\n", next(nullptr), next("NONE_1"));
  return 0;
}

} // namespace
} // namespace heddle::tests

int main(int argc, char** argv) {
  using namespace heddle::tests;
  const std::string how = argc > 1 ? argv[1] : "";
  if (how == "names") return print_names();
  if (how == "commands") return send_commands();
  if (how == "next") return ask_for_next();
  return act_all(ask(how), argv + 2, argv + argc);
}
