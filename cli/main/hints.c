/* hints.c: rewrites the library's advice in terms of the command's options. */
#include "main/hints.h"

#include <stdio.h>
#include <string.h>

static const char mark[] = "; cast '", end[] = "' would do";

/* Start of the advice, after the semicolon; NULL if the error has none. */
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

static const struct {
    const char *said, *meant;
} phrases[] = {
    {"option allow_empty", "--allow-empty"},
    {"option combine", "--combine"},
    {"option drop_metadata", "--drop-metadata"},
    {"option encoding", "--encoding"},
    {"option eot", "--eot"},
    {"option eot_before", "--eot-before"},
    {"option eot_each", "--eot-each"},
    {"option eot_token", "--eot-token"},
    {"option format", "--format"},
    {"option into", "--into MODELDIR"},
    {"option jsonl_key", "--jsonl"},
    {"option keep_missing", "--keep-missing"},
    {"option names", "--names"},
    {"option object_names", "--names objects"},
    {"option overwrite", "-f"},
    {"option pattern", "--pattern"},
    {"option resume", "--resume"},
    {"option root", "--root"},
    {"option salvage", "--salvage"},
    {"option shard_tokens", "--shard-tokens"},
    {"option skip", "--errors skip"},
    {"option step", "--step"},
    {"option to", "--to"},
    {"option val_fraction", "--val-fraction"},
    {"option width", "--dtype"},
    {"limits.unpacked", "--max-unpacked"},
    {"the rule '!NAME'", "-g '!NAME'"},
};

/* Index of the phrase that `text` begins with, as whole words; past the last one if there is
 * none. */
static size_t find_phrase(const char *text)
{
    const size_t count = sizeof phrases / sizeof *phrases;
    size_t i = 0;

    for (; i < count; i++) {
        const size_t n = strlen(phrases[i].said);

        if (strncmp(text, phrases[i].said, n) == 0 && text[n] != '_' &&
            !(text[n] >= 'a' && text[n] <= 'z'))
            break;
    }
    return i;
}

void hint_options(char *out, size_t room, const char *text)
{
    size_t n = 0;

    while (*text && n + 1 < room) {
        const size_t i = find_phrase(text);

        if (i == sizeof phrases / sizeof *phrases) {
            out[n++] = *text++;
            continue;
        }
        text += strlen(phrases[i].said);
        n += (size_t)snprintf(out + n, room - n, "%s", phrases[i].meant);
    }
    out[n < room ? n : room - 1] = '\0';
}
