# The extension module of the Python package: heft/_heft.abi3.so, which contains libheft and the command. It
# exports PyInit__heft only, so that it shares no symbol with other extension modules (torch has a zstd, too).

find_package(Python 3.11 REQUIRED COMPONENTS Interpreter Development.Module)

# Modules of heft for HDF5 and snappy are those of an installed libheft; HEFT_MODULES names another directory.
set(HEFT_PYTHON_MODULES /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/heft-${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
    CACHE PATH "Directory of heft's modules that the Python package uses")
cmake_path(NORMAL_PATH HEFT_PYTHON_MODULES)
add_library(heft_place_python OBJECT src/io/module_place.c)
target_include_directories(heft_place_python PRIVATE src include)
target_compile_definitions(heft_place_python PRIVATE HEFT_PLACE_FROM=NULL HEFT_PLACE_TO=""
    HEFT_PLACE_INSTALLED="${HEFT_PYTHON_MODULES}/")
set_target_properties(heft_place_python PROPERTIES POSITION_INDEPENDENT_CODE ON)
target_link_libraries(heft_place_python PRIVATE heft_flags)

# The command's main function becomes a function that the module calls.
set_source_files_properties(cli/main/main.c PROPERTIES COMPILE_OPTIONS -Wno-missing-prototypes
    COMPILE_DEFINITIONS main=heft_command_main)

file(GLOB python_sources CONFIGURE_DEPENDS python/src/*.c)
add_library(heft_python MODULE ${python_sources} $<TARGET_OBJECTS:heft_objects>
    $<TARGET_OBJECTS:heft_place_python> $<TARGET_OBJECTS:heft_cli>)
target_compile_definitions(heft_python PRIVATE Py_LIMITED_API=0x030B0000)
target_include_directories(heft_python PRIVATE include)
target_include_directories(heft_python SYSTEM PRIVATE ${Python_INCLUDE_DIRS})
target_link_libraries(heft_python PRIVATE heft_flags ${dependencies})
target_link_options(heft_python PRIVATE LINKER:--gc-sections
    LINKER:--version-script=${PROJECT_SOURCE_DIR}/python/src/exports.map)
set_target_properties(heft_python PROPERTIES PREFIX "" OUTPUT_NAME _heft SUFFIX .abi3.so
    LINK_DEPENDS ${PROJECT_SOURCE_DIR}/python/src/exports.map)
install(TARGETS heft_python LIBRARY DESTINATION heft COMPONENT python)
