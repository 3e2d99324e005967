# For MPI programs over Heddle, beside libheddle-fi.so: the library that times their calls (tools/mpi_times) and the kernels of `heddle reproduce mpi`
# (tools/kernels), which are compiled by Open MPI's own compiler where there is one.
if(NOT TARGET heddle_provider OR HEDDLE_SANITIZE)
  return() # cmake/provider.cmake says why
endif()
add_library(heddle_mpi_times MODULE ${PROJECT_SOURCE_DIR}/tools/mpi_times/mpi_times.cpp)
set_target_properties(heddle_mpi_times PROPERTIES OUTPUT_NAME heddle-mpi-times PREFIX lib UNITY_BUILD OFF
                      LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib/libfabric
                      CXX_VISIBILITY_PRESET hidden INTERPROCEDURAL_OPTIMIZATION OFF)
target_link_libraries(heddle_mpi_times PRIVATE heddle_flags)
# Nothing but the C library: it is loaded into mpiexec and shells as well.
target_compile_options(heddle_mpi_times PRIVATE -fno-exceptions -fno-rtti -ftls-model=initial-exec)
target_link_options(heddle_mpi_times PRIVATE -Wl,--as-needed -Wl,-z,defs)
install(TARGETS heddle_mpi_times LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/libfabric)
list(APPEND installed heddle_mpi_times)

find_program(HEDDLE_MPICC NAMES mpicc.openmpi mpicc)
if(NOT HEDDLE_MPICC)
  message(STATUS "heddle: kernels of MPI off: install libopenmpi-dev")
  return()
endif()
message(STATUS "heddle: kernels of MPI on")
set(folder ${PROJECT_BINARY_DIR}/libexec/heddle/kernels)
file(MAKE_DIRECTORY ${folder})
set(kernels "")
foreach(name ep is cg mg ft lu)
  add_custom_command(OUTPUT ${folder}/${name}
    COMMAND ${HEDDLE_MPICC} -std=gnu11 -O2 -Wall -Wextra $<$<BOOL:${HEDDLE_WERROR}>:-Werror> ${PROJECT_SOURCE_DIR}/tools/kernels/${name}.c -o ${folder}/${name} -lm
    DEPENDS ${PROJECT_SOURCE_DIR}/tools/kernels/${name}.c ${PROJECT_SOURCE_DIR}/tools/kernels/kernel.h VERBATIM COMMAND_EXPAND_LISTS)
  list(APPEND kernels ${folder}/${name})
endforeach()
add_custom_target(heddle_kernels ALL DEPENDS ${kernels})
install(PROGRAMS ${kernels} DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/heddle/kernels)
list(APPEND installed heddle_kernels)
