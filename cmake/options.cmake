# Flags and packages that every room shares.
find_package(Threads REQUIRED)
find_package(Boost 1.81 REQUIRED COMPONENTS system)
find_package(PkgConfig REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(ZLIB REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(Protobuf REQUIRED)
pkg_check_modules(SQLITE REQUIRED IMPORTED_TARGET sqlite3)
pkg_check_modules(PCRE2 REQUIRED IMPORTED_TARGET libpcre2-8)
pkg_check_modules(CARES REQUIRED IMPORTED_TARGET libcares)

add_library(sluice_flags INTERFACE)
target_include_directories(sluice_flags INTERFACE ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR}/generated)
target_compile_options(sluice_flags INTERFACE -Wall -Wextra -Wpedantic -Werror -Wno-missing-field-initializers
                       -fno-omit-frame-pointer)
# RapidJSON's iterators compare both ways round under C++20; only clang says so, and at every use.
target_compile_options(sluice_flags INTERFACE $<$<CXX_COMPILER_ID:Clang>:-Wno-ambiguous-reversed-operator>)
target_compile_definitions(sluice_flags INTERFACE
  BOOST_ASIO_NO_DEPRECATED BOOST_ASIO_SEPARATE_COMPILATION BOOST_BEAST_SEPARATE_COMPILATION
  RAPIDJSON_HAS_STDSTRING=1 SLUICE_VERSION="${PROJECT_VERSION}")
if(SLUICE_SANITIZE)
  target_compile_options(sluice_flags INTERFACE -fsanitize=${SLUICE_SANITIZE} -fno-sanitize-recover=all)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    # clang 14 cannot put the mark of this check before the parts that a coroutine is split into.
    target_compile_options(sluice_flags INTERFACE -fno-sanitize=function)
  endif()
  target_link_options(sluice_flags INTERFACE -fsanitize=${SLUICE_SANITIZE})
  target_compile_definitions(sluice_flags INTERFACE SLUICE_SANITIZED=1)
endif()
# The room whose guard a mutation takes out; only what depends on that room is compiled anew.
set(mutation_room_NO_SHARD_LOCK sluice_shm)
set(mutation_room_NO_ROLLBACK sluice_shm)
set(mutation_room_NO_TRIED_FILTER sluice_live)
set(mutation_room_NO_BODY_BOUND sluice_worker)
if(SLUICE_MUTATION AND NOT DEFINED mutation_room_${SLUICE_MUTATION})
  message(FATAL_ERROR "SLUICE_MUTATION: unknown name '${SLUICE_MUTATION}'")
endif()
target_link_libraries(sluice_flags INTERFACE Threads::Threads)

# What another build folder or another clone has compiled counts as well; said here, nobody has to set anything.
find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=time_macros CCACHE_NOHASHDIR=1
      CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} ${CCACHE})
endif()

# Six files of a room are one compilation: two thirds of a file's time go to headers that its neighbours include too.
# Files whose own helpers bear the names of a neighbour's, that give a type of the room a member from an unnamed
# namespace, or that are heavy by themselves stand alone: sluice_room(… ALONE file…). `scripts/build debug` compiles every
# file by itself, so that each is seen to include what it uses.
set(together ON)
if(CMAKE_BUILD_TYPE STREQUAL "Debug" AND NOT SLUICE_SANITIZE)
  set(together OFF)
endif()
option(SLUICE_TOGETHER "compile the files of a room six at a time" ${together})
function(sluice_together name)
  set_target_properties(${name} PROPERTIES UNITY_BUILD ${SLUICE_TOGETHER} UNITY_BUILD_BATCH_SIZE 6)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

# One static library per room: every .cpp under the given folders that is not a test.
function(sluice_room name)
  cmake_parse_arguments(R "" "" "SOURCES;LINKS;ALONE" ${ARGN})
  set(files)
  foreach(dir ${R_SOURCES})
    file(GLOB_RECURSE found CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${dir}/*.cpp)
    list(APPEND files ${found})
  endforeach()
  list(FILTER files EXCLUDE REGEX "_test\\.cpp$")
  if(files)
    add_library(${name} STATIC ${files})
    target_link_libraries(${name} PUBLIC sluice_flags ${R_LINKS})
    sluice_together(${name} ${R_ALONE})
    if(SLUICE_MUTATION AND mutation_room_${SLUICE_MUTATION} STREQUAL name)
      target_compile_definitions(${name} PUBLIC SLUICE_MUTATION_${SLUICE_MUTATION}=1)
    endif()
  else()
    add_library(${name} INTERFACE)
    target_link_libraries(${name} INTERFACE sluice_flags ${R_LINKS})
  endif()
endfunction()
