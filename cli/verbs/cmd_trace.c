/* cmd_trace.c: explain --trace: prints a pickle opcode by opcode, and where the bytes of its
 * tensors are.
 *
 *     position  byte      opcode      argument, raw and decoded   what it did
 *            5  58 'X'    BINUNICODE  15 00 00 00 → 21            push "tok_embeddings.weight"
 *                                                      memo[1] …  the state, if requested
 *
 * The library escapes its texts for a terminal; names of files and records are escaped here.
 */
#include "main/options.h"
#include "output/output.h"
#include "output/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    NAME_WIDTH = 16,     /* width of SHORT_BINUNICODE */
    ARGUMENT_WIDTH = 25, /* width of "00 00 D0 07 → 131072000" */
    PART_WIDTH = 14      /* width of "metastack[10]" */
};

enum style { TRACE_TEXT, TRACE_JSON, TRACE_LINES };

struct trace {
    const struct options *options;
    struct heft_trace_options how;
    struct out *out;
    enum style style;
    size_t digits;          /* digits of a position */
    const char *array;      /* JSON: name of the open array; NULL if none */
    bool in_step, in_state; /* JSON: which containers are open */
    bool has_tensors;
    enum heft_trace_part part; /* text: part of the last entry */
    uint64_t level;            /* text: its level */
};

/* Stops if the reader has closed the pipe. */
static bool go_on(const struct trace *t)
{
    return t->out->error == 0;
}

/* ---- text -------------------------------------------------------------------------------- */

static void put_padded(struct out *out, const char *text, size_t columns, size_t width)
{
    out_text(out, text);
    out_fill(out, ' ', columns < width ? width - columns : 0);
}

/* Prints the raw argument and its value; the bytes of a text appear in the effect instead. */
static size_t put_argument(struct out *out, const struct heft_trace_step *step)
{
    static const char digits[] = "0123456789ABCDEF";
    const size_t raw = step->form == HEFT_TRACE_NUMBER ? step->argument_bytes : step->prefix;
    size_t width = raw ? 3 * raw - 1 : 0;

    if (step->form == HEFT_TRACE_LINES) {
        out_bytes(out, step->value, step->value_len);
        return name_width(step->value, step->value_len);
    }
    for (size_t i = 0; i < raw; i++) {
        char *to = out_room(out, 3);

        *to++ = digits[step->argument[i] >> 4];
        *to++ = digits[step->argument[i] & 15];
        if (i + 1 < raw)
            *to++ = ' ';
        out_to(out, to);
    }
    if (raw) {
        out_text(out, " → ");
        out_bytes(out, step->value, step->value_len);
        width += 3 + step->value_len;
    }
    return width;
}

static void put_byte(struct out *out, uint8_t byte)
{
    static const char digits[] = "0123456789ABCDEF";
    char *to = out_room(out, 16);

    *to++ = ' ';
    *to++ = ' ';
    *to++ = digits[byte >> 4];
    *to++ = digits[byte & 15];
    memcpy(to, byte >= 0x20 && byte < 0x7f ? " '.'  " : "      ", 6);
    if (byte >= 0x20 && byte < 0x7f)
        to[2] = (char)byte;
    out_to(out, to + 6);
}

static void text_step(struct trace *t, const struct heft_trace_step *step)
{
    struct out *const out = t->out;
    size_t width;

    out_u64_in(out, step->position, t->digits);
    put_byte(out, step->byte);
    put_padded(out, step->name, strlen(step->name), NAME_WIDTH);
    out_text(out, "  ");
    width = put_argument(out, step);
    out_fill(out, ' ', width < ARGUMENT_WIDTH ? ARGUMENT_WIDTH - width : 0);
    out_text(out, "  ");
    out_bytes(out, step->effect, step->effect_len);
    out_char(out, '\n');
    t->part = HEFT_TRACE_STACK;
    t->level = UINT64_MAX; /* a new state begins */
}

