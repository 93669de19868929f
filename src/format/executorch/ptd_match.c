/* ptd_match.c: compares a program with the weights that were opened with it: everything that
 * ExecuTorch checks when it loads a method, and more.
 *
 *     a tensor that the program needs      a row of a .ptd: equal dtype, shape, dimension order
 *     bytes that a delegate needs          named data of the program or of a .ptd, of equal length
 *     a row or blob of a .ptd              needed by a program, else a note */
#include "base/text.h"
#include "format/executorch/ptd_program.h"

#define NAMES_SHOWN 8

struct matching {
    const struct heft_model *model;
    const struct heft_reporter *to;
    uint32_t source;       /* source of the program */
    struct heft_strmap by; /* keys that a program needs */
    struct heft_error *err;
};

static void report_text(const struct matching *m, enum heft_severity severity, const char *format,
                        ...) HEFT_PRINTF(3, 4);
static void report_text(const struct matching *m, enum heft_severity severity, const char *format,
                        ...)
{
    struct heft_error text = {0};
    va_list args;

    va_start(args, format);
    heft_fail_args(&text, HEFT_OK, HEFT_NO_OFFSET, format, args);
    va_end(args);
    m->to->report(m->to->ctx, severity, m->source, HEFT_NO_OFFSET, text.text);
}

static bool is_of(const struct heft_model *model, uint32_t source, const char *format)
{
    const struct heft_format *const of = model->sources[source].format;

    return of && strcmp(of->name, format) == 0;
}

static bool has_weights(const struct heft_model *model)
{
    for (uint32_t i = 0; i < model->n_sources; i++)
        if (is_of(model, i, "ptd"))
            return true;
    return false;
}

static uint32_t source_of_row(const struct heft_model *model, const struct heft_row *row)
{
    return model->storages[heft_row_storage(row, 0)].source;
}

/* ---- tensors ----------------------------------------------------------------------------- */

struct dims_text {
    char p[200];
};
static struct dims_text dims_text(unsigned rank, const uint64_t *dims)
{
    struct dims_text out = {"["};
    size_t at = 1;

    for (unsigned i = 0; i < rank; i++) {
        struct heft_error piece = {0};

        heft_fail(&piece, HEFT_OK, 0, i ? ",%" PRIu64 : "%" PRIu64, dims[i]);
        if (at + strlen(piece.text) + 8 > sizeof out.p)
            break;
        memcpy(out.p + at, piece.text, strlen(piece.text));
        at += strlen(piece.text);
    }
    out.p[at] = ']';
    return out;
}

static unsigned order_at(const uint8_t *order, unsigned i)
{
    return order ? order[i] : i;
}

static void compare_layout(const struct matching *m, const struct heft_pte_wish *wish,
                           const struct heft_row *row)
{
    const int n = (int)heft_min_u64(wish->key.n, 120);

    if (wish->dtype != row->dtype)
        report_text(m, HEFT_FINDING, "program needs %.*s as %s, the .ptd has %s", n, wish->key.p,
                    heft_dtype_name((enum heft_dtype)wish->dtype),
                    heft_dtype_name((enum heft_dtype)row->dtype));
    if (wish->rank != row->rank ||
        (row->rank && memcmp(wish->shape, row->shape, row->rank * sizeof *row->shape) != 0)) {
        report_text(m, HEFT_FINDING, "program needs %.*s with shape %s, the .ptd has %s", n,
                    wish->key.p, dims_text(wish->rank, wish->shape).p,
                    dims_text(row->rank, row->shape).p);
        return;
    }
    for (unsigned i = 0; i < row->rank; i++)
        if (order_at(wish->order, i) != order_at(row->dim_order, i)) {
            report_text(m, HEFT_FINDING,
                        "program needs %.*s with dimensions in another order than in the .ptd", n,
                        wish->key.p);
            return;
        }
}

static bool match_tensor(const struct matching *m, const struct heft_pte_wish *wish)
{
    const uint32_t at = heft_model_row(m->model, wish->key);

    if (at == HEFT_NONE || !is_of(m->model, source_of_row(m->model, &m->model->rows[at]), "ptd"))
        return false;
    compare_layout(m, wish, &m->model->rows[at]);
    return true;
}

/* ---- named data -------------------------------------------------------------------------- */

