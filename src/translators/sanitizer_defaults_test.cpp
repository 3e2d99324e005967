// Exhausted memory is part of the contract: the sanitizers' allocators must refuse like the system's, not end the test.
extern "C" {
const char* __asan_default_options();
const char* __tsan_default_options();
const char* __asan_default_options() {
  return "allocator_may_return_null=1";
}
const char* __tsan_default_options() {
  return "allocator_may_return_null=1";
}
}
