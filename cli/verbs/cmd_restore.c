/* cmd_restore.c: explain --restore: prints what loading a SavedModel does with its checkpoint.
 *
 *      6  RestoreV2  save/RestoreV2 reads 1 name
 *                      0  "a"  F32
 *      7  Assign     a ← "a"  by save/Assign
 *                      variables/variables.data-00000-of-00001  0x0  4 bytes  F32 []  … = 0.5
 *
 * Names come from the file and are escaped here. */
#include "main/options.h"
#include "output/output.h"
#include "output/report.h"
#include "output/rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KIND_WIDTH = 17, INDENT = 2 };

struct restoring {
    const struct options *options;
    struct out *out;
    struct heft_checkpoint *c;
    struct heft_restore *r;
    size_t digits;
    uint64_t number;          /* number of the step */
    struct heft_error failed; /* of the system, when the value of a scalar was read */
};

static const char *const kinds[] = {
    [HEFT_RESTORE_METAGRAPH] = "metagraph", [HEFT_RESTORE_ASSET] = "asset",
    [HEFT_RESTORE_FEED] = "feed",           [HEFT_RESTORE_RUN] = "run",
    [HEFT_RESTORE_CALL] = "call",           [HEFT_RESTORE_READ] = "read",
    [HEFT_RESTORE_NAME] = "name",           [HEFT_RESTORE_ASSIGN] = "assign",
    [HEFT_RESTORE_WAIT] = "wait",           [HEFT_RESTORE_INIT] = "init",
};

/* ---- values of scalars --------------------------------------------------------------------- */

static uint64_t load_raw(const unsigned char *bytes, uint64_t n)
{
    uint64_t v = 0;

    for (uint64_t i = n; i > 0; i--)
        v = v << 8 | bytes[i - 1];
    return v;
}

/* Appends ".0" to a floating-point number that looks like an integer. */
static void mark_whole(char *text, size_t room)
{
    const size_t n = strlen(text);

    if (text[strcspn(text, ".einf")] == '\0' && n + 3 <= room)
        memcpy(text + n, ".0", sizeof ".0");
}

/* Prints the shortest digits that read back as the same float. */
static void put_float(char *text, size_t room, float value)
{
    for (int digits = 1; digits <= 9; digits++) {
        snprintf(text, room, "%.*g", digits, (double)value);
        if (strtof(text, NULL) == value)
            break;
    }
    mark_whole(text, room);
}

static void put_double(char *text, size_t room, double value)
{
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, room, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    mark_whole(text, room);
}

/* Prints one number; false if the dtype is not printed (complex, quantized). */
static bool show_value(char *text, size_t room, const struct heft_tensor *t,
                       const unsigned char *bytes)
{
    const uint64_t raw = load_raw(bytes, t->bytes);
    const unsigned spare = 64 - 8 * (unsigned)t->bytes;
    uint32_t bits = (uint32_t)raw;
    float single;
    double wide;

    switch (t->dtype) {
    case HEFT_F32:
    case HEFT_BF16:
        bits = t->dtype == HEFT_BF16 ? bits << 16 : bits;
        memcpy(&single, &bits, sizeof single);
        put_float(text, room, single);
        return true;
    case HEFT_F64:
        memcpy(&wide, &raw, sizeof wide);
        put_double(text, room, wide);
        return true;
    case HEFT_I8:
    case HEFT_I16:
    case HEFT_I32:
    case HEFT_I64:
        snprintf(text, room, "%lld", (long long)(int64_t)(raw << spare) >> spare);
        return true;
    case HEFT_U8:
    case HEFT_U16:
    case HEFT_U32:
    case HEFT_U64:
        snprintf(text, room, "%llu", (unsigned long long)raw);
        return true;
    case HEFT_BOOL:
        snprintf(text, room, "%s", raw ? "true" : "false");
        return true;
    default:
        return false;
    }
}

/* A file that is damaged is not the subject here: verify reports it. */
static void keep_failure(struct restoring *v, const struct heft_error *found)
{
    if (v->failed.code == HEFT_OK && (found->code == HEFT_IO || found->code == HEFT_NOMEM))
        v->failed = *found;
}

/* Prints the value of a tensor with one element, if it can be read. */
static bool scalar_of(struct restoring *v, const struct heft_restore_target *target, char *text,
                      size_t room)
{
    struct heft_error found = {0};
    unsigned char bytes[16];
    struct heft_tensor t = HEFT_INIT(struct heft_tensor);
    uint64_t elements = 1;

    if (!heft_tensor_at(v->c, target->tensor, &t) || t.missing || t.bytes == 0 || t.bytes > 8)
        return false;
    for (unsigned i = 0; i < t.rank; i++)
        elements *= t.shape[i]; /* at most eight bytes: the whole tensor */
    if (elements != 1 || heft_dtype_block_elements(t.dtype) != 1)
        return false;
    if (heft_tensor_read(v->c, target->tensor, bytes, (size_t)t.bytes, &found))
        return show_value(text, room, &t, bytes);
    keep_failure(v, &found);
    return false;
}

