/* open_tool.c: heft-open, which prints the result of opening files, for tests/run.
 *
 *     heft-open FILE…                      one line per file, and one per finding or note of verify:
 *         ok TENSORS
 *         STAGE CODE OFFSET TEXT           (STAGE: open, read, verify)
 *         finding OFFSET TEXT
 *         note OFFSET TEXT
 *     heft-open --vocab PATH…              the same for vocabularies (TENSORS: number of ids)
 *     heft-open --digests PATH…            the same for lists of digests (TENSORS: number of digests)
 *     heft-open --rules PATH…              the same for rules files (TENSORS: number of rules); a second line
 *         reverse CODE OFFSET TEXT         if it is read and cannot be turned round
 *     heft-open --rows PATH                one line per tensor (judge.h); status 1 if it cannot be read
 *     heft-open --formats                  names of the formats that heft reads
 *     heft-open --mutate FILE --at PATH    opens damaged copies of FILE, written to PATH
 *         [--open PATH --intact PATH]      opens this path, of the whole checkpoint, instead; the
 *                                          path of the undamaged one
 *         [--stride N] [--seconds S] [--memory MIB]
 *         [--every 1]                      all damages (mutate.c)
 *         [--verbs N --folder PATH]        all verbs on every n-th copy (exercise.h)
 *     heft-open --mutate-scan FILE …       the same with heft_scan
 *     heft-open --mutate-vocab FILE …      the same for vocabularies
 *     heft-open --mutate-ids FILE …        the same for files of ids
 *
 * OFFSET is 0x… or -. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "judge.h"

#include <heft/tokens.h>

#include "rules/rules_program.h"

static void print_offset(uint64_t offset)
{
    if (offset == HEFT_NO_OFFSET)
        fputs(" -", stdout);
    else
        printf(" 0x%" PRIx64, offset);
}

static void print_finding(void *ctx, const struct heft_finding *finding)
{
    (void)ctx;
    fputs(finding->severity == HEFT_FINDING ? "finding" : "note", stdout);
    print_offset(finding->offset);
    printf(" %s\n", finding->text);
}

static void print_judgement(const char *path)
{
    struct judgement judgement;

    judge_file(path, NULL, print_finding, NULL, &judgement);
    if (strcmp(judgement.stage, "ok") == 0) {
        printf("ok %zu\n", judgement.tensors);
        return;
    }
    printf("%s %s", judgement.stage, judge_code_name(judgement.err.code));
    print_offset(judgement.err.offset);
    printf(" %s\n", judgement.err.text);
}

static void print_vocab(const char *path)
{
    struct heft_error err = {0};
    struct heft_vocab *v = heft_vocab_open(path, &err);
    struct heft_encoder *e = v ? heft_encoder_new(v, NULL, &err) : NULL;

    if (e) {
        printf("ok %u\n", (unsigned)heft_vocab_size(v));
    } else {
        printf("open %s", judge_code_name(err.code));
        print_offset(err.offset);
        printf(" %s\n", err.text);
    }
    heft_encoder_free(e);
    heft_vocab_close(v);
}

static void print_list(const char *path)
{
    struct heft_error err = {0};
    struct heft_digest_list *list = heft_digest_list_open(path, NULL, &err);

    if (list) {
        printf("ok %zu\n", heft_digest_list_count(list));
    } else {
        printf("open %s", judge_code_name(err.code));
        print_offset(err.offset);
        printf(" %s\n", err.text);
    }
    heft_digest_list_close(list);
}

static void print_rules(const char *path)
{
    struct heft_error err = {0};
    struct heft_rules *rules = heft_rules_open(&heft_disk, path, &err);
    size_t n = 0;

    if (rules) {
        for (uint32_t i = 0; i < rules->n_stages; i++)
            n += rules->stages[i].n_renames + rules->stages[i].n_mappings;
        printf("ok %zu\n", n);
    }
    if (!rules || !heft_rules_reverse(rules, &err)) {
        printf("%s %s", rules ? "reverse" : "open", judge_code_name(err.code));
        print_offset(err.offset);
        printf(" %s\n", err.text);
    }
    heft_rules_free(rules);
}

/* Limits the memory of the process: if a file makes heft exceed its limits, malloc fails, which the
 * output shows. */