static void text_part(struct trace *t, const struct heft_trace_entry *entry)
{
    static const char *const names[] = {"stack", "metastack", "memo"};
    const bool is_level =
        entry->part == HEFT_TRACE_METASTACK && (entry->count || entry->left_out || entry->level);
    const bool is_new = entry->part != t->part || entry->level != t->level;
    size_t width = strlen(names[entry->part]);

    out_fill(t->out, ' ', t->digits + 10);
    if (!is_new) {
        out_fill(t->out, ' ', PART_WIDTH + 2);
        return;
    }
    out_text(t->out, names[entry->part]);
    if (is_level) {
        out_char(t->out, '[');
        out_u64(t->out, entry->level);
        out_char(t->out, ']');
        width += 2 + u64_digits(entry->level);
    }
    out_fill(t->out, ' ', width < PART_WIDTH ? PART_WIDTH - width : 0);
    out_text(t->out, "  ");
    t->part = entry->part;
    t->level = entry->level;
}

static void text_entry(struct trace *t, const struct heft_trace_entry *entry)
{
    text_part(t, entry);
    if (entry->left_out) {
        out_text(t->out, "… ");
        out_u64(t->out, entry->left_out);
        out_text(t->out, " more");
    } else if (entry->count == 0) {
        out_text(t->out, "(empty)");
    } else {
        out_bytes(t->out, entry->text, entry->text_len);
    }
    out_char(t->out, '\n');
}

static void text_pickle(struct trace *t, const struct heft_trace_pickle *pickle)
{
    struct out *const out = t->out;

    if (pickle->number > 1)
        out_char(out, '\n');
    (void)out_name(out, t->options->inputs.items[0], strlen(t->options->inputs.items[0]));
    if (*pickle->record) {
        out_char(out, ':');
        (void)out_name(out, pickle->record, strlen(pickle->record));
    }
    out_text(out, "  ");
    if (pickle->count > 1) {
        out_text(out, "pickle ");
        out_u64(out, pickle->number);
        out_text(out, " of ");
        out_u64(out, pickle->count);
        out_text(out, ", ");
        out_text(out, pickle->what);
        out_text(out, ": ");
    }
    out_u64(out, pickle->bytes);
    out_text(out, " bytes, ");
    if (pickle->offset == HEFT_NO_OFFSET) {
        out_text(out, "deflated: positions have no offset in the file");
    } else {
        out_text(out, "position 0 is at offset ");
        out_u64(out, pickle->offset);
    }
    out_char(out, '\n');
    t->digits = u64_digits(pickle->bytes) < 6 ? 6 : u64_digits(pickle->bytes);
}

static void put_numbers(struct out *out, const uint64_t *numbers, unsigned n)
{
    out_char(out, '(');
    for (unsigned i = 0; i < n; i++) {
        if (i)
            out_text(out, ", ");
        out_u64(out, numbers[i]);
    }
    out_text(out, n == 1 ? ",)" : ")");
}

/* Prints the strides, in elements, also if the tensor is row-major. */
static const uint64_t *strides_of(const struct heft_tensor *tensor, uint64_t *room)
{
    uint64_t step = 1;

    if (tensor->strides)
        return tensor->strides;
    for (unsigned i = tensor->rank; i > 0; i--) {
        room[i - 1] = step;
        step *= tensor->shape[i - 1] ? tensor->shape[i - 1] : 1;
    }
    return room;
}

/* Prints the range of bytes in the file from the first to the last element. */
static uint64_t span_of(const struct heft_tensor *tensor)
{
    uint64_t last = 0, bytes = 0;

    if (tensor->stored != HEFT_STORED_PLAIN)
        return tensor->stored_bytes;
    if (!tensor->strides || !tensor->bytes)
        return tensor->bytes;
    for (unsigned i = 0; i < tensor->rank; i++)
        last += (tensor->shape[i] - 1) * tensor->strides[i];
    return heft_dtype_bytes(tensor->dtype, last + 1, &bytes) ? bytes : tensor->bytes;
}

enum { MOST_RANK = 64 }; /* the library's default limit */