/* ---- text ---------------------------------------------------------------------------------- */

static void put_name(struct out *out, const char *name)
{
    (void)out_name(out, name, strlen(name));
}

static void put_quoted(struct out *out, const char *name)
{
    out_char(out, '"');
    put_name(out, name);
    out_char(out, '"');
}

static void put_margin(struct restoring *v)
{
    out_fill(v->out, ' ', v->digits + 2 + KIND_WIDTH + INDENT);
}

static void put_shape(struct out *out, unsigned rank, const uint64_t *shape)
{
    out_char(out, '[');
    for (unsigned i = 0; i < rank; i++) {
        out_text(out, i ? "," : "");
        out_u64(out, shape[i]);
    }
    out_char(out, ']');
}

static void text_piece(struct restoring *v, const struct heft_restore_piece *piece)
{
    struct heft_file file = HEFT_INIT(struct heft_file);

    put_margin(v);
    if (heft_file_at(v->c, piece->file, &file))
        put_name(v->out, file.path);
    out_text(v->out, "  offset ");
    out_hex(v->out, piece->offset, 1);
    out_text(v->out, "  ");
    out_u64(v->out, piece->bytes);
    out_text(v->out, piece->bytes == 1 ? " byte" : " bytes");
    if (piece->has_crc) {
        out_text(v->out, "  CRC-32C ");
        out_hex(v->out, piece->crc, 8);
    } else {
        out_text(v->out, piece->has_sum ? "  has its own checksum" : "  no checksum");
    }
    out_char(v->out, '\n');
}

static void text_tensor(struct restoring *v, const struct heft_restore_target *target)
{
    struct heft_tensor t = HEFT_INIT(struct heft_tensor);
    char value[40];

    put_margin(v);
    if (!heft_tensor_at(v->c, target->tensor, &t)) {
        out_style(v->out, OUT_BAD);
        out_text(v->out, "?? the checkpoint has no such key");
        out_plain(v->out);
        out_char(v->out, '\n');
        return;
    }
    out_text(v->out, heft_dtype_name(t.dtype));
    out_char(v->out, ' ');
    put_shape(v->out, t.rank, t.shape);
    if (t.missing)
        out_text(v->out, "  its file is missing or too short");
    if (scalar_of(v, target, value, sizeof value)) {
        out_text(v->out, " = ");
        out_text(v->out, value);
    }
    out_char(v->out, '\n');
}

static void text_target(struct restoring *v, const struct heft_restore_step *step)
{
    struct heft_restore_target target = HEFT_INIT(struct heft_restore_target);
    struct heft_restore_piece piece = HEFT_INIT(struct heft_restore_piece);

    if (!heft_restore_target_at(v->r, step->target, &target))
        return;
    put_name(v->out, *target.variable ? target.variable : "(no variable)");
    if (*target.role) {
        out_text(v->out, ", its ");
        out_text(v->out, target.role);
    }
    out_text(v->out, " ← ");
    put_quoted(v->out, target.key);
    if (*target.slice) {
        out_text(v->out, " slice ");
        put_quoted(v->out, target.slice);
    }
    out_text(v->out, "  by ");
    put_name(v->out, target.by);
    if (*target.object) {
        out_text(v->out, ", object ");
        put_name(v->out, target.object);
    }
    out_char(v->out, '\n');
    text_tensor(v, &target);
    for (size_t i = 0; heft_restore_piece_at(v->r, step->target, i, &piece); i++)
        text_piece(v, &piece);
}

static void text_step_name(struct restoring *v, const struct heft_restore_step *step)
{
    put_margin(v);
    out_u64(v->out, step->index);
    out_text(v->out, "  ");
    put_quoted(v->out, step->key);
    if (*step->slice) {
        out_text(v->out, " slice ");
        put_quoted(v->out, step->slice);
    }
    if (*step->dtype) {
        out_text(v->out, "  ");
        out_text(v->out, step->dtype);
    }
    if (step->takers == 0)
        out_text(v->out, "  (not used by any op)");
    out_char(v->out, '\n');
}

