# The checks of the sources themselves, as tests: run once, in the builds without sanitizers.
if(NOT HEDDLE_CHECKS)
  message(STATUS "heddle: source checks off: HEDDLE_CHECKS is off")
  return()
endif()
foreach(check layers format options docs)
  add_test(NAME check.${check} COMMAND ${PROJECT_SOURCE_DIR}/checks/${check} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
endforeach()
set_tests_properties(check.format PROPERTIES SKIP_RETURN_CODE 77)
add_test(NAME check.headers_compile_alone
         COMMAND ${CMAKE_COMMAND} --build ${PROJECT_BINARY_DIR} --target all_verify_interface_header_sets -j 2)
set_tests_properties(check.headers_compile_alone PROPERTIES TIMEOUT 600 RUN_SERIAL ON)

add_test(NAME check.tally COMMAND ${PROJECT_SOURCE_DIR}/tests/tally/run ${PROJECT_BINARY_DIR}/tally)
