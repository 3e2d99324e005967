# Fuzz targets: every NAME_fuzz.cpp of the rooms and of tests/fuzz defines heddle::fuzz::NAME (src/base/fuzz_input.hpp).
# All are linked once: into `fuzz` with libFuzzer (HEDDLE_FUZZ), where the name that it is called by chooses the target, and
# into test_across_fuzz, which replays tests/corpus/NAME through them.
get_property(fuzzers GLOBAL PROPERTY HEDDLE_FUZZERS)
file(GLOB across CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/fuzz/*_fuzz.cpp)
file(GLOB shared_by_fuzzers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/fuzz/hostile_*.cpp)
file(GLOB fuzz_kernel CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/fuzz/kernel_*.cpp)
file(GLOB fuzz_tests CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/fuzz/*_test.cpp)
list(REMOVE_ITEM shared_by_fuzzers ${fuzz_tests})
list(REMOVE_ITEM fuzz_kernel ${fuzz_tests})
list(APPEND fuzzers ${across})
set(fuzz_names "")
foreach(fuzzer IN LISTS fuzzers)
  get_filename_component(name ${fuzzer} NAME)
  string(REPLACE "_fuzz.cpp" "" name ${name})
  list(APPEND fuzz_names ${name})
endforeach()
list(SORT fuzz_names)
list(APPEND fuzzers ${shared_by_fuzzers})
set(declarations "")
set(rows "")
foreach(name IN LISTS fuzz_names)
  string(APPEND declarations "void ${name}(Input&);\n")
  string(APPEND rows "    {\"${name}\", ${name}},\n")
endforeach()
set(fuzz_table ${PROJECT_BINARY_DIR}/fuzz_targets.cpp)
file(CONFIGURE OUTPUT ${fuzz_table} CONTENT [[
#include "base/fuzz_input.hpp"
namespace heddle::fuzz {
@declarations@
std::span<const NamedTarget> targets() {
  static constexpr NamedTarget kTargets[] = {
@rows@  };
  return kTargets;
}
} // namespace heddle::fuzz
]] @ONLY)
list(TRANSFORM HEDDLE_ROOMS PREPEND heddle_ OUTPUT_VARIABLE fuzz_rooms)
list(REVERSE fuzz_rooms)

# heddle_fuzz_targets: as the rooms where they are fuzzed, otherwise as tests.
if(HEDDLE_FUZZ OR HEDDLE_TESTS)
  add_library(heddle_fuzz_targets STATIC EXCLUDE_FROM_ALL ${fuzz_table} ${fuzzers})
  target_include_directories(heddle_fuzz_targets PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(heddle_fuzz_targets PUBLIC ${fuzz_rooms})
endif()
if(HEDDLE_FUZZ)
  target_link_libraries(heddle_fuzz_targets PRIVATE heddle_flags)
  heddle_as_room(heddle_fuzz_targets)
  # Its sockets are its own (tests/fuzz/own_network.cpp): references to these lead there.
  set(own_calls socket bind listen connect accept4 getsockname getpeername getsockopt setsockopt sendmsg send readv recv read close
      epoll_create1 epoll_ctl epoll_wait timerfd_create timerfd_settime getrandom _ZNSt6chrono3_V212steady_clock3nowEv)
  list(TRANSFORM own_calls PREPEND "LINKER:--wrap=")
  add_executable(fuzz ${PROJECT_SOURCE_DIR}/tests/fuzz/libfuzzer.cpp ${PROJECT_SOURCE_DIR}/tests/fuzz/own_network.cpp
                      ${fuzz_kernel})
  target_include_directories(fuzz PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(fuzz PRIVATE heddle_flags heddle_fuzz_targets)
  target_link_options(fuzz PRIVATE -fsanitize=fuzzer ${own_calls})
  set(links "")
  foreach(name IN LISTS fuzz_names)
    list(APPEND links COMMAND ${CMAKE_COMMAND} -E create_symlink ../bin/fuzz ${PROJECT_BINARY_DIR}/fuzz/${name})
  endforeach()
  add_custom_command(TARGET fuzz POST_BUILD COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/fuzz ${links}
                     VERBATIM)
elseif(HEDDLE_TESTS)
  heddle_as_test(heddle_fuzz_targets)
endif()
if(HEDDLE_TESTS)
  heddle_test_binary(test_across_fuzz SOURCES ${fuzz_tests} ${fuzz_kernel}
                                              ${PROJECT_SOURCE_DIR}/tests/fuzz/network_of_system.cpp LINKS heddle_fuzz_targets)
  target_include_directories(test_across_fuzz PRIVATE ${PROJECT_SOURCE_DIR})
  target_compile_definitions(test_across_fuzz PRIVATE HEDDLE_CORPUS="${PROJECT_SOURCE_DIR}/tests/corpus")
endif()
