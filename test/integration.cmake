# Tests against the real binary: one ctest entry per file of test/integration.
if(TARGET sluice)
  file(GLOB integration_files CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/integration/test_*.py)
  foreach(path ${integration_files})
    get_filename_component(name ${path} NAME_WE)
    string(REPLACE "test_" "" short ${name})
    add_test(NAME "integration: ${short}" COMMAND python3 -m unittest -v ${name}
             WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}/integration)
    # They measure times: two of them must not share two processors.
    set_tests_properties("integration: ${short}" PROPERTIES
      ENVIRONMENT "SLUICE_BINARY=$<TARGET_FILE:sluice>;SLUICE_SANITIZE=${SLUICE_SANITIZE};PYTHONDONTWRITEBYTECODE=1"
      TIMEOUT 300 RESOURCE_LOCK integration LABELS integration)
  endforeach()
endif()
