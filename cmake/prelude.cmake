# Headers compiled once and shared, since reading them takes longer than most files' own lines:
# heddle_test_prelude for every test binary, heddle_room_prelude for the rooms of the sanitized builds. The release and sanitized
# presets also compile several files of a target as one (a quarter of the time), which is why names without linkage differ within a
# room. The dev preset reads every file of the rooms alone, and so finds a missing #include.
set(HEDDLE_PRELUDE <algorithm> <array> <atomic> <chrono> <cstdint> <cstring> <deque> <functional> <map> <memory> <optional>
                   <ranges> <span> <string> <string_view> <unordered_map> <utility> <vector>)
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/prelude.cpp CONTENT "")

# What is precompiled no longer counts as a system header: GCC 12 has false alarms about std::string in it.
set(HEDDLE_PRELUDE_WARNINGS "")
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(HEDDLE_PRELUDE_WARNINGS -Wno-array-bounds -Wno-stringop-overflow)
endif()

set(HEDDLE_ROOM_OPTIONS "")
if(HEDDLE_FUZZ)
  # Only what is fuzzed counts the paths that are taken; the tests, with the same rooms, do not look at the counts.
  list(APPEND HEDDLE_ROOM_OPTIONS -fsanitize=fuzzer-no-link)
endif()
if(HEDDLE_SANITIZE)
  list(APPEND HEDDLE_ROOM_OPTIONS ${HEDDLE_PRELUDE_WARNINGS})
  add_library(heddle_room_prelude OBJECT EXCLUDE_FROM_ALL ${PROJECT_BINARY_DIR}/prelude.cpp)
  target_link_libraries(heddle_room_prelude PRIVATE heddle_flags)
  target_compile_options(heddle_room_prelude PRIVATE ${HEDDLE_ROOM_OPTIONS})
  target_precompile_headers(heddle_room_prelude PRIVATE ${HEDDLE_PRELUDE})
endif()

# heddle_as_room(TARGET): compiled as the rooms are.
function(heddle_as_room target)
  target_compile_options(${target} PRIVATE ${HEDDLE_ROOM_OPTIONS})
  if(TARGET heddle_room_prelude)
    target_precompile_headers(${target} REUSE_FROM heddle_room_prelude)
  endif()
endfunction()

if(HEDDLE_TESTS)
  # The code under test is optimised, the tests need not be.
  add_library(heddle_test_flags INTERFACE)
  target_compile_options(heddle_test_flags INTERFACE -O0 ${HEDDLE_PRELUDE_WARNINGS})
  target_link_libraries(heddle_test_flags INTERFACE heddle_flags GTest::gtest GTest::gmock)
  add_library(heddle_test_prelude OBJECT EXCLUDE_FROM_ALL ${PROJECT_BINARY_DIR}/prelude.cpp)
  target_link_libraries(heddle_test_prelude PRIVATE heddle_test_flags)
  target_precompile_headers(heddle_test_prelude PRIVATE <gtest/gtest.h> ${HEDDLE_PRELUDE})
  set_target_properties(heddle_test_prelude PROPERTIES POSITION_INDEPENDENT_CODE OFF)
endif()

# heddle_as_test(TARGET): compiled as the tests are.
function(heddle_as_test target)
  target_link_libraries(${target} PRIVATE heddle_test_flags)
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF) # as heddle_test_prelude
  target_precompile_headers(${target} REUSE_FROM heddle_test_prelude)
endfunction()