static void text_step(struct restoring *v, const struct heft_restore_step *step)
{
    const char *const word =
        *step->op && step->kind != HEFT_RESTORE_CALL ? step->op : kinds[step->kind];

    if (step->kind == HEFT_RESTORE_NAME) {
        text_step_name(v, step);
        return;
    }
    out_u64_in(v->out, ++v->number, v->digits);
    out_text(v->out, "  ");
    put_name(v->out, word);
    out_fill(v->out, ' ', strlen(word) < KIND_WIDTH ? KIND_WIDTH - strlen(word) : 1);
    if (step->kind == HEFT_RESTORE_ASSIGN) {
        text_target(v, step);
        return;
    }
    put_name(v->out, step->node);
    out_text(v->out, *step->node && *step->text ? " " : "");
    out_text(v->out, step->text);
    if (step->offset != HEFT_NO_OFFSET) {
        out_text(v->out, "  at ");
        out_hex(v->out, step->offset, 1);
    }
    out_char(v->out, '\n');
}

static void text_head(struct restoring *v)
{
    size_t number, count;
    const char *tag;
    struct heft_file file = HEFT_INIT(struct heft_file);

    heft_restore_metagraph(v->r, &number, &count);
    if (heft_file_at(v->c, 0, &file))
        put_name(v->out, file.path);
    out_text(v->out, "  metagraph ");
    out_u64(v->out, number + 1);
    out_text(v->out, " of ");
    out_u64(v->out, count);
    out_text(v->out, ", tags");
    for (size_t i = 0; (tag = heft_restore_tag(v->r, i)) != NULL; i++) {
        out_text(v->out, i ? "," : " ");
        put_name(v->out, tag);
    }
    out_text(v->out, heft_restore_tag(v->r, 0) ? "\n" : " (none)\n");
}

static void text_finding(struct restoring *v, const struct heft_finding *finding)
{
    const bool bad = finding->severity == HEFT_FINDING;

    out_style(v->out, bad ? OUT_BAD : OUT_DOUBTFUL);
    out_text(v->out, bad ? "finding" : "note");
    out_plain(v->out);
    out_text(v->out, bad ? "  " : "     ");
    put_name(v->out, finding->text);
    out_char(v->out, '\n');
}

static void put_text(struct restoring *v)
{
    struct heft_restore_step step = HEFT_INIT(struct heft_restore_step);
    struct heft_finding finding = HEFT_INIT(struct heft_finding);
    uint64_t steps = 0;

    for (size_t i = 0; heft_restore_step_at(v->r, i, &step); i++)
        steps += step.kind != HEFT_RESTORE_NAME;
    v->digits = u64_digits(steps);
    text_head(v);
    for (size_t i = 0; heft_restore_step_at(v->r, i, &step); i++)
        text_step(v, &step);
    for (size_t i = 0; heft_restore_finding_at(v->r, i, &finding); i++)
        text_finding(v, &finding);
}

/* ---- JSON ---------------------------------------------------------------------------------- */

static void json_step(struct restoring *v, const struct heft_restore_step *step)
{
    struct out *const out = v->out;

    json_line(out);
    json_open(out, '{');
    json_member_text(out, "step", kinds[step->kind]);
    json_member_u64(out, "depth", step->depth);
    if (*step->node)
        json_member_text(out, "node", step->node);
    if (*step->op)
        json_member_text(out, "op", step->op);
    if (*step->function)
        json_member_text(out, "function", step->function);
    if (step->offset != HEFT_NO_OFFSET)
        json_member_u64(out, "offset", step->offset);
    if (*step->text)
        json_member_text(out, "text", step->text);
    if (step->kind == HEFT_RESTORE_NAME) {
        json_member_u64(out, "index", step->index);
        json_member_text(out, "key", step->key);
        json_member_text(out, "slice", step->slice);
        json_member_text(out, "dtype", step->dtype);
        json_member_u64(out, "takers", step->takers);
    }
    if (step->target != SIZE_MAX)
        json_member_u64(out, "variable", step->target);
    json_close(out, '}');
}

static void json_pieces(struct restoring *v, size_t target)
{
    struct out *const out = v->out;
    struct heft_restore_piece piece = HEFT_INIT(struct heft_restore_piece);

    json_key(out, "pieces");
    json_open(out, '[');
    for (size_t i = 0; heft_restore_piece_at(v->r, target, i, &piece); i++) {
        json_open(out, '{');
        json_member_u64(out, "file", piece.file);
        json_member_u64(out, "offset", piece.offset);
        json_member_u64(out, "bytes", piece.bytes);
        json_member_bool(out, "checksum", piece.has_sum);
        if (piece.has_crc)
            json_member_u64(out, "crc32c", piece.crc);
        json_close(out, '}');
    }
    json_close(out, ']');
}