static void text_tensor(struct trace *t, const struct heft_trace_tensor *tensor)
{
    static const char *const stored[] = {"bytes ", "deflated in bytes ", "in the pickle, bytes "};
    const struct heft_tensor *const h = tensor->tensor;
    struct out *const out = t->out;
    uint64_t room[MOST_RANK];

    if (!t->has_tensors)
        out_char(out, '\n');
    t->has_tensors = true;
    (void)out_name(out, h->name, h->name_len);
    out_text(out, "  opcodes ");
    if (tensor->has_key) {
        out_u64(out, tensor->key_position);
        out_text(out, tensor->made_position < tensor->key_position ? " and " : " to ");
    }
    out_u64(out, tensor->made_position);
    if (*tensor->id) {
        out_text(out, " → ");
        out_text(out, tensor->id);
    }
    if (*tensor->record) {
        out_text(out, " → ");
        out_text(out, tensor->record);
    }
    out_text(out, " → ");
    out_text(out, stored[h->stored]);
    out_u64(out, h->offset);
    out_text(out, " to ");
    out_u64(out, h->offset + span_of(h));
    out_text(out, "  ");
    out_text(out, heft_dtype_name(h->dtype));
    out_char(out, ' ');
    put_numbers(out, h->shape, h->rank);
    out_text(out, " strides ");
    put_numbers(out, strides_of(h, room), h->rank);
    out_char(out, '\n');
}

static void put_count(struct out *out, uint64_t n, const char *one, const char *several)
{
    out_u64(out, n);
    out_char(out, ' ');
    out_text(out, n == 1 ? one : several);
    out_text(out, ", ");
}

static void text_total(struct trace *t, const struct heft_trace_total *total)
{
    struct out *const out = t->out;

    out_char(out, '\n');
    put_count(out, total->tensors, "tensor", "tensors");
    put_count(out, total->opcodes, "opcode", "opcodes");
    put_count(out, total->memo, "memo entry", "memo entries");
    out_text(out, "metastack ");
    if (total->metastack) {
        out_text(out, "of ");
        out_u64(out, total->metastack);
    } else {
        out_text(out, "empty");
    }
    out_char(out, '\n');
}

/* ---- JSON -------------------------------------------------------------------------------- */

static void json_hex(struct out *out, const uint8_t *bytes, size_t n)
{
    static const char digits[] = "0123456789abcdef";
    enum { PIECE = 1024 };

    for (size_t at = 0; at < n; at += PIECE) {
        const size_t piece = n - at < PIECE ? n - at : (size_t)PIECE;
        char *to = out_room(out, (size_t)2 * PIECE);

        for (size_t i = 0; i < piece; i++) {
            *to++ = digits[bytes[at + i] >> 4];
            *to++ = digits[bytes[at + i] & 15];
        }
        out_to(out, to);
    }
    out->separate = false;
}

/* JSON: closes all open containers but the document. */
static void json_end_step(struct trace *t)
{
    if (t->in_state)
        json_close(t->out, ']');
    if (t->in_step)
        json_close(t->out, '}');
    if (t->in_step && t->style == TRACE_LINES)
        out_char(t->out, '\n');
    t->in_state = t->in_step = false;
}

static void json_end_array(struct trace *t)
{
    json_end_step(t);
    if (t->array && t->style == TRACE_JSON)
        json_close(t->out, ']');
    t->array = NULL;
}

/* JSON: begins an element of the array `name`; JSON lines: begins a line. */
static void json_begin(struct trace *t, const char *array, const char *kind)
{
    json_end_step(t);
    if (t->style == TRACE_LINES) {
        t->out->separate = false;
        json_open(t->out, '{');
        json_member_text(t->out, "kind", kind);
        return;
    }
    if (!t->array || strcmp(t->array, array)) {
        json_end_array(t);
        t->array = array;
        json_key(t->out, array);
        json_open(t->out, '[');
    }
    json_line(t->out);
    json_open(t->out, '{');
}

static void json_end(struct trace *t)
{
    json_close(t->out, '}');
    if (t->style == TRACE_LINES)
        out_char(t->out, '\n');
}

static void json_pickle(struct trace *t, const struct heft_trace_pickle *pickle)
{
    struct out *const out = t->out;

    json_begin(t, "steps", "pickle");
    json_member_u64(out, "pickle", pickle->number);
    json_member_u64(out, "of", pickle->count);
    json_member_text(out, "record", pickle->record);
    json_member_text(out, "what", pickle->what);
    if (pickle->offset != HEFT_NO_OFFSET)
        json_member_u64(out, "offset", pickle->offset);
    json_member_u64(out, "bytes", pickle->bytes);
    json_end(t);
}

