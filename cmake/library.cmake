# The library that users link: all rooms in one archive, heddle::heddle, with the public headers and a CMake package.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

file(GLOB public_headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/heddle/*.hpp ${PROJECT_SOURCE_DIR}/include/heddle/*.h)
add_library(heddle STATIC)
add_library(heddle::heddle ALIAS heddle)
foreach(room IN LISTS HEDDLE_ROOMS)
  get_target_property(type heddle_${room} TYPE)
  if(type STREQUAL "STATIC_LIBRARY")
    target_sources(heddle PRIVATE $<TARGET_OBJECTS:heddle_${room}>)
  endif()
endforeach()
set_target_properties(heddle PROPERTIES LINKER_LANGUAGE CXX VERIFY_INTERFACE_HEADER_SETS ON
                      INTERPROCEDURAL_OPTIMIZATION ${HEDDLE_IPO})
target_compile_features(heddle PUBLIC cxx_std_23)
target_sources(heddle PUBLIC FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR}/include FILES ${public_headers})
target_link_libraries(heddle PUBLIC Threads::Threads)
if(HEDDLE_SANITIZE)
  target_link_options(heddle INTERFACE $<BUILD_INTERFACE:-fsanitize=${HEDDLE_SANITIZE}>)
endif()

install(TARGETS heddle EXPORT heddle_targets FILE_SET HEADERS)
install(EXPORT heddle_targets NAMESPACE heddle:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/heddle)
configure_package_config_file(cmake/heddle-config.cmake.in ${PROJECT_BINARY_DIR}/heddle-config.cmake
                              INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/heddle)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/heddle-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/heddle-config.cmake ${PROJECT_BINARY_DIR}/heddle-config-version.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/heddle)