static bool limit_memory(const char *mebibytes)
{
    const rlim_t bytes = (rlim_t)strtoull(mebibytes, NULL, 10) << 20;
    const struct rlimit limit = {bytes, bytes};

    return setrlimit(RLIMIT_AS, &limit) == 0;
}

static bool parse_kind(struct mutate_options *options, const char *name)
{
    static const char *const names[] = {[MUTATE_CHECKPOINT] = "--mutate",
                                        [MUTATE_SCAN] = "--mutate-scan",
                                        [MUTATE_VOCAB] = "--mutate-vocab",
                                        [MUTATE_IDS] = "--mutate-ids"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(name, names[i]) == 0) {
            options->kind = (enum mutate_kind)i;
            return true;
        }
    }
    return false;
}

static bool parse_mutate_option(struct mutate_options *options, const char *name, const char *value)
{
    if (parse_kind(options, name))
        options->source = value;
    else if (strcmp(name, "--at") == 0)
        options->at = value;
    else if (strcmp(name, "--open") == 0)
        options->open = value;
    else if (strcmp(name, "--intact") == 0)
        options->intact = value;
    else if (strcmp(name, "--folder") == 0)
        options->folder = value;
    else if (strcmp(name, "--stride") == 0)
        options->stride = (size_t)strtoull(value, NULL, 10);
    else if (strcmp(name, "--verbs") == 0)
        options->verbs = (size_t)strtoull(value, NULL, 10);
    else if (strcmp(name, "--every") == 0)
        options->every = true;
    else if (strcmp(name, "--seconds") == 0)
        options->seconds = strtod(value, NULL);
    else if (strcmp(name, "--memory") == 0)
        return limit_memory(value);
    else
        return false;
    return true;
}

static int run_mutate(int argc, char **argv)
{
    struct mutate_options options = {.stride = 1, .seconds = 1.0};

    for (int i = 1; i < argc; i += 2) {
        if (i + 1 == argc || !parse_mutate_option(&options, argv[i], argv[i + 1])) {
            fprintf(stderr, "heft-open: bad option %s\n", argv[i]);
            return 2;
        }
    }
    if (!options.source || !options.at || options.stride == 0) {
        fputs("heft-open: --mutate FILE and --at PATH are needed\n", stderr);
        return 2;
    }
    return mutate_file(&options) ? 0 : 1;
}

static void print_formats(void)
{
    struct heft_format_info format = HEFT_INIT(struct heft_format_info);

    for (size_t i = 0; heft_format_at(i, &format); i++)
        if (format.reads)
            puts(format.name);
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--formats") == 0) {
        print_formats();
        return 0;
    }
    if (argc > 1 && strncmp(argv[1], "--mutate", 8) == 0)
        return run_mutate(argc, argv);
    if (argc == 3 && strcmp(argv[1], "--rows") == 0)
        return print_rows(argv[2]) ? 0 : 1;
    if (argc > 1 && strcmp(argv[1], "--vocab") == 0) {
        for (int i = 2; i < argc; i++)
            print_vocab(argv[i]);
        return 0;
    }
    if (argc > 1 && strcmp(argv[1], "--digests") == 0) {
        for (int i = 2; i < argc; i++)
            print_list(argv[i]);
        return 0;
    }
    if (argc > 1 && strcmp(argv[1], "--rules") == 0) {
        for (int i = 2; i < argc; i++)
            print_rules(argv[i]);
        return 0;
    }
    for (int i = 1; i < argc; i++)
        print_judgement(argv[i]);
    return 0;
}
