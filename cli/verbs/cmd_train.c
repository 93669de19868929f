/* cmd_train.c: trains a vocabulary on texts. */
#include "main/options.h"
#include "output/output.h"
#include "output/report.h"

#include <heft/tokens.h>
#include <string.h>

enum { SYMBOLS = 10000 }; /* default of subword-nmt's learn_bpe */

static bool read_options(const struct options *o, struct heft_train_options *how,
                         struct heft_error *err)
{
    const bool is_subword = o->style && !strcmp(o->style, "subword-nmt");
    const uint64_t size = is_subword ? (o->symbols ? o->symbols : SYMBOLS) : o->vocab_size;

    if (!o->output)
        return usage_error(err, "train: no output; give -o %s", is_subword ? "FILE" : "DIR");
    if (!strcmp(o->output, "-"))
        return usage_error(
            err, "train: cannot write a vocabulary to standard output; give -o with a file name");
    if (is_subword && o->vocab_size)
        return usage_error(
            err, "train: --vocab-size does not apply to --style subword-nmt; use --symbols");
    if (!is_subword && o->symbols)
        return usage_error(err, "train: --symbols needs --style subword-nmt; use --vocab-size");
    if (!is_subword && !o->vocab_size)
        return usage_error(err,
                           "train: the size of the vocabulary is missing; give --vocab-size N");
    *how = (struct heft_train_options){
        .size = sizeof(struct heft_train_options),
        .style = is_subword ? HEFT_TRAIN_SUBWORD_NMT : HEFT_TRAIN_BYTES,
        .vocab_size = size > UINT32_MAX ? UINT32_MAX : (uint32_t)size,
        .min_frequency = o->min_frequency,
        .unicode = o->unicode,
        .memory = o->memory,
        .threads = (unsigned)o->threads,
        .overwrite = o->overwrite,
        .no_sync = o->no_sync,
        .pattern = o->split_pattern,
        .jsonl_key = o->jsonl_key,
        .specials = o->specials.items,
        .n_specials = o->specials.n,
    };
    return true;
}

static void print_report(const struct heft_train_report *report, struct out *out)
{
    json_open(out, '{');
    json_member_u64(out, "heft", 1);
    json_member_u64(out, "files", report->files);
    json_member_u64(out, "bytes", report->bytes);
    json_member_u64(out, "words", report->words);
    json_member_u64(out, "different", report->different);
    json_member_u64(out, "merges", report->merges);
    if (report->ids)
        json_member_u64(out, "ids", report->ids);
    json_close(out, '}');
    out_char(out, '\n');
}

int cmd_train(const struct options *options, struct out *out)
{
    struct heft_train_options how = HEFT_INIT(struct heft_train_options);
    struct heft_train_report report = HEFT_INIT(struct heft_train_report);
    struct heft_error err = {0};

    if (!read_options(options, &how, &err) ||
        !heft_train(options->inputs.items, options->inputs.n, options->output, &how, &report, &err))
        return report_error(&err);
    if (options->json)
        print_report(&report, out);
    if (report.looks_like)
        report_note(options, "texts look like %s, and are used as plain text", report.looks_like);
    if (report.ids && report.ids < how.vocab_size)
        report_note(options, "the vocabulary has only %u ids: no other pair occurs often enough",
                    (unsigned)report.ids);
    return EXIT_SOUND;
}
