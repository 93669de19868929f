/* heft_rules.c: the public API for rules files: a checkpoint seen through them, presets.
 *
 *     checkpoint  ──►  export list  ──►  ruled model  ──►  view: a checkpoint with the model's rows
 *                      selected, renamed
 *
 * A view shares sources, storages and values with the checkpoint, to which it has a reference. */
#include "api/checkpoint.h"
#include "api/rules_take.h"
#include "base/require_arg.h"
#include "base/sized.h"
#include "core/export_list.h"
#include "core/ruling.h"
#include "core/select.h"
#include "format/formats.h"

struct heft_rules_view {
    struct heft_checkpoint *of;
    struct heft_budget budget;
    struct heft_arena mem;
    struct heft_export_list exports;
    struct heft_ruled ruled;
};

void heft_rules_view_release(struct heft_checkpoint *c)
{
    struct heft_rules_view *const view = c->view;

    heft_strmap_release(&c->model.tie_names);
    heft_ruled_release(&view->ruled);
    heft_arena_release(&c->model.mem);
    heft_export_release(&view->exports);
    heft_arena_release(&view->mem);
    heft_close(view->of);
    heft_free(view);
}

/* Recorded ties of the view are the other names that the rules give. */
static bool take_ties(struct heft_checkpoint *c, struct heft_error *err)
{
    const struct heft_ruling *const ruling = &c->view->ruled.ruling;
    struct heft_pair *const ties =
        heft_arena_zero(&c->view->mem, ruling->n_ties + 1, sizeof *ties, err);
    bool ok = ties != NULL;

    c->model.ties = ties;
    c->model.n_ties = 0;
    c->model.tie_names = (struct heft_strmap){0};
    for (size_t i = 0; ok && i < ruling->n_ties; i++) {
        ties[i] = (struct heft_pair){.key = ruling->ties[i].name,
                                     .value = ruling->rows[ruling->ties[i].row].name};
        ok = heft_strmap_set(&c->model.tie_names, ties[i].key, (uint32_t)i, err);
        c->model.n_ties++;
    }
    return ok;
}

static bool apply_rules(struct heft_checkpoint *c, const char *root, const struct heft_rule *rules,
                        size_t n_rules, struct heft_error *err)
{
    struct heft_rules_view *const view = c->view;
    const struct heft_model *const model = &view->of->model;
    struct heft_convert_options options = {
        .size = sizeof options, .root = root, .n_rules = n_rules};

    view->budget = heft_model_budget(model);
    view->mem.budget = &view->budget;
    options.rules = heft_ruling_without_casts(rules, &options.n_rules, &view->mem, err);
    if (!options.rules || !heft_export_load(&view->exports, model, &options, &view->mem, err) ||
        !heft_export_retie(&view->exports, &options, err) ||
        !heft_ruled_make(&view->ruled, &view->exports, rules, n_rules, false, err))
        return false;
    c->model = view->ruled.model;
    c->model.mem = (struct heft_arena){0}; /* of what is made for the view alone */
    c->model.no_shared_storage = false;
    return take_ties(c, err) && heft_checkpoint_prepare(c, err);
}

/* A view without rules yet; takes a reference. */
static struct heft_checkpoint *new_view(struct heft_checkpoint *of, struct heft_error *err)
{
    struct heft_checkpoint *const c = heft_calloc(1, sizeof *c, err);

    if (!c)
        return NULL;
    c->view = heft_calloc(1, sizeof *c->view, err);
    if (c->view) {
        c->view->of = heft_retain(of);
        return c;
    }
    heft_free(c);
    return NULL;
}

struct heft_checkpoint *heft_rules_view(struct heft_checkpoint *c, const char *root,
                                        const struct heft_rule *rules, size_t n_rules,
                                        struct heft_error *err)
{
    struct heft_rule *own;
    struct heft_checkpoint *view;

    if (!heft_require_arg(c, "a checkpoint", err) || !(own = heft_rules_take(rules, n_rules, err)))
        return NULL;
    view = new_view(c, err);
    if (view && !apply_rules(view, root, own, n_rules, err)) {
        heft_close(view);
        view = NULL;
    }
    heft_free(own);
    return view;
}

