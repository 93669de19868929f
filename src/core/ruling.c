/* ruling.c: see ruling.h. */
#include "core/ruling.h"

#include "core/derive.h"
#include "core/registry.h"

bool heft_ruling_is_asked(const struct heft_rule *rules, size_t n_rules)
{
    for (size_t i = 0; i < n_rules; i++)
        if (rules[i].kind == HEFT_RULE_FILE)
            return true;
    return false;
}

const struct heft_rule *heft_ruling_without_casts(const struct heft_rule *rules, size_t *n,
                                                  struct heft_arena *mem, struct heft_error *err)
{
    struct heft_rule *const copy = heft_arena_zero(mem, *n + 1, sizeof *copy, err);
    size_t kept = 0;

    for (size_t i = 0; copy && i < *n; i++)
        if (rules[i].kind != HEFT_RULE_CAST)
            copy[kept++] = rules[i];
    *n = kept;
    return copy;
}

/* ---- the rows that rules apply to ---------------------------------------------------------- */

/* Removes "@K" from a name; renaming may have removed it already. */
static bool strip_number(const struct heft_model *model, uint32_t number, struct heft_str *name,
                         struct heft_arena *mem, struct heft_error *err)
{
    size_t n = name->n;
    uint64_t value = 0;

    if (!model->file_numbers)
        return true;
    for (uint64_t unit = 1; n > 0 && name->p[n - 1] >= '0' && name->p[n - 1] <= '9'; n--) {
        value = value + unit * (uint64_t)(name->p[n - 1] - '0');
        unit = unit < UINT32_MAX ? unit * 10 : 0;
    }
    if (n == 0 || n == name->n || name->p[n - 1] != '@' || value != number)
        return true;
    name->n = n - 1;
    name->p = heft_arena_text(mem, *name, err);
    return name->p != NULL;
}

static struct heft_ruler_row *
list_rows(struct heft_ruled *out, const struct heft_export_list *exports, struct heft_error *err)
{
    struct heft_ruler_row *const rows =
        heft_arena_zero(exports->mem, exports->n_items + 1, sizeof *rows, err);

    out->before = rows;
    out->names =
        rows ? heft_arena_zero(exports->mem, exports->n_items + 1, sizeof *out->names, err) : NULL;
    for (size_t i = 0; out->names && i < exports->n_items; i++) {
        const struct heft_export_item *const item = &exports->items[i];

        out->names[i] = item->is_apart ? item->from.p : item->row->name.p;
        rows[i] = (struct heft_ruler_row){item->name, item->row,
                                          heft_model_file_number(exports->model, item->row)};
        if (!strip_number(exports->model, rows[i].number, &rows[i].name, exports->mem, err))
            return NULL;
    }
    return out->names ? rows : NULL;
}

/* ---- the ruled model ------------------------------------------------------------------------ */

/* For each ruled row the row of the model whose place it takes: its first source. */
static size_t *list_places(const struct heft_ruled *out, const struct heft_export_list *exports,
                           struct heft_error *err)
{
    const struct heft_model *const model = exports->model;
    size_t *const from = heft_arena_zero(exports->mem, out->ruling.n + 1, sizeof *from, err);

    for (size_t i = 0; from && i < out->ruling.n; i++) {
        const struct heft_ruled_from *const origin = &out->ruling.from[i];
        const struct heft_export_item *const item =
            origin->n ? &exports->items[origin->sources[0]] : NULL;

        from[i] = item && !item->is_apart ? (size_t)(item->row - model->rows) : model->n_rows;
    }
    return from;
}

/* Names of the sources of each row. */
static bool list_sources(struct heft_ruled *out, struct heft_arena *mem, struct heft_error *err)
{
    const struct heft_ruling *const ruling = &out->ruling;
    size_t n = 0;

    for (size_t i = 0; i < ruling->n; i++)
        n += ruling->from[i].n;
    out->begins = heft_arena_zero(mem, ruling->n + 1, sizeof *out->begins, err);
    out->texts = out->begins ? heft_arena_zero(mem, n + 1, sizeof *out->texts, err) : NULL;
    n = 0;
    for (size_t i = 0; out->texts && i < ruling->n; i++) {
        for (uint32_t k = 0; k < ruling->from[i].n; k++)
            out->texts[n++] = out->names[ruling->from[i].sources[k]];
        out->begins[i + 1] = n;
    }
    return out->texts != NULL;
}

bool heft_ruled_make(struct heft_ruled *out, const struct heft_export_list *exports,
                     const struct heft_rule *rules, size_t n_rules, bool is_strict,
                     struct heft_error *err)
{
    const struct heft_ruler *const ruler = exports->model->formats->ruler;
    const struct heft_ruler_row *const rows = list_rows(out, exports, err);
    const struct heft_ruler_request request = {.model = exports->model,
                                               .rules = rules,
                                               .n_rules = n_rules,
                                               .rows = rows,
                                               .n = exports->n_items,
                                               .is_strict = is_strict,
                                               .mem = exports->mem};
    struct heft_derived_rows derived;

    if (!rows)
        return false;
    if (!ruler)
        return heft_fail(err, HEFT_UNSUPPORTED, HEFT_NO_OFFSET, "no rules are known");
    if (!ruler->apply(&request, &out->ruling, err))
        return false;
    derived = (struct heft_derived_rows){
        .list = out->ruling.rows, .from = list_places(out, exports, err), .n = out->ruling.n};
    return derived.from && list_sources(out, exports->mem, err) &&
           heft_derived_model(&out->model, exports->model, &derived, exports->mem, err);
}

bool heft_ruled_export(const struct heft_ruled *ruled, struct heft_export_list *exports,
                       const struct heft_convert_options *options, struct heft_error *err)
{
    const struct heft_ruling *const ruling = &ruled->ruling;
    const size_t n = ruling->n + ruling->n_ties;
    struct heft_export_item *const items = heft_arena_zero(exports->mem, n + 1, sizeof *items, err);
    bool ok = items != NULL;

    for (size_t i = 0; ok && i < n; i++) {
        const struct heft_ruled_tie *const tie =
            i < ruling->n ? NULL : &ruling->ties[i - ruling->n];
        const struct heft_row *const row = &ruling->rows[tie ? tie->row : i];
        const struct heft_str name = tie ? tie->name : row->name;

        items[i] = (struct heft_export_item){
            .row = row, .name = name, .from = name, .is_apart = tie != NULL};
        ok = heft_export_choose_dtype(&items[i], name, options, err);
    }
    if (ok) {
        exports->items = items;
        exports->n_items = n;
        exports->model = &ruled->model;
    }
    return ok;
}

const struct heft_row *heft_ruled_source(const struct heft_ruled *ruled, const struct heft_row *row,
                                         size_t k)
{
    const struct heft_ruled_from *const from = &ruled->ruling.from[row - ruled->ruling.rows];

    return k < from->n ? ruled->before[from->sources[k]].row : NULL;
}

void heft_ruled_release(struct heft_ruled *ruled)
{
    heft_derived_model_release(&ruled->model);
}
