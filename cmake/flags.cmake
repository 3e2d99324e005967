# The language, warnings and optimisation that every room is built with.
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
set(CMAKE_CXX_STANDARD 23)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
# -g1: enough for profiles and stack traces, and quick to build. No SLP: members written one by one and read back as one
# vector, or the other way round, stall the processor, which costs more than packing them saves.
set(CMAKE_CXX_FLAGS_RELEASE "-O3 -fno-tree-slp-vectorize -g1 -DNDEBUG")
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O1 -g1")

# What the public headers declare is seen outside of the shared library, nothing else (cmake/exports.map). Neither kind of library lets
# a program put a function of its own in the place of one of Heddle's.
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
add_compile_options(-fno-semantic-interposition)

find_package(Threads REQUIRED)

# Held apart from the rooms so that neither warnings nor sanitizers reach those who link Heddle.
add_library(heddle_flags INTERFACE)
target_compile_options(heddle_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wswitch-enum
                       -Wno-missing-field-initializers) # a designated initialiser names what matters, the rest is its default
if(HEDDLE_WERROR)
  target_compile_options(heddle_flags INTERFACE -Werror)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(heddle_flags INTERFACE -Wno-restrict) # GCC bug 105651: false alarm on "text" + std::string
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  target_compile_options(heddle_flags INTERFACE -Wno-deprecated-declarations) # GCC's standard library uses what it deprecates
endif()
if(HEDDLE_SANITIZE)
  target_compile_options(heddle_flags INTERFACE -fsanitize=${HEDDLE_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  if(HEDDLE_SANITIZE MATCHES undefined) # these three double the time to build; a null pointer ends the program anyway
    target_compile_options(heddle_flags INTERFACE -fno-sanitize=null,object-size,vptr)
  endif()
  target_link_options(heddle_flags INTERFACE -fsanitize=${HEDDLE_SANITIZE})
  message(STATUS "heddle: sanitizers on: ${HEDDLE_SANITIZE}; no shared library")
  set(HEDDLE_SHARED OFF)
endif()

find_program(HEDDLE_CCACHE ccache)
if(HEDDLE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${HEDDLE_CCACHE})
  message(STATUS "heddle: ccache on")
elseif(NOT HEDDLE_CCACHE)
  message(STATUS "heddle: ccache off: not found")
endif()

# Fat objects: the program and the benchmarks are optimised across the hot rooms (cmake/room.cmake), while tests and users link the
# same objects the quick way. Across all rooms linking takes almost three times as long, and only simulations gain, 2 %.
set(HEDDLE_IPO OFF)
if(NOT CMAKE_BUILD_TYPE STREQUAL "Release" OR HEDDLE_SANITIZE OR HEDDLE_FUZZ)
  message(STATUS "heddle: interprocedural optimisation off: only in the release build without sanitizers")
elseif(NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  message(STATUS "heddle: interprocedural optimisation off: only with g++, whose objects also hold ordinary code")
else()
  include(CheckIPOSupported)
  check_ipo_supported(RESULT HEDDLE_IPO OUTPUT HEDDLE_IPO_REFUSAL LANGUAGES CXX)
  if(HEDDLE_IPO)
    set(CMAKE_CXX_COMPILE_OPTIONS_IPO -flto=auto -ffat-lto-objects)
    message(STATUS "heddle: interprocedural optimisation on")
  else()
    message(STATUS "heddle: interprocedural optimisation off: ${HEDDLE_IPO_REFUSAL}")
  endif()
endif()