/* ---- matches of rules --------------------------------------------------------------------- */

/* Kinds whose globs match the names that rules files give. */
static bool is_after_files(enum heft_rule_kind kind)
{
    return kind == HEFT_RULE_CAST || kind == HEFT_RULE_PARTITION || kind == HEFT_RULE_KEEP_TIED;
}

/* Counts such rules again, over the results of the rules files. */
static bool count_after_files(const struct heft_checkpoint *c, const char *root,
                              const struct heft_rule *rules, size_t n, struct heft_rule_use *uses,
                              struct heft_error *err)
{
    /* only its number of references changes, which is atomic */
    struct heft_checkpoint *const of = (struct heft_checkpoint *)(uintptr_t)c;
    struct heft_checkpoint *const view = heft_rules_view(of, root, rules, n, err);
    struct heft_rule *const after = view ? heft_calloc(n + 1, sizeof *after, err) : NULL;
    struct heft_rule_use *const found = after ? heft_calloc(n + 1, sizeof *found, err) : NULL;
    bool ok;

    for (size_t i = 0; found && i < n; i++) {
        after[i] = rules[i];
        if (!is_after_files(rules[i].kind))
            after[i].kind = HEFT_RULE_SET; /* selects and renames nothing */
    }
    ok = found && heft_rules_count(&view->model, NULL, after, n, found, err);
    for (size_t i = 0; ok && i < n; i++)
        if (is_after_files(rules[i].kind))
            uses[i] = found[i];
    heft_free(found);
    heft_free(after);
    heft_close(view);
    return ok;
}

static bool count_matches(const struct heft_checkpoint *c, const char *root,
                          const struct heft_rule *rules, size_t n, struct heft_rule_use *uses,
                          struct heft_error *err)
{
    bool again = false;

    for (size_t i = 0; i < n; i++)
        again = again || is_after_files(rules[i].kind);
    return heft_rules_count(&c->model, root, rules, n, uses, err) &&
           (!again || !heft_ruling_is_asked(rules, n) ||
            count_after_files(c, root, rules, n, uses, err));
}

bool heft_rule_matches(const struct heft_checkpoint *c, const char *root,
                       const struct heft_rule *rules, size_t n_rules, struct heft_rule_use *uses,
                       struct heft_error *err)
{
    struct heft_rule_use *own_uses;
    struct heft_rule *own;
    size_t stride;
    bool ok;

    if (!heft_require_arg(c && (uses || n_rules == 0), "an argument", err) ||
        !HEFT_STRIDE(heft_rule_use, &stride, uses, n_rules, err) ||
        !(own = heft_rules_take(rules, n_rules, err)))
        return false;
    own_uses = heft_calloc(n_rules + 1, sizeof *own_uses, err);
    ok = own_uses && count_matches(c, root, own, n_rules, own_uses, err);
    if (ok)
        heft_sized_fill_array(uses, stride, own_uses, sizeof *own_uses, n_rules);
    heft_free(own_uses);
    heft_free(own);
    return ok;
}

/* ---- presets --------------------------------------------------------------------------------- */

bool heft_rules_numbered(const struct heft_rule *rules, size_t n_rules, bool *numbered,
                         struct heft_error *err)
{
    const struct heft_ruler *const ruler = heft_formats.ruler;
    struct heft_rule *own;
    bool ok = true;

    if (!heft_require_arg(numbered, "a result", err) ||
        !(own = heft_rules_take(rules, n_rules, err)))
        return false;
    *numbered = false;
    if (ruler && heft_ruling_is_asked(own, n_rules))
        ok = ruler->numbers(&heft_disk, own, n_rules, numbered, err);
    heft_free(own);
    return ok;
}

bool heft_rules_preset_at(size_t index, struct heft_rules_preset *out)
{
    struct heft_rules_preset preset = {0};

    if (!out || !heft_formats.ruler || !heft_formats.ruler->preset(index, &preset))
        return false;
    HEFT_FILL(heft_rules_preset, out, &preset);
    return true;
}
