# Flags for compiling and linking every file of heft. Release builds keep assertions: they are cheap, and a
# broken invariant should stop a program that reads untrusted input.

set(CMAKE_C_STANDARD 17)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_C_FLAGS_RELEASE "-O2 -g1")
set(CMAKE_C_FLAGS_DEBUG "-O1 -g -fno-omit-frame-pointer")

if(NOT CMAKE_BUILD_TYPE)
    set(CMAKE_BUILD_TYPE Release)
endif()

# Hardening flags that not every compiler supports.
include(CheckCCompilerFlag)
include(CheckCSourceCompiles)
set(hardening)
foreach(flag -fcf-protection=full -fstack-clash-protection)
    string(MAKE_C_IDENTIFIER "HEFT_HAS${flag}" has)
    check_c_compiler_flag(${flag} ${has})
    if(${has})
        list(APPEND hardening ${flag})
    endif()
endforeach()
check_c_source_compiles("int main(int n, char **p) {
    return (int)__builtin_dynamic_object_size(p, 0) + n; }" HEFT_HAS_FORTIFY_3)
set(fortify $<IF:$<BOOL:${HEFT_HAS_FORTIFY_3}>,3,2>)

add_library(heft_flags INTERFACE)
target_compile_definitions(heft_flags INTERFACE
    _POSIX_C_SOURCE=200809L _FILE_OFFSET_BITS=64)
target_compile_options(heft_flags INTERFACE
    -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wvla -Wmissing-prototypes -Wstrict-prototypes
    -Wwrite-strings
    $<$<BOOL:${HEFT_WERROR}>:-Werror>
    $<$<CONFIG:Release>:-fstack-protector-strong> "$<$<CONFIG:Release>:${hardening}>"
    # Some distributions define another level, in the compiler or in the flags of their packages.
    "$<$<CONFIG:Release>:SHELL:-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=${fortify}>")
# Reproducible builds: the same bytes in any build directory, without local paths.
if(CMAKE_BUILD_TYPE STREQUAL Release)
    target_compile_options(heft_flags INTERFACE
        -ffile-prefix-map=${PROJECT_BINARY_DIR}=build -ffile-prefix-map=${PROJECT_SOURCE_DIR}=.)
endif()
target_link_options(heft_flags INTERFACE LINKER:--as-needed LINKER:-z,relro,-z,now LINKER:-O1)

# 32-bit x86 computes in SSE registers: with the 80 bits of the x87, numbers, their texts and statistics would not
# be those of other processors.
if(CMAKE_SIZEOF_VOID_P EQUAL 4)
    check_c_compiler_flag("-msse2 -mfpmath=sse" HEFT_HAS_FPMATH_SSE)
    if(HEFT_HAS_FPMATH_SSE)
        target_compile_options(heft_flags INTERFACE -msse2 -mfpmath=sse)
    endif()
endif()

if(HEFT_SANITIZE)
    set(sanitize -fsanitize=${HEFT_SANITIZE})
    if(NOT HEFT_RECOVER)
        list(APPEND sanitize -fno-sanitize-recover=all)
    endif()
    if(HEFT_SANITIZE MATCHES integer)
        list(APPEND sanitize -fsanitize-ignorelist=${CMAKE_CURRENT_LIST_DIR}/sanitize_ignore.txt)
    endif()
    target_compile_options(heft_flags INTERFACE ${sanitize})
    target_link_options(heft_flags INTERFACE ${sanitize})
endif()
