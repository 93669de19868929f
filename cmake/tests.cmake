# Test programs. None is installed. tests/run finds them in the build directory:
#
#   tests/test_*      unit tests, cmocka programs           (tests/unit, tests/fault)
#   fuzz/replay_*     fuzz target that reads files          (every preset)
#   fuzz/fuzz_*       the same target with libFuzzer        (preset fuzz)
#   fuzz/heft-*-pipe      scan, safetensors behind a pipe   (every preset)
#   faults/heft-faults  the command with failing system calls (tests/tools)
#   heft-conversions  prints the dtypes of each format      (tests/tools)
#   heft-save         saves tensors in memory               (tests/tools)
#   heft-open         opens, reads, verifies, mutates       (tests/tools)
#   heft-planted      the command with a planted fault      (tests/tools)

# Tests use the private headers and, through the static library, hidden symbols.
add_library(heft_inside INTERFACE)
target_include_directories(heft_inside INTERFACE src tests/support)
target_link_libraries(heft_inside INTERFACE heft_static heft_flags)
target_sources(heft_inside INTERFACE $<TARGET_OBJECTS:heft_place_tests>)

add_executable(heft-open tests/tools/open_tool.c tests/tools/judge.c
    tests/tools/mutate.c tests/tools/exercise.c tests/tools/print_rows.c)
target_link_libraries(heft-open PRIVATE heft_inside)

add_executable(heft-conversions tests/tools/conversions.c)
target_link_libraries(heft-conversions PRIVATE heft_static heft_flags)

add_executable(heft-save tests/tools/save_tool.c)
target_link_libraries(heft-save PRIVATE heft_static heft_flags)

if(HEFT_STATIC)
    return() # the libraries of the unit tests are not there for musl
endif()

pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka)
pkg_check_modules(SNAPPY REQUIRED IMPORTED_TARGET snappy)
pkg_check_modules(ZLIB IMPORTED_TARGET zlib) # a peer of fuzz_inflate_zlib
pkg_check_modules(NETTLE REQUIRED IMPORTED_TARGET nettle) # test_hasher: the module is there

