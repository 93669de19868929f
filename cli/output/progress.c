/* progress.c: draws one line on stderr, at most ten times a second. */
#include "output/progress.h"
#include "output/output.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

/* Seconds before the first line, so that short calls draw nothing, and between lines. */
static const double FIRST_AFTER = 0.3, EVERY = 0.1;

/* Set by the signal handler, which has no other way to pass it on. */
static volatile sig_atomic_t stop_wanted;

static void on_signal(int number)
{
    (void)number;
    stop_wanted = 1;
}

bool progress_interrupted(void)
{
    return stop_wanted != 0;
}

double clock_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

double progress_seconds(const struct progress *progress)
{
    return clock_seconds() - progress->began;
}

/* VmHWM of /proc/self/status: the peak of this program alone; 0 if it is not available. */
static uint64_t peak_of_status(void)
{
    FILE *status = fopen("/proc/self/status", "r");
    char line[256];
    uint64_t kib = 0;

    while (status && !kib && fgets(line, sizeof line, status))
        if (strncmp(line, "VmHWM:", 6) == 0)
            kib = strtoull(line + 6, NULL, 10);
    if (status)
        (void)fclose(status);
    return kib * 1024;
}

/* ru_maxrss is only the fallback: it is inherited across exec, so it may be the peak of the parent
 * process. */
uint64_t peak_memory(void)
{
    struct rusage usage;
    const uint64_t peak = peak_of_status();

    if (peak)
        return peak;
    return getrusage(RUSAGE_SELF, &usage) ? 0 : (uint64_t)usage.ru_maxrss * 1024;
}

void progress_catch(void)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {0}, old;

    action.sa_handler = on_signal;
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        if (!sigaction(signals[i], NULL, &old) &&
            old.sa_handler != SIG_IGN) /* stays ignored, as nohup sets it */
            sigaction(signals[i], &action, NULL);
}

void progress_begin(struct progress *progress, const struct options *options, const char *what)
{
    *progress = (struct progress){.what = what, .began = clock_seconds()};
    progress->drawing = !options->quiet && !options->no_progress && isatty(STDERR_FILENO) == 1;
}

static void draw_line(struct progress *progress, double seconds)
{
    char line[160], done[32], total[32], rate[32];
    const double speed = seconds > 0 ? (double)(progress->done - progress->from) / seconds : 0;
    double left;

    format_size(done, sizeof done, progress->done);
    format_size(rate, sizeof rate, (uint64_t)speed);
    if (progress->total == 0) { /* the size of a pipe is unknown */
        snprintf(line, sizeof line, "\r\033[K%s  %s  %s/s", progress->what, done, rate);
    } else {
        left = speed > 0 ? (double)(progress->total - progress->done) / speed : 0;
        snprintf(line, sizeof line, "\r\033[K%s  %s of %s  %.0f%%  %s/s  %u:%02u left",
                 progress->what, done, format_size(total, sizeof total, progress->total),
                 (double)progress->done * 100 / (double)progress->total, rate,
                 (unsigned)(left / 60), (unsigned)left % 60);
    }
    fputs(line, stderr);
    fflush(stderr);
    progress->drawn = true;
}

bool progress_step(void *ctx, uint64_t done, uint64_t total)
{
    struct progress *const progress = ctx;
    double seconds;

    progress->done = done < total || total == 0 ? done : total;
    progress->total = total;
    if (progress->drawing) {
        seconds = progress_seconds(progress);
        if (seconds >= FIRST_AFTER && seconds - progress->drawn_at >= EVERY) {
            draw_line(progress, seconds);
            progress->drawn_at = seconds;
        }
    }
    return !progress_interrupted();
}

bool progress_step_on(void *ctx, uint64_t done, uint64_t total)
{
    struct progress *const progress = ctx;

    if (!progress->has_from)
        progress->from = done < total || total == 0 ? done : total;
    progress->has_from = true;
    return progress_step(progress, done, total);
}

void progress_end(struct progress *progress)
{
    if (progress->drawn)
        fputs("\r\033[K", stderr);
    progress->drawn = false;
}
