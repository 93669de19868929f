# The Python that the package is built for. Included first of all, so that a Python that is not supported is
# refused before anything is built.

find_package(Python 3.11 REQUIRED COMPONENTS Interpreter)
execute_process(COMMAND ${Python_EXECUTABLE} -c
    "import sysconfig; print(int(bool(sysconfig.get_config_var('Py_GIL_DISABLED'))))"
    OUTPUT_VARIABLE is_free_threaded OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
if(is_free_threaded)
    message(FATAL_ERROR "heft: free-threaded Python is not supported: its extension modules cannot use the "
        "Limited API. Build with the default build of Python 3.11 or later")
endif()
