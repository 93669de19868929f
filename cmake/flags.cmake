# What every file of heft is compiled and linked with. Release keeps its assertions: they are cheap,
# and a broken invariant should stop a program that reads hostile files.

set(CMAKE_C_STANDARD 17)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_C_FLAGS_RELEASE "-O2 -g1")
set(CMAKE_C_FLAGS_DEBUG "-O1 -g -fno-omit-frame-pointer")

if(NOT CMAKE_BUILD_TYPE)
    set(CMAKE_BUILD_TYPE Release)
endif()

add_library(heft_flags INTERFACE)
target_compile_definitions(heft_flags INTERFACE
    _POSIX_C_SOURCE=200809L _FILE_OFFSET_BITS=64
    $<$<CONFIG:Release>:_FORTIFY_SOURCE=2>)
target_compile_options(heft_flags INTERFACE
    -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wvla -Wmissing-prototypes -Wstrict-prototypes
    -Wwrite-strings
    $<$<BOOL:${HEFT_WERROR}>:-Werror>
    $<$<CONFIG:Release>:-fstack-protector-strong>)
target_link_options(heft_flags INTERFACE LINKER:--as-needed LINKER:-z,relro,-z,now LINKER:-O1)

if(HEFT_SANITIZE)
    set(sanitize -fsanitize=${HEFT_SANITIZE} -fno-sanitize-recover=all)
    target_compile_options(heft_flags INTERFACE ${sanitize})
    target_link_options(heft_flags INTERFACE ${sanitize})
endif()
