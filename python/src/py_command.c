/* py_command.c: the command heft inside the process of Python. */
#include "py_heft.h"

#include <signal.h>
#include <stdlib.h>

/* The main function of cli/main/main.c, which cmake/python.cmake renames. */
int heft_command_main(int argc, char **argv);

/* Python has changed these: Ctrl-C and a closed pipe end the command as they end any other. */
static void restore_signals(void)
{
    struct sigaction old, usual = {.sa_handler = SIG_DFL};

    if (sigaction(SIGINT, NULL, &old) == 0 && old.sa_handler != SIG_IGN)
        sigaction(SIGINT, &usual, NULL);
    sigaction(SIGPIPE, &usual, NULL);
}

/* command(arguments): runs the command with a list of str and ends the process with its status. The
 * command confines the process, so that there is no way back. */
PyObject *py_command(PyObject *module, PyObject *arguments)
{
    const Py_ssize_t n = PyList_Size(arguments);
    PyObject **const words = n < 0 ? NULL : calloc((size_t)n + 1, sizeof *words);
    char **const argv = n < 0 ? NULL : calloc((size_t)n + 1, sizeof *argv);

    (void)module;
    if (n < 0)
        return NULL;
    if (!words || !argv)
        return PyErr_NoMemory();
    for (Py_ssize_t i = 0; i < n; i++) {
        if (!PyUnicode_FSConverter(PyList_GetItem(arguments, i), &words[i]))
            return NULL; /* the caller ends the process */
        argv[i] = PyBytes_AsString(words[i]);
    }
    restore_signals();
    exit(heft_command_main((int)n, argv));
}