/* Prints the tensor that the checkpoint has under a key. */
static void json_tensor(struct restoring *v, const struct heft_restore_target *target)
{
    struct out *const out = v->out;
    struct heft_tensor t = HEFT_INIT(struct heft_tensor);
    char value[40];

    json_key(out, "tensor");
    if (!heft_tensor_at(v->c, target->tensor, &t)) {
        json_null(out);
        return;
    }
    json_open(out, '{');
    json_member_text(out, "dtype", heft_dtype_name(t.dtype));
    json_key(out, "shape");
    json_open(out, '[');
    for (unsigned i = 0; i < t.rank; i++)
        json_u64(out, t.shape[i]);
    json_close(out, ']');
    json_member_u64(out, "bytes", t.bytes);
    if (t.missing)
        json_member_bool(out, "missing", true);
    if (scalar_of(v, target, value, sizeof value))
        json_member_text(out, "value", value);
    json_close(out, '}');
}

static void json_target(struct restoring *v, size_t index, const struct heft_restore_target *target)
{
    struct out *const out = v->out;

    json_line(out);
    json_open(out, '{');
    json_member_text(out, "variable", target->variable);
    if (*target->role)
        json_member_text(out, "role", target->role);
    json_member_text(out, "node", target->node);
    json_member_text(out, "op", target->op);
    json_member_text(out, "by", target->by);
    if (*target->object)
        json_member_text(out, "object", target->object);
    json_member_text(out, "key", target->key);
    json_member_text(out, "slice", target->slice);
    json_member_text(out, "dtype", target->dtype);
    json_key(out, "shape");
    if (target->has_shape) {
        json_open(out, '[');
        for (unsigned i = 0; i < target->rank; i++)
            json_i64(out, target->shape[i]);
        json_close(out, ']');
    } else {
        json_null(out);
    }
    json_tensor(v, target);
    json_pieces(v, index);
    json_close(out, '}');
}

static void json_findings(struct restoring *v)
{
    struct heft_finding finding = HEFT_INIT(struct heft_finding);

    json_key(v->out, "findings");
    json_open(v->out, '[');
    for (size_t i = 0; heft_restore_finding_at(v->r, i, &finding); i++) {
        json_line(v->out);
        json_open(v->out, '{');
        json_member_text(v->out, "severity", finding.severity == HEFT_FINDING ? "finding" : "note");
        if (finding.offset != HEFT_NO_OFFSET)
            json_member_u64(v->out, "offset", finding.offset);
        json_member_text(v->out, "text", finding.text);
        json_close(v->out, '}');
    }
    json_close(v->out, ']');
}

static void json_head(struct restoring *v)
{
    size_t number, count;
    const char *tag;

    heft_restore_metagraph(v->r, &number, &count);
    json_member_u64(v->out, "heft", 1);
    json_member_text(v->out, "format", heft_format(v->c));
    json_files(v->out, v->c);
    json_member_u64(v->out, "metagraph", number);
    json_key(v->out, "tags");
    json_open(v->out, '[');
    for (size_t i = 0; (tag = heft_restore_tag(v->r, i)) != NULL; i++)
        json_text(v->out, tag, strlen(tag));
    json_close(v->out, ']');
}

static void put_json(struct restoring *v)
{
    struct heft_restore_target target = HEFT_INIT(struct heft_restore_target);
    struct heft_restore_step step = HEFT_INIT(struct heft_restore_step);

    json_open(v->out, '{');
    json_head(v);
    json_key(v->out, "steps");
    json_open(v->out, '[');
    for (size_t i = 0; heft_restore_step_at(v->r, i, &step); i++)
        json_step(v, &step);
    json_close(v->out, ']');
    json_key(v->out, "variables");
    json_open(v->out, '[');
    for (size_t i = 0; heft_restore_target_at(v->r, i, &target); i++)
        json_target(v, i, &target);
    json_close(v->out, ']');
    json_findings(v);
    json_close(v->out, '}');
    out_char(v->out, '\n');
}

int cmd_restore(const struct options *options, struct out *out)
{
    const struct heft_restore_options how = {.size = sizeof how, .tags = options->tag_set};
    struct heft_error err = {0};
    struct restoring v = {.options = options, .out = out};
    int status = EXIT_SOUND;

    v.c = open_inputs(options, 0, &err);
    v.r = v.c ? heft_restore_new(v.c, &how, &err) : NULL;
    if (!v.r)
        status = report_error(&err);
    else
        (options->json ? put_json : put_text)(&v);
    if (v.failed.code != HEFT_OK)
        status = report_error(&v.failed);
    heft_restore_free(v.r);
    heft_close(v.c);
    return status;
}
