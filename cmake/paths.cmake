# libheddle-paths.so (src/paths/preload), which programs that do not use Heddle preload. It needs the headers of libibverbs, and when it
# runs nothing but the C library: no C++ library, which a program may have in another version, and no sanitizers, whatever else is built.
find_path(HEDDLE_VERBS_HEADERS infiniband/verbs.h)
find_library(HEDDLE_VERBS ibverbs) # for tests alone
if(NOT HEDDLE_VERBS_HEADERS OR NOT HEDDLE_VERBS)
  message(STATUS "heddle: preloaded paths off: install libibverbs-dev")
  return()
endif()
message(STATUS "heddle: preloaded paths on")
file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/paths/preload/*.cpp)
add_library(heddle_paths_preload MODULE ${sources})
set_target_properties(heddle_paths_preload PROPERTIES OUTPUT_NAME heddle-paths PREFIX lib UNITY_BUILD OFF
                      INTERPROCEDURAL_OPTIMIZATION OFF LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/paths.map)
target_include_directories(heddle_paths_preload PRIVATE ${PROJECT_SOURCE_DIR}/src)
target_include_directories(heddle_paths_preload SYSTEM PRIVATE ${HEDDLE_VERBS_HEADERS})
# -O2 also in debug builds: lookup.cpp needs its jumps.
target_compile_options(heddle_paths_preload PRIVATE -O2 -Wall -Wextra -Wshadow -Wconversion $<$<BOOL:${HEDDLE_WERROR}>:-Werror>
                       -fno-exceptions -fno-rtti -fno-threadsafe-statics -fno-stack-protector)
target_link_options(heddle_paths_preload PRIVATE -nodefaultlibs -Wl,-z,defs -Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/paths.map)
target_link_libraries(heddle_paths_preload PRIVATE -lc -lgcc)
install(TARGETS heddle_paths_preload LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
list(APPEND installed heddle_paths_preload)
