# Toolchain for 32-bit x86 on Debian (scripts/bootstrap 32): the cross compiler, the libraries of the architecture
# i386, and ISA-L as scripts/isal-portable builds it. The programs run on a 64-bit kernel.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR i686)
set(CMAKE_C_COMPILER i686-linux-gnu-gcc)
set(CMAKE_LIBRARY_ARCHITECTURE i386-linux-gnu)
# The modules are looked for where they are built.
set(CMAKE_INSTALL_LIBDIR lib/i386-linux-gnu CACHE PATH "Libraries")
get_filename_component(heft_root ${CMAKE_CURRENT_LIST_DIR} DIRECTORY)
set(ENV{PKG_CONFIG_LIBDIR}
    ${heft_root}/build/isal-i686:/usr/lib/i386-linux-gnu/pkgconfig:/usr/share/pkgconfig)
# The kernel runs the programs as they are: env starts the program that it is given.
set(CMAKE_CROSSCOMPILING_EMULATOR env CACHE STRING "Runs the programs")
