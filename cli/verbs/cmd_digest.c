/* cmd_digest.c: prints one line per tensor, tied name and blob, or per file: its SHA-256. */
#include "main/options.h"
#include "main/rules.h"
#include "output/dims.h"
#include "output/output.h"
#include "output/progress.h"
#include "output/report.h"
#include "output/rows.h"

struct printer {
    const struct options *options;
    struct out *out;
    const struct heft_checkpoint *c;
    size_t cut; /* bytes of --root and its dot, cut from names */
};

static void put_sha256(struct out *out, const uint8_t sha256[HEFT_DIGEST_BYTES])
{
    static const char digits[] = "0123456789abcdef";
    char text[2 * HEFT_DIGEST_BYTES];

    for (size_t i = 0; i < HEFT_DIGEST_BYTES; i++) {
        text[2 * i] = digits[sha256[i] >> 4];
        text[2 * i + 1] = digits[sha256[i] & 15];
    }
    out_bytes(out, text, sizeof text);
}

/* Whether a character of a name must be escaped: a backslash, and what out_name escapes. */
static bool is_special(const char *name, int32_t code, size_t size)
{
    char shown[8];

    return code == '\\' || name_escape(shown, name, code, size) != size ||
           memcmp(shown, name, size) != 0;
}

static bool has_special(const char *name, size_t n)
{
    size_t size;

    for (; n > 0; name += size, n -= size) {
        const int32_t code = utf8_next(name, n, &size);

        if (is_special(name, code, size))
            return true;
    }
    return false;
}

/* The escapes of sha256sum, and \xHH for each byte of other special characters. */
static void put_escape(struct out *out, const char *name, size_t size)
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < size; i++) {
        const unsigned char byte = (unsigned char)name[i];

        if (byte == '\\' || byte == '\n' || byte == '\r') {
            out_char(out, '\\');
            out_char(out, byte == '\\' ? '\\' : byte == '\n' ? 'n' : 'r');
            continue;
        }
        out_text(out, "\\x");
        out_char(out, digits[byte >> 4]);
        out_char(out, digits[byte & 15]);
    }
}

/* Prints "HEX  NAME"; with a backslash before it if the name has escapes. */
static void put_digest(struct out *out, const uint8_t sha256[HEFT_DIGEST_BYTES], const char *name,
                       size_t n)
{
    const bool escaped = has_special(name, n);
    size_t size;

    if (escaped)
        out_char(out, '\\');
    put_sha256(out, sha256);
    out_text(out, "  ");
    if (!escaped)
        out_bytes(out, name, n);
    for (; escaped && n > 0; name += size, n -= size) {
        const int32_t code = utf8_next(name, n, &size);

        if (is_special(name, code, size))
            put_escape(out, name, size);
        else
            out_bytes(out, name, size);
    }
}

/* The end of a line, and its output on a terminal as soon as it is known. */
static bool end_line(const struct printer *p)
{
    out_char(p->out, '\n');
    if (p->out->terminal)
        out_flush(p->out);
    return !p->out->error;
}

static bool put_line(void *ctx, const struct heft_digest *d)
{
    const struct printer *const p = ctx;
    struct heft_tensor t = HEFT_INIT(struct heft_tensor);

    put_digest(p->out, d->sha256, d->name + p->cut, d->name_len - p->cut);
    out_text(p->out, "  ");
    if (d->kind == HEFT_DIGEST_BLOB) {
        out_text(p->out, "BLOB  [");
        out_u64(p->out, d->bytes);
        out_char(p->out, ']');
    } else if (heft_tensor_at(p->c, d->index, &t)) {
        out_text(p->out, heft_dtype_name(t.dtype));
        out_text(p->out, "  ");
        out_dims(p->out, t.shape, t.rank);
    }
    return end_line(p);
}

static bool put_file(void *ctx, const struct heft_digest *d)
{
    const struct printer *const p = ctx;

    put_digest(p->out, d->sha256, d->name, d->name_len);
    return end_line(p);
}

/* ---- JSON ---------------------------------------------------------------------------------- */

static void json_sha256(struct out *out, const struct heft_digest *d)
{
    json_member_u64(out, "bytes", d->bytes);
    json_key(out, "sha256");
    out_char(out, '"');
    put_sha256(out, d->sha256);
    out_char(out, '"');
    out->separate = true;
    json_close(out, '}');
}