static void json_step(struct trace *t, const struct heft_trace_step *step)
{
    struct out *const out = t->out;

    json_begin(t, "steps", "step");
    /* Writes a member without escaping its fixed name: there may be millions of steps. */
    out_text(out, t->style == TRACE_LINES ? ",\"position\":" : "\"position\":");
    out_u64(out, step->position);
    if (step->offset != HEFT_NO_OFFSET) {
        out_text(out, ",\"offset\":");
        out_u64(out, step->offset);
    }
    out_text(out, ",\"byte\":");
    out_u64(out, step->byte);
    out_text(out, ",\"opcode\":\"");
    out_text(out, step->name);
    out_text(out, "\",\"argument\":\"");
    json_hex(out, step->argument, step->argument_bytes);
    out_text(out, "\",\"value\":");
    json_text(out, step->value, step->value_len);
    out_text(out, ",\"effect\":");
    out->separate = false;
    json_text(out, step->effect, step->effect_len);
    t->in_step = true;
}

static void json_entry(struct trace *t, const struct heft_trace_entry *entry)
{
    static const char *const names[] = {"stack", "metastack", "memo"};
    struct out *const out = t->out;

    if (!t->in_state) {
        json_key(out, "state");
        json_open(out, '[');
        t->in_state = true;
    }
    json_open(out, '{');
    json_member_text(out, "part", names[entry->part]);
    if (entry->part == HEFT_TRACE_METASTACK)
        json_member_u64(out, "level", entry->level);
    json_member_u64(out, "count", entry->count);
    if (entry->left_out) {
        json_member_u64(out, "left_out", entry->left_out);
    } else if (entry->count) {
        json_member_u64(out, "index", entry->index);
        json_key(out, "value");
        json_text(out, entry->text, entry->text_len);
    }
    json_close(out, '}');
}

static void json_numbers(struct out *out, const char *key, const uint64_t *numbers, unsigned n)
{
    json_key(out, key);
    json_open(out, '[');
    for (unsigned i = 0; i < n; i++)
        json_u64(out, numbers[i]);
    json_close(out, ']');
}

static void json_tensor(struct trace *t, const struct heft_trace_tensor *tensor)
{
    static const char *const stored[] = {"plain", "deflate", "pickle"};
    const struct heft_tensor *const h = tensor->tensor;
    struct out *const out = t->out;
    uint64_t room[MOST_RANK];

    json_begin(t, "tensors", "tensor");
    json_key(out, "name");
    json_text(out, h->name, h->name_len);
    json_member_text(out, "dtype", heft_dtype_name(h->dtype));
    json_numbers(out, "shape", h->shape, h->rank);
    json_numbers(out, "strides", strides_of(h, room), h->rank);
    if (tensor->has_key)
        json_member_u64(out, "key_position", tensor->key_position);
    json_member_u64(out, "made_position", tensor->made_position);
    json_member_text(out, "id", tensor->id);
    json_member_text(out, "record", tensor->record);
    json_member_text(out, "stored", stored[h->stored]);
    json_member_u64(out, "offset", h->offset);
    json_member_u64(out, "bytes", span_of(h));
    json_end(t);
}

/* Ends the document. `complete` is false if an error ended the trace. */
static void json_total(struct trace *t, const struct heft_trace_total *total, bool complete)
{
    struct out *const out = t->out;

    json_end_array(t);
    if (t->style == TRACE_LINES) {
        out->separate = false;
        json_open(out, '{');
        json_member_text(out, "kind", "total");
    } else {
        json_key(out, "total");
        json_open(out, '{');
    }
    json_member_u64(out, "tensors", total->tensors);
    json_member_u64(out, "opcodes", total->opcodes);
    json_member_u64(out, "memo", total->memo);
    json_member_u64(out, "metastack", total->metastack);
    json_member_bool(out, "complete", complete);
    json_close(out, '}');
    if (t->style == TRACE_JSON)
        json_close(out, '}');
    out_char(out, '\n');
}

/* ---- callbacks --------------------------------------------------------------------------- */

static bool take_pickle(void *ctx, const struct heft_trace_pickle *pickle)
{
    struct trace *const t = ctx;
    (t->style == TRACE_TEXT ? text_pickle : json_pickle)(t, pickle);
    return go_on(t);
}

