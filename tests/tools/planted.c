/* planted.c: a fault in a parser, for tests/fault/confined. Linked to all objects of the command, it
 * makes heft-planted: the command, whose parser is taken over while it reads an input.
 *
 *     HEFT_PLANTED=read|write|exec|fork|socket|ptrace|kill   what the attacker tries
 *     HEFT_PLANTED_IN=command|child      in the command, or in the process of libhdf5
 *     HEFT_PLANTED_FILE, _PORT, _VICTIM  the file to be read or written, a port of this machine that
 *                                        listens, a process
 *
 * On exit it prints "planted: done", or why it was refused, or "planted: never" to stderr. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io/os.h"

#define NEVER (-1)
/* The command looks at the first 512 bytes of a file before it confines itself; its parsers read
 * other amounts. */
#define PEEK 512

static struct heft_os planted;
static pid_t command;
static volatile int *result; /* shared with the process of libhdf5: 0 or errno */

static int number_of(const char *name)
{
    const char *text = getenv(name);

    return text ? atoi(text) : -1;
}

static int try_read(void)
{
    return open(getenv("HEFT_PLANTED_FILE"), O_RDONLY);
}

static int try_write(void)
{
    return open(getenv("HEFT_PLANTED_FILE"), O_WRONLY | O_CREAT, 0600);
}

/* Success does not return: the file that touch makes shows it. */
static int try_exec(void)
{
    return execl("/usr/bin/touch", "touch", getenv("HEFT_PLANTED_FILE"), (char *)NULL);
}

static int try_fork(void)
{
    const pid_t child = fork();

    if (child == 0)
        _exit(0);
    if (child > 0)
        (void)waitpid(child, NULL, 0);
    return child;
}

static int try_socket(void)
{
    const struct sockaddr_in at = {.sin_family = AF_INET,
                                   .sin_port = htons((uint16_t)number_of("HEFT_PLANTED_PORT")),
                                   .sin_addr = {htonl(INADDR_LOOPBACK)}};
    const int fd = socket(AF_INET, SOCK_STREAM, 0);

    return fd < 0 ? -1 : connect(fd, (const struct sockaddr *)&at, sizeof at);
}

static int try_ptrace(void)
{
    return (int)ptrace(PTRACE_ATTACH, number_of("HEFT_PLANTED_VICTIM"), NULL, NULL);
}

static int try_kill(void)
{
    return kill(number_of("HEFT_PLANTED_VICTIM"), SIGKILL);
}

static int act(const char *what)
{
    static const struct {
        const char *name;
        int (*act)(void);
    } all[] = {{"read", try_read}, {"write", try_write},   {"exec", try_exec},
               {"fork", try_fork}, {"socket", try_socket}, {"ptrace", try_ptrace},
               {"kill", try_kill}};

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(all[i].name, what) == 0)
            return all[i].act() < 0 ? errno : 0;
    return EINVAL;
}

/* The fault: reading a file runs the attacker's code, once. */
static int64_t read_planted(int fd, void *dst, size_t n, uint64_t off)
{
    const bool in_child = strcmp(getenv("HEFT_PLANTED_IN"), "child") == 0;

    if (n != PEEK && *result == NEVER && (getpid() != command) == in_child)
        *result = act(getenv("HEFT_PLANTED"));
    return heft_os_posix.pread(fd, dst, n, off);
}

static void report_result(void)
{
    if (getpid() == command)
        fprintf(stderr, "planted: %s\n",
                *result == NEVER ? "never"
                : *result        ? strerror(*result)
                                 : "done");
}

__attribute__((constructor)) static void plant(void)
{
    void *const page =
        mmap(NULL, sizeof *result, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (!getenv("HEFT_PLANTED") || !getenv("HEFT_PLANTED_IN") || page == MAP_FAILED)
        return;
    result = page;
    *result = NEVER;
    command = getpid();
    planted = heft_os_posix;
    planted.pread = read_planted;
    heft_os = &planted;
    (void)atexit(report_result);
}