static bool put_json(void *ctx, const struct heft_digest *d)
{
    const struct printer *const p = ctx;
    struct heft_tensor t = HEFT_INIT(struct heft_tensor);
    struct heft_blob blob = HEFT_INIT(struct heft_blob);

    json_line(p->out);
    json_open(p->out, '{');
    json_key(p->out, "name");
    json_text(p->out, d->name + p->cut, d->name_len - p->cut);
    if (d->kind == HEFT_DIGEST_BLOB && heft_blob_at(p->c, d->index, &blob)) {
        json_member_text(p->out, "kind", blob.kind);
    } else if (heft_tensor_at(p->c, d->index, &t)) {
        json_member_text(p->out, "dtype", heft_dtype_name(t.dtype));
        json_dims(p->out, "shape", t.shape, t.rank);
    }
    if (d->kind == HEFT_DIGEST_TIE) {
        const size_t cut = p->cut < t.name_len ? p->cut : 0;

        json_key(p->out, "tied_to");
        json_text(p->out, t.name + cut, t.name_len - cut);
    }
    json_sha256(p->out, d);
    return !p->out->error;
}

static bool put_json_file(void *ctx, const struct heft_digest *d)
{
    const struct printer *const p = ctx;

    json_line(p->out);
    json_open(p->out, '{');
    json_key(p->out, "path");
    json_text(p->out, d->name, d->name_len);
    json_sha256(p->out, d);
    return !p->out->error;
}

/* ---- the verb ------------------------------------------------------------------------------ */

static void print_note(void *ctx, const char *text)
{
    report_note(ctx, "%s", text);
}

static bool print_digests(const struct printer *p, const struct heft_digest_options *how,
                          struct heft_checkpoint *c, struct heft_error *err)
{
    const bool files = p->options->files, json = p->options->json;
    struct printer to = *p;

    return files ? heft_digest_files(c, how, json ? put_json_file : put_file, &to, err)
                 : heft_digest_tensors(c, how, json ? put_json : put_line, &to, err);
}

/* Notes options that have no effect on the digests of files. */
static void note_unused(const struct options *options)
{
    if (options->files && (options->n_rules || options->root || options->all))
        report_note(options, "--files: -g, -e, --root and --all have no effect");
}

static bool digest(const struct options *options, struct out *out, struct heft_checkpoint *c,
                   struct heft_error *err)
{
    const struct printer p = {options, out, c, rows_root_length(options->root)};
    struct rule_report rules = {.options = options};
    struct progress progress;
    const struct heft_digest_options how = {
        .size = sizeof how,
        .root = options->root,
        .rules = options->rules,
        .n_rules = options->n_rules,
        .blobs = options->all,
        .threads = options_threads(options),
        .progress = progress_step,
        .progress_ctx = &progress,
        .note = print_note,
        .note_ctx = (void *)(uintptr_t)options, /* only read */
    };
    bool fine;

    note_unused(options);
    if (!options->files && !rules_count(&rules, options, c, err)) {
        rules_release(&rules);
        return false;
    }
    if (options->json) {
        json_open(out, '{');
        json_member_u64(out, "heft", 1);
        json_member_text(out, "format", heft_format(c));
        json_key(out, options->files ? "files" : "digests");
        json_open(out, '[');
    }
    progress_begin(&progress, options, "digest");
    progress.drawing = progress.drawing && !out->terminal;
    fine = print_digests(&p, &how, c, err);
    progress_end(&progress);
    if (options->json) {
        json_close(out, ']');
        if (!options->files)
            rules_json(out, &rules);
        json_close(out, '}');
        out_char(out, '\n');
    }
    rules_release(&rules);
    return fine;
}

int cmd_digest(const struct options *options, struct out *out)
{
    struct heft_error err = {0};
    struct heft_checkpoint *const c = open_inputs(options, 0, &err);
    const bool fine = c && digest(options, out, c, &err);

    if (fine && !options->files) {
        report_unread(options, c);
        report_lacks(options, c);
        report_left(options, c);
    }
    heft_close(c);
    return fine ? EXIT_SOUND : report_error(&err);
}