static bool take_step(void *ctx, const struct heft_trace_step *step)
{
    struct trace *const t = ctx;
    (t->style == TRACE_TEXT ? text_step : json_step)(t, step);
    return go_on(t);
}

static bool take_entry(void *ctx, const struct heft_trace_entry *entry)
{
    struct trace *const t = ctx;
    (t->style == TRACE_TEXT ? text_entry : json_entry)(t, entry);
    return go_on(t);
}

static bool take_tensor(void *ctx, const struct heft_trace_tensor *tensor)
{
    struct trace *const t = ctx;
    (t->style == TRACE_TEXT ? text_tensor : json_tensor)(t, tensor);
    return go_on(t);
}

/* ---- parsing options --------------------------------------------------------------------- */

/* Parses a decimal number, or a hexadecimal one with 0x. */
static bool read_number(const char **text, uint64_t *number)
{
    char *end;

    if (**text < '0' || **text > '9')
        return false;
    errno = 0;
    *number = strtoull(*text, &end, strncmp(*text, "0x", 2) ? 10 : 16);
    *text = end;
    return errno == 0 && *number < UINT64_MAX;
}

static bool read_range(const struct options *options, struct heft_trace_options *how,
                       struct heft_error *err)
{
    const char *text = options->at ? options->at : options->range;
    bool good;

    if (options->at && options->range)
        return usage_error(err, "explain: --at and --range cannot be combined");
    if (!text)
        return true;
    good = read_number(&text, &how->from);
    if (options->at) {
        how->to = how->from + 1;
    } else {
        good = good && *text++ == ':' && read_number(&text, &how->to) && how->from < how->to;
    }
    if (good && *text == '\0')
        return true;
    return options->at
               ? usage_error(err, "--at %s: expected a position, such as 120 or 0x78", options->at)
               : usage_error(err, "--range %s: expected A:B with A below B", options->range);
}

static bool check_options(const struct options *options, struct heft_error *err)
{
    if (options->inputs.n != 1)
        return usage_error(err, "explain --trace: takes one file; unexpected %s",
                           options->inputs.items[1]);
    return strcmp(options->inputs.items[0], "-") != 0 ||
           usage_error(err, "explain --trace: standard input cannot be traced; save it to a file");
}

void note_read_options(const struct options *options, bool is_index)
{
    struct heft_format_option o = HEFT_INIT(struct heft_format_option);

    for (size_t i = 0; i < options->n_read_options; i++) {
        const char *const name = options->read_options[i].name;
        const bool selects = format_option_find(name, strlen(name), HEFT_OPTION_READS, &o) &&
                             o.elsewhere == HEFT_ELSEWHERE_REFUSED;

        if (!is_index || !selects)
            report_note(options, "--%s has no effect with --trace", name);
    }
}

int cmd_trace(const struct options *options, struct out *out)
{
    struct trace t = {.options = options,
                      .how = {.size = sizeof t.how,
                              .format = options->from,
                              .record = options->record,
                              .state = options->state},
                      .out = out,
                      .style = options->jsonl  ? TRACE_LINES
                               : options->json ? TRACE_JSON
                                               : TRACE_TEXT};
    const struct heft_trace_watcher watcher = {sizeof watcher, &t,         take_pickle,
                                               take_step,      take_entry, take_tensor};
    struct heft_trace_total total = HEFT_INIT(struct heft_trace_total);
    struct heft_error err = {0};
    int status;
    bool ok;

    if (!check_options(options, &err) || !read_range(options, &t.how, &err))
        return report_error(&err);
    if (walk_index(options, out, &status))
        return status;
    note_read_options(options, false);
    if (t.style == TRACE_JSON) {
        json_open(out, '{');
        json_member_u64(out, "heft", 1);
        json_member_text(out, "file", options->inputs.items[0]);
    }
    ok = heft_trace(options->inputs.items[0], &t.how, &watcher, &total, &err) ||
         err.code == HEFT_CANCELLED; /* the output failed, which main reports */
    if (t.style != TRACE_TEXT)
        json_total(&t, &total, ok);
    else if (ok && !t.how.to)
        text_total(&t, &total);
    if (!ok)
        out_flush(out); /* the steps are printed before the error */
    return ok ? EXIT_SOUND : report_error(&err);
}
