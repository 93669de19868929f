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

/* Array of the arguments, whose texts live as long as the process; NULL with an exception set. */
static char **take_arguments(PyObject *list, size_t n)
{
    char **const argv = calloc(n + 1, sizeof *argv);

    if (!argv)
        return (char **)PyErr_NoMemory();
    for (size_t i = 0; i < n; i++) {
        PyObject *word = NULL;

        if (!PyUnicode_FSConverter(PyList_GetItem(list, (Py_ssize_t)i), &word)) {
            free(argv);
            return NULL;
        }
        argv[i] = PyBytes_AsString(word);
    }
    return argv;
}

/* command(arguments): runs the command with a list of str and ends the process with its status. The
 * command confines the process, so that there is no way back. */
PyObject *py_command(PyObject *module, PyObject *arguments)
{
    const Py_ssize_t n = PyList_Size(arguments);
    char **const argv = n < 0 ? NULL : take_arguments(arguments, (size_t)n);

    (void)module;
    if (!argv)
        return NULL;
    restore_signals();
    exit(heft_command_main((int)n, argv));
}
