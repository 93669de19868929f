/* hints.c: rewrites the library's advice in terms of the command's options. */
#include "main/hints.h"
#include "main/options.h"

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
    {"option dequantize", "--dequantize"},
    {"option encoding", "--encoding"},
    {"option eot", "--eot"},
    {"option eot_before", "--eot-before"},
    {"option eot_each", "--eot-each"},
    {"option eot_token", "--eot-token"},
    {"option format", "--format"},
    {"option from", "--from"},
    {"option ignore_scales", "--ignore-scales"},
    {"option gptq_zero", "--gptq-zero"},
    {"option jsonl_key", "--jsonl"},
    {"option lengths", "--lengths"},
    {"option max_shard_size", "--max-shard-size"},
    {"option metadata", "--metadata"},
    {"option normalize", "--normalize"},
    {"option overwrite", "-f"},
    {"option part", "--part"},
    {"option pattern", "--pattern"},
    {"option resume", "--resume"},
    {"option root", "--root"},
    {"option salvage", "--salvage"},
    {"option shard_tokens", "--shard-tokens"},
    {"option skip", "--errors skip"},
    {"option special", "--special"},
    {"option stride", "--stride"},
    {"option structure", "--structure"},
    {"option to", "--to"},
    {"option val_fraction", "--val-fraction"},
    {"option width", "--dtype"},
    {"option window", "--window"},
    {"limits.unpacked", "--max-unpacked"},
    {"the rule '!NAME'", "-g '!NAME'"},
};

/* Writes the replacement of the phrase that `text` begins with, as whole words. Returns the length
 * of the phrase; 0 if there is none. */
static size_t put_phrase(char *out, size_t room, const char *text)
{
    for (size_t i = 0; i < sizeof phrases / sizeof *phrases; i++) {
        const size_t n = strlen(phrases[i].said);

        if (strncmp(text, phrases[i].said, n) == 0 && text[n] != '_' &&
            !(text[n] >= 'a' && text[n] <= 'z')) {
            snprintf(out, room, "%s", phrases[i].meant);
            return n;
        }
    }
    return 0;
}

/* The same for "option NAME" of a format: "--NAME". An option of targets is followed by the placeholder
 * of its value if any text is allowed: "--into MODEL". */
static size_t put_format_option(char *out, size_t room, const char *text)
{
    static const char said[] = "option ";
    const size_t begin = sizeof said - 1;
    struct heft_format_option o = HEFT_INIT(struct heft_format_option);
    size_t n;

    if (strncmp(text, said, begin) != 0)
        return 0;
    n = strspn(text + begin, "abcdefghijklmnopqrstuvwxyz-_");
    if (!format_option_find(text + begin, n, HEFT_OPTION_WRITES, &o) &&
        !format_option_find(text + begin, n, HEFT_OPTION_READS, &o))
        return 0;
    if (o.use == HEFT_OPTION_WRITES && o.kind == HEFT_OPTION_TEXT && !o.choices)
        snprintf(out, room, "--%s %s", o.name, o.value);
    else
        snprintf(out, room, "--%s", o.name);
    return begin + n;
}

void hint_options(char *out, size_t room, const char *text)
{
    size_t n = 0;

    while (*text && n + 1 < room) {
        size_t taken = put_phrase(out + n, room - n, text);

        if (taken == 0)
            taken = put_format_option(out + n, room - n, text);
        if (taken == 0) {
            out[n++] = *text++;
            continue;
        }
        text += taken;
        n += strlen(out + n);
    }
    out[n < room ? n : room - 1] = '\0';
}
