/* spawn: runs a command with its output discarded, and prints its time and peak memory.
 *
 *     spawn COMMAND [ARGUMENT…]          prints "NANOSECONDS PEAK_BYTES"
 *
 * A separate program because on Linux the peak of a process includes the resident memory of its
 * parent at the time of the fork; this one has very little. The time is from spawn to exit. */
#include <fcntl.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

extern char **environ;

static int64_t now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int main(int argc, char **argv)
{
    posix_spawn_file_actions_t actions;
    struct rusage usage;
    int64_t start;
    pid_t pid;
    int status;

    if (argc < 2 || posix_spawn_file_actions_init(&actions) != 0 ||
        posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0) != 0)
        return 125;
    start = now();
    if (posix_spawnp(&pid, argv[1], &actions, NULL, argv + 1, environ) != 0)
        return 127;
    if (waitpid(pid, &status, 0) != pid)
        return 125;
    printf("%" PRId64, now() - start);
    getrusage(RUSAGE_CHILDREN, &usage);
    printf(" %ld\n", usage.ru_maxrss * 1024);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 126;
}
