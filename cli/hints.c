/* hints.c: what the library advises, in the words of the command line. */
#include "hints.h"

#include <stdio.h>
#include <string.h>

static const char mark[] = "; cast '", end[] = "' would do";

/* Where the advice begins, behind the semicolon; NULL: there is none. */
static char *find_advice(struct heft_error *err)
{
    char *const at = strstr(err->text, mark);
    const size_t n = strlen(err->text);

    if (!at || n < sizeof end || strcmp(err->text + n - (sizeof end - 1), end) != 0)
        return NULL;
    return at + 2;
}

void hint_convert(struct heft_error *err)
{
    char *const advice = find_advice(err);
    char rest[sizeof err->text];

    if (!advice)
        return;
    strcpy(rest, advice);
    snprintf(advice, sizeof err->text - (size_t)(advice - err->text), "--%s", rest);
}

void hint_get(struct heft_error *err)
{
    char *const advice = find_advice(err);
    char *const dtype = advice ? strrchr(advice, '=') : NULL;
    char rest[sizeof err->text];

    if (!dtype)
        return;
    dtype[strcspn(dtype, "'")] = '\0';
    strcpy(rest, dtype + 1);
    snprintf(advice, sizeof err->text - (size_t)(advice - err->text), "--cast %s would do", rest);
}
