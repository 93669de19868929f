/* cmd_explain.c: prints a map of the file: every range of bytes and its meaning. */
#include "main/options.h"
#include "output/json_rows.h"
#include "output/output.h"
#include "output/report.h"
#include "output/rows.h"

#include <string.h>

static void explain_json(struct out *out, const struct heft_checkpoint *c,
                         const struct heft_map *map)
{
    json_open(out, '{');
    json_member_u64(out, "heft", 1);
    json_member_text(out, "format", heft_format(c));
    json_files(out, c);
    json_segments(out, map);
    json_close(out, '}');
    out_char(out, '\n');
}

static void explain_line(struct out *out, const struct heft_segment *segment, size_t digits,
                         size_t width)
{
    out_hex(out, segment->offset, digits);
    out_text(out, "  ");
    out_u64_in(out, segment->bytes, width);
    out_text(out, "  ");
    if (!segment->claimed) {
        out_style(out, OUT_BAD);
        out_text(out, "?? ");
    }
    (void)out_name(out, segment->what, strlen(segment->what));
    if (!segment->claimed)
        out_plain(out);
    if (segment->overlaps) {
        out_style(out, OUT_BAD);
        out_text(out, ", overlaps the range before it");
        out_plain(out);
    }
    out_char(out, '\n');
}

static void explain_text(struct out *out, const struct heft_checkpoint *c,
                         const struct heft_map *map)
{
    size_t digits = 1, width = 1, file = SIZE_MAX;
    struct heft_segment segment = HEFT_INIT(struct heft_segment);
    struct heft_file named = HEFT_INIT(struct heft_file);

    for (size_t i = 0; heft_map_at(map, i, &segment); i++) {
        const size_t hex = hex_digits(segment.offset), decimal = u64_digits(segment.bytes);
        digits = hex > digits ? hex : digits;
        width = decimal > width ? decimal : width;
    }
    for (size_t i = 0; heft_map_at(map, i, &segment); i++) {
        if (segment.file != file && heft_file_at(c, segment.file, &named)) {
            (void)out_name(out, named.path, strlen(named.path));
            out_text(out, "  ");
            out_u64(out, named.bytes);
            out_text(out, " bytes\n");
            file = segment.file;
        }
        explain_line(out, &segment, digits, width);
    }
}

/* Refuses options that have no meaning for the map. */
static bool is_map(const struct options *options, struct heft_error *err)
{
    if (options->vocab || options->unicode)
        return usage_error(err, "explain: --vocab and --unicode need --tokens");
    if (options->tag_set)
        return usage_error(err, "explain: --tag-set needs --restore");
    if (!options->state && !options->at && !options->range && !options->record && !options->jsonl)
        return true;
    return usage_error(err, "explain: --state, --at, --range, --record and --jsonl need --trace");
}

static int explain_input(const struct options *options, struct out *out)
{
    struct heft_error err = {0};
    struct heft_checkpoint *const c = open_inputs(options, 0, &err);
    struct heft_map *const map = c ? heft_map_new(c, &err) : NULL;
    const int status = map ? EXIT_SOUND : report_error(&err);

    if (map)
        (options->json ? explain_json : explain_text)(out, c, map);
    heft_map_free(map);
    heft_close(c);
    return status;
}

int cmd_explain(const struct options *options, struct out *out)
{
    struct heft_error err = {0};

    if (options->tokens && (options->inputs.n || options->trace)) {
        usage_error(&err, "explain: --tokens TEXT takes no INPUT");
        return report_error(&err);
    }
    if (options->tokens)
        return cmd_explain_tokens(options, out);
    if (options->inputs.n == 0) {
        usage_error(&err,
                    "explain: no input; usage: heft explain INPUT, or heft explain --tokens TEXT");
        return report_error(&err);
    }
    if (options->trace && options->restore) {
        usage_error(&err, "explain: --trace and --restore cannot be combined");
        return report_error(&err);
    }
    if (options->trace)
        return cmd_trace(options, out);
    if (options->restore)
        return cmd_restore(options, out);
    return is_map(options, &err) ? explain_input(options, out) : report_error(&err);
}
