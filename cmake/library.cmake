# The library that users link, with the public headers, a CMake package and a pkg-config file: all rooms as heddle::heddle, an
# archive, and as heddle::shared, which has the same code and lets only what include/heddle declares be seen.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(objects "")
foreach(room IN LISTS HEDDLE_ROOMS)
  get_target_property(type heddle_${room} TYPE)
  if(type STREQUAL "STATIC_LIBRARY")
    list(APPEND objects $<TARGET_OBJECTS:heddle_${room}>)
  endif()
endforeach()

# heddle_library(NAME TYPE): one of the two.
function(heddle_library name type)
  add_library(${name} ${type} ${objects})
  set_target_properties(${name} PROPERTIES OUTPUT_NAME heddle LINKER_LANGUAGE CXX)
  target_compile_features(${name} PUBLIC cxx_std_23)
  target_link_libraries(${name} PUBLIC Threads::Threads PRIVATE $<BUILD_INTERFACE:${HEDDLE_SODIUM}> $<INSTALL_INTERFACE:$<LINK_ONLY:sodium>>)
endfunction()

file(GLOB public_headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/heddle/*.hpp ${PROJECT_SOURCE_DIR}/include/heddle/*.h)
heddle_library(heddle STATIC)
add_library(heddle::heddle ALIAS heddle)
target_sources(heddle PUBLIC FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR}/include FILES ${public_headers})
set_target_properties(heddle PROPERTIES VERIFY_INTERFACE_HEADER_SETS ON)
if(HEDDLE_IPO)
  # The ordinary code of the fat objects, so that a program is linked in a moment. Messages lose nothing by it, since their hot path is
  # in headers; without optimisation across rooms fetch-add takes 1.3 times as long, a lock 1.15, simulations 1.02. Debug
  # information would be nine tenths of the rest.
  add_custom_command(TARGET heddle POST_BUILD VERBATIM
    COMMAND ${CMAKE_OBJCOPY} --strip-debug --remove-section=.gnu.lto_* --remove-section=.gnu.debuglto_* $<TARGET_FILE:heddle>)
endif()
if(HEDDLE_SANITIZE)
  target_link_options(heddle INTERFACE $<BUILD_INTERFACE:-fsanitize=${HEDDLE_SANITIZE}>)
endif()
set(installed heddle)

if(HEDDLE_SHARED)
  heddle_library(heddle_shared SHARED)
  add_library(heddle::shared ALIAS heddle_shared)
  target_include_directories(heddle_shared INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                             $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  # Before 1.0 a minor version is a new interface.
  set(interface ${PROJECT_VERSION_MAJOR})
  if(interface EQUAL 0)
    set(interface 0.${PROJECT_VERSION_MINOR})
  endif()
  set(exports ${PROJECT_SOURCE_DIR}/cmake/exports.map)
  set_target_properties(heddle_shared PROPERTIES EXPORT_NAME shared VERSION ${PROJECT_VERSION} SOVERSION ${interface}
                        LINK_DEPENDS ${exports})
  target_link_options(heddle_shared PRIVATE -fno-lto $<$<CONFIG:Release>:LINKER:--strip-debug>
                      LINKER:--version-script,${exports} LINKER:-Bsymbolic-functions LINKER:--no-undefined)
  list(APPEND installed heddle_shared)
endif()

install(TARGETS ${installed} EXPORT heddle_targets FILE_SET HEADERS)
install(EXPORT heddle_targets NAMESPACE heddle:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/heddle)
configure_package_config_file(cmake/heddle-config.cmake.in ${PROJECT_BINARY_DIR}/heddle-config.cmake
                              INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/heddle)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/heddle-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/heddle-config.cmake ${PROJECT_BINARY_DIR}/heddle-config-version.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/heddle)
# Paths from where the file itself stands, so that it holds wherever `cmake --install --prefix` puts it.
file(RELATIVE_PATH HEDDLE_PREFIX_FROM_PC /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" HEDDLE_PREFIX_FROM_PC ${HEDDLE_PREFIX_FROM_PC})
configure_file(cmake/heddle.pc.in ${PROJECT_BINARY_DIR}/heddle.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/heddle.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
