// The second of two libraries with a function of this name (asking.cpp).
extern "C" [[gnu::visibility("default")]] int which_library();
int which_library() {
  return 2;
}