# Helpers that several test programs share: failing system calls, temporary directories.
file(GLOB support_sources CONFIGURE_DEPENDS tests/support/*.c)
add_library(test_support STATIC ${support_sources})
target_link_libraries(test_support PUBLIC heft_inside PkgConfig::ISAL PkgConfig::ZSTD) # peers of the tests

file(GLOB unit_sources CONFIGURE_DEPENDS tests/unit/test_*.c tests/fault/test_*.c)
foreach(source ${unit_sources})
    get_filename_component(name ${source} NAME_WE)
    add_executable(${name} ${source})
    target_link_libraries(${name} PRIVATE test_support PkgConfig::CMOCKA Threads::Threads m)
    target_compile_definitions(${name} PRIVATE HEFT_TESTS="${PROJECT_SOURCE_DIR}/tests"
        HEFT_HAS_HDF5=$<TARGET_EXISTS:heft_hdf5>)
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY tests)
endforeach()
target_link_libraries(test_sstable PRIVATE PkgConfig::SNAPPY) # it compresses blocks

# The format of the tutorial in HACKING.md.
add_executable(test_toy examples/format_tutorial/toy.c examples/format_tutorial/test_toy.c)
target_link_libraries(test_toy PRIVATE heft_inside PkgConfig::CMOCKA Threads::Threads m)
set_target_properties(test_toy PROPERTIES RUNTIME_OUTPUT_DIRECTORY tests)

# The command with a fault in it, and a module of HDF5 that is not confined: tests/fault/confined.
add_executable(heft-planted tests/tools/planted.c $<TARGET_OBJECTS:heft_cli>)
target_link_libraries(heft-planted PRIVATE heft_inside)
if(TARGET heft_hdf5)
    add_library(hdf5_unconfined MODULE ${hdf5_sources} tests/tools/hdf5_unconfined.c)
    target_include_directories(hdf5_unconfined PRIVATE src include)
    target_compile_definitions(hdf5_unconfined PRIVATE H5_USE_110_API)
    target_link_libraries(hdf5_unconfined PRIVATE heft_flags PkgConfig::HDF5 Threads::Threads)
    target_link_options(hdf5_unconfined PRIVATE LINKER:--wrap=hdf5_process_confine)
    set_target_properties(hdf5_unconfined PROPERTIES PREFIX "" OUTPUT_NAME heft_hdf5
        LIBRARY_OUTPUT_DIRECTORY tests/unconfined)
endif()

# The command, and the module for HDF5, with calls that fail on request: tests/fault/faults. The names that are
# wrapped are those of glibc.
check_symbol_exists(__GLIBC__ features.h HEFT_HAS_GLIBC)
if(HEFT_HAS_GLIBC)
    set(wraps malloc calloc realloc aligned_alloc strdup free)
    file(READ tests/tools/fault_calls.h calls)
    string(REGEX MATCHALL "\n    X\\([a-z0-9_]+" calls "${calls}")
    list(TRANSFORM calls REPLACE "\n    X\\(" "")
    list(APPEND wraps ${calls})
    list(TRANSFORM wraps PREPEND LINKER:--wrap=)
    add_executable(heft-faults tests/tools/fault_calls.c tests/tools/fault_server.c
        $<TARGET_OBJECTS:heft_cli>)
    target_link_libraries(heft-faults PRIVATE heft_inside)
    target_link_options(heft-faults PRIVATE ${wraps})
    set_target_properties(heft-faults PROPERTIES RUNTIME_OUTPUT_DIRECTORY faults ENABLE_EXPORTS ON
        LINK_DEPENDS ${PROJECT_SOURCE_DIR}/tests/tools/fault_calls.h)
    if(TARGET heft_hdf5)
        add_library(heft_hdf5_faults MODULE ${hdf5_sources})
        target_include_directories(heft_hdf5_faults PRIVATE src include)
        target_compile_definitions(heft_hdf5_faults PRIVATE H5_USE_110_API)
        target_link_libraries(heft_hdf5_faults PRIVATE heft_flags PkgConfig::HDF5 Threads::Threads)
        target_link_options(heft_hdf5_faults PRIVATE ${wraps})
        set_target_properties(heft_hdf5_faults PROPERTIES PREFIX "" OUTPUT_NAME heft_hdf5
            LIBRARY_OUTPUT_DIRECTORY faults)
    endif()
    foreach(module heft_snappy heft_nettle)
        if(TARGET ${module})
            add_dependencies(heft-faults ${module})
            add_custom_command(TARGET heft-faults POST_BUILD VERBATIM # a link would lead out of HEFT_MODULES
                COMMAND ${CMAKE_COMMAND} -E copy $<TARGET_FILE:${module}> faults/${module}.so)
        endif()
    endforeach()
endif()

# They read from pipes: fuzz/differential compares their answers with a real CPython, and with the
# safetensors library.
add_executable(heft-judge-pipe fuzz/differential/judge_pipe.c fuzz/differential/answer_pipe.c)
add_executable(heft-safetensors-pipe fuzz/differential/safetensors_pipe.c fuzz/differential/answer_pipe.c)
foreach(program heft-judge-pipe heft-safetensors-pipe)
    target_link_libraries(${program} PRIVATE heft_inside Threads::Threads m)
    set_target_properties(${program} PROPERTIES RUNTIME_OUTPUT_DIRECTORY fuzz)
endforeach()

add_custom_target(fuzz_targets) # exactly the targets of make fuzz

# Mutators are linked only with libFuzzer, but every preset compiles them.
file(GLOB mutator_sources CONFIGURE_DEPENDS fuzz/mutate_*.c)
add_library(fuzz_mutators OBJECT ${mutator_sources})
target_link_libraries(fuzz_mutators PRIVATE heft_inside)

# Fuzz targets need no prototypes: the main function of the driver declares them.
file(GLOB fuzz_sources CONFIGURE_DEPENDS fuzz/fuzz_*.c)
if(NOT ZLIB_FOUND)
    message(STATUS "zlib is missing: fuzz_inflate_zlib is not built")
    list(FILTER fuzz_sources EXCLUDE REGEX inflate_zlib)
endif()
foreach(source ${fuzz_sources})
    get_filename_component(target ${source} NAME_WE)
    string(REGEX REPLACE "^fuzz_" "replay_" replay ${target})
    add_executable(${replay} ${source} fuzz/replay.c)
    set(programs ${replay})
    if(HEFT_FUZZ)
        string(REGEX REPLACE "^fuzz_" "mutate_" mutator ${target}) # fuzz/mutate_x.c, if it exists
        file(GLOB mutator fuzz/${mutator}.c)
        add_executable(${target} ${source} ${mutator})
        target_link_options(${target} PRIVATE -fsanitize=fuzzer)
        add_dependencies(fuzz_targets ${target})
        list(APPEND programs ${target})
    endif()
    foreach(program ${programs})
        target_link_libraries(${program} PRIVATE test_support Threads::Threads m)
        target_compile_options(${program} PRIVATE -Wno-missing-prototypes)
        set_target_properties(${program} PROPERTIES RUNTIME_OUTPUT_DIRECTORY fuzz)
        if(target MATCHES inflate_zlib)
            target_link_libraries(${program} PRIVATE PkgConfig::ZLIB)
        endif()
    endforeach()
endforeach()