static bool match_data(const struct matching *m, const struct heft_pte_wish *wish)
{
    const uint32_t row = heft_model_row(m->model, wish->key);
    const uint32_t blob = heft_model_blob(m->model, wish->key);
    uint64_t bytes;

    if (blob != HEFT_NONE)
        bytes = m->model->storages[m->model->blobs[blob].storage].len;
    else if (row != HEFT_NONE)
        bytes = m->model->rows[row].bytes;
    else
        return false;
    if (bytes != wish->bytes)
        report_text(m, HEFT_FINDING, "%.*s needs %" PRIu64 " bytes of key %.*s, which has %" PRIu64,
                    (int)heft_min_u64(wish->backend.n, 60), wish->backend.p, wish->bytes,
                    (int)heft_min_u64(wish->key.n, 120), wish->key.p, bytes);
    return true;
}

static void report_absent(const struct matching *m, const struct heft_pte_wish *wish)
{
    const int n = (int)heft_min_u64(wish->key.n, 120);

    if (wish->backend.n)
        report_text(m, HEFT_FINDING, "%.*s needs %" PRIu64 " bytes of key %.*s, which no input has",
                    (int)heft_min_u64(wish->backend.n, 60), wish->backend.p, wish->bytes, n,
                    wish->key.p);
    else
        report_text(m, HEFT_FINDING, "program needs %.*s, %s %s, which no .ptd has", n, wish->key.p,
                    heft_dtype_name((enum heft_dtype)wish->dtype),
                    dims_text(wish->rank, wish->shape).p);
}

static void match_all(const struct matching *m, const struct heft_pte_wishes *wishes)
{
    const bool given = has_weights(m->model);
    size_t missing = 0;

    for (size_t i = 0; i < wishes->n; i++) {
        const struct heft_pte_wish *const wish = &wishes->list[i];

        if (wish->backend.n ? match_data(m, wish) : match_tensor(m, wish))
            continue;
        missing++;
        if (given)
            report_absent(m, wish);
    }
    if (missing && !given)
        report_text(m, HEFT_NOTE,
                    "program needs %zu key%s from a .ptd; give that file, too, to compare them",
                    missing, missing == 1 ? "" : "s");
}

/* ---- data that no program asks for ------------------------------------------------------- */

static bool map_wishes(struct matching *m)
{
    uint32_t found;

    for (uint32_t i = 0; i < m->model->n_sources; i++) {
        const struct heft_pte_wishes *const wishes =
            is_of(m->model, i, "pte") ? m->model->sources[i].kept : NULL;

        for (size_t k = 0; wishes && k < wishes->n; k++)
            if (!heft_strmap_add(&m->by, wishes->list[k].key, 0, &found, m->err))
                return false;
    }
    return true;
}

static void note_name(const struct matching *m, struct heft_buf *names, size_t *n,
                      struct heft_str name)
{
    if (heft_strmap_get(&m->by, name) != HEFT_MAP_NONE)
        return;
    if (*n < NAMES_SHOWN) {
        heft_buf_text(names, *n ? ", " : "");
        heft_buf_str(names, (struct heft_str){name.p, heft_min_size(name.n, 80)});
    }
    ++*n;
}

/* Backends other than XNNPACK may use data to which no program is known to refer: a note. */
static bool note_unused(struct matching *m)
{
    const struct heft_model *const model = m->model;
    struct heft_buf names = {0};
    size_t n = 0;
    bool ok;

    for (size_t i = 0; i < model->n_rows; i++)
        if (is_of(model, source_of_row(model, &model->rows[i]), "ptd"))
            note_name(m, &names, &n, model->rows[i].name);
    for (size_t i = 0; i < model->n_blobs; i++)
        if (is_of(model, model->storages[model->blobs[i].storage].source, "ptd"))
            note_name(m, &names, &n, model->blobs[i].name);
    if (n > NAMES_SHOWN)
        heft_buf_printf(&names, " and %zu more", n - NAMES_SHOWN);
    ok = heft_buf_ok(&names, m->err);
    if (ok && n)
        report_text(m, HEFT_NOTE, "no program is known to need %.*s",
                    (int)heft_min_u64(names.n, 300), names.p);
    heft_buf_release(&names);
    return ok;
}

static bool is_last_program(const struct heft_model *model, uint32_t source)
{
    for (uint32_t i = source + 1; i < model->n_sources; i++)
        if (is_of(model, i, "pte"))
            return false;
    return true;
}

bool heft_pte_verify(const struct heft_model *model, uint32_t source,
                     const struct heft_reporter *to, struct heft_error *err)
{
    const struct heft_pte_wishes *const wishes = model->sources[source].kept;
    struct matching m = {.model = model, .to = to, .source = source, .err = err};
    bool ok = heft_ptd_check_keys(model, source, to, err);

    if (!ok || !wishes)
        return ok;
    match_all(&m, wishes);
    if (is_last_program(model, source) && has_weights(model))
        ok = map_wishes(&m) && note_unused(&m);
    heft_strmap_release(&m.by);
    return ok;
}
