/* rules_apply.c: the rules files of a conversion, one behind the other: see core/ruling.h.
 *
 *     rows of the source ─► file 1: stage, stage, … ─► file 2: … ─► ruled rows, ties, pairs to compare */
#include "core/file_names.h"
#include "rules/ruler.h"
#include "rules/rules_apply.h"

struct run {
    const struct heft_ruler_request *request;
    struct heft_ruling *out;
    struct heft_live_list list;
    struct heft_setting *settings;
    size_t n_settings;
    bool *known; /* for each setting: a rules file has the variable */
    struct heft_equal_rows *equal;
    size_t n_equal, cap_equal;
    const char **notes, **files;
    size_t n_notes, cap_notes, n_files, cap_files;
    uint64_t n_changed; /* tensors that a file has renamed, dropped or made */
    struct heft_error *err;
};

/* ---- settings ------------------------------------------------------------------------------- */

static bool parse_setting(const struct heft_rule *rule, uint64_t *value, struct heft_error *err)
{
    const char *p = rule->right;
    bool ok = *p != '\0';

    *value = 0;
    for (; ok && *p; p++)
        ok = *p >= '0' && *p <= '9' && heft_mul(*value, 10, value) &&
             heft_add(*value, (uint64_t)(*p - '0'), value) && *value <= INT64_MAX;
    return ok || heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                           "variable %.100s is set to '%.100s': expected a whole number below 2^63",
                           rule->left, rule->right);
}

static bool take_settings(struct run *run)
{
    const struct heft_ruler_request *const r = run->request;
    bool ok;

    run->settings = heft_arena_zero(r->mem, r->n_rules + 1, sizeof *run->settings, run->err);
    run->known = heft_arena_zero(r->mem, r->n_rules + 1, sizeof *run->known, run->err);
    ok = run->settings && run->known;
    for (size_t i = 0; ok && i < r->n_rules; i++) {
        struct heft_setting *const setting = &run->settings[run->n_settings];

        if (r->rules[i].kind != HEFT_RULE_SET)
            continue;
        setting->name = r->rules[i].left + (r->rules[i].left[0] == '$');
        ok = parse_setting(&r->rules[i], &setting->value, run->err);
        run->n_settings++;
    }
    return ok;
}

static void mark_known(struct run *run, const struct heft_rules *rules)
{
    for (size_t i = 0; i < run->n_settings; i++)
        if (heft_rules_variable(rules, run->settings[i].name) != HEFT_RULES_NONE)
            run->known[i] = true;
}

static bool check_settings(const struct run *run)
{
    for (size_t i = 0; i < run->n_settings; i++)
        if (!run->known[i])
            return heft_fail(run->err, HEFT_USAGE, HEFT_NO_OFFSET,
                             "variable %.100s is set, but no rules file has it",
                             run->settings[i].name);
    return true;
}

/* ---- notes, files --------------------------------------------------------------------------- */

/* Texts are in the arena; NULL: memory is short. */
static bool add_text(struct run *run, const char ***list, size_t *n, size_t *cap, const char *text)
{
    if (!text || !heft_grow(list, cap, *n, 1, sizeof **list, run->err))
        return false;
    (*list)[(*n)++] = text;
    return true;
}

static bool add_note(struct run *run, const char *text)
{
    return add_text(run, &run->notes, &run->n_notes, &run->cap_notes, text);
}

/* Notes the tensors that `drop` took. */
static bool note_dropped(struct run *run, const struct heft_rules *rules, struct heft_buf *names,
                         size_t n)
{
    struct heft_str text;

    if (n == 0)
        return true;
    heft_list_end(names, n);
    return heft_buf_take(names, run->request->mem, &text, run->err) &&
           add_note(run,
                    heft_arena_printf(run->request->mem, run->err,
                                      "%s: left out by drop, and not made again by the reverse: %s",
                                      rules->file, text.p));
}

static const char *input_of(const struct heft_model *model)
{
    if (model->folder)
        return model->folder;
    return model->n_sources > 0 ? model->sources[0].path : NULL;
}

static bool is_listed(const struct run *run, const char *path)
{
    for (size_t i = 0; i < run->n_files; i++)
        if (strcmp(run->files[i], path) == 0)
            return true;
    return false;
}

/* Lists a rules file and the JSON files beside the input: jobs compare them. */
static bool list_files(struct run *run, const struct heft_rules *rules, const char *name)
{
    const struct heft_model *const model = run->request->model;
    const char *const input = input_of(model);
    bool ok = heft_preset_is_name(name) ||
              add_text(run, &run->files, &run->n_files, &run->cap_files,
                       heft_arena_text(run->request->mem, heft_str_of(name), run->err));

    for (uint32_t i = 0; ok && input && i < rules->n_variables; i++) {
        const char *const file = rules->variables[i].file;
        const size_t folder = model->folder ? strlen(model->folder) : heft_path_folder(input);
        const bool slash = folder == 0 || input[folder - 1] == '/';
        const char *path;

        if (!file)
            continue;
        path = heft_arena_printf(run->request->mem, run->err, "%.*s%s%s", (int)folder, input,
                                 slash ? "" : "/", file);
        ok = path &&
             (is_listed(run, path) || heft_files_kind(model->files, path) != HEFT_PATH_FILE ||
              add_text(run, &run->files, &run->n_files, &run->cap_files, path));
    }
    return ok;
}

/* ---- running -------------------------------------------------------------------------------- */

static bool begin_list(struct run *run)
{
    const struct heft_ruler_request *const r = run->request;
    uint32_t *const numbers = heft_arena_zero(r->mem, r->n + 1, sizeof *numbers, run->err);

    run->list.items = heft_calloc(r->n + 1, sizeof *run->list.items, run->err);
    run->list.cap = r->n + 1;
    for (uint32_t i = 0; numbers && run->list.items && i < r->n; i++) {
        numbers[i] = i;
        run->list.items[run->list.n++] = (struct heft_live){.name = r->rows[i].name,
                                                            .row = r->rows[i].row,
                                                            .identity = r->rows[i].row,
                                                            .sources = &numbers[i],
                                                            .n_sources = 1,
                                                            .number = r->rows[i].number};
    }
    return numbers && run->list.items;
}

static bool run_stages(struct run *run, const struct heft_rules *rules,
                       struct heft_variables *variables)
{
    bool ok = true;

    for (uint32_t i = 0; ok && i < rules->n_stages; i++) {
        struct heft_stage_run stage = {.rules = rules,
                                       .stage = &rules->stages[i],
                                       .variables = variables,
                                       .mem = run->request->mem,
                                       .in = run->list,
                                       .equal = &run->equal,
                                       .n_equal = &run->n_equal,
                                       .cap_equal = &run->cap_equal,
                                       .err = run->err};

        ok = heft_stage_apply(&stage);
        run->list = stage.in;
        ok = ok && note_dropped(run, rules, &stage.dropped, stage.n_dropped);
        run->n_changed += stage.n_changed + stage.n_dropped;
        heft_buf_release(&stage.dropped);
    }
    return ok;
}

/* A file without effect is told. */
static bool note_idle(struct run *run, const struct heft_rules *rules)
{
    if (run->n_changed > 0)
        return true;
    if (run->request->is_strict)
        return heft_fail(run->err, HEFT_USAGE, HEFT_NO_OFFSET, "%s: no rule changes a tensor",
                         rules->file);
    return add_note(run, heft_arena_printf(run->request->mem, run->err,
                                           "%s: no rule changes a tensor", rules->file));
}

static bool run_program(struct run *run, const struct heft_rules *rules, const char *name)
{
    const struct heft_model *const model = run->request->model;
    struct heft_variables variables = {0};
    bool ok = list_files(run, rules, name) &&
              heft_variables_init(&variables, rules, model->files, input_of(model), run->settings,
                                  run->n_settings, run->err);

    mark_known(run, rules);
    run->n_changed = 0;
    for (uint32_t i = 0; ok && i < rules->n_notes; i++)
        ok = add_note(run,
                      heft_arena_text(run->request->mem, heft_str_of(rules->notes[i]), run->err));
    ok = ok && run_stages(run, rules, &variables) && note_idle(run, rules);
    heft_variables_release(&variables);
    return ok;
}

/* Names of a program, which is freed, are copied where results refer to them. */
static bool keep_file(struct run *run, const struct heft_rules *rules)
{
    const char *const file = heft_arena_text(run->request->mem, heft_str_of(rules->file), run->err);

    for (size_t i = 0; file && i < run->list.n; i++)
        if (run->list.items[i].file == rules->file)
            run->list.items[i].file = file;
    return file != NULL;
}

static bool run_file(struct run *run, const struct heft_rule *rule)
{
    struct heft_rules *const rules =
        heft_rules_open(run->request->model->files, rule->left, run->err);
    const struct heft_rules *program = rules;
    bool ok = rules != NULL;

    if (ok && rule->right)
        program = heft_rules_reverse(rules, run->err);
    ok = ok && program && run_program(run, program, rule->left) && keep_file(run, program);
    heft_rules_free(rules);
    return ok;
}

/* ---- the result ----------------------------------------------------------------------------- */

/* For each tensor the one that is written of those with its identity: the first that is no further name. */
static bool choose_kept(const struct run *run, uint32_t *kept)
{
    struct heft_strmap seen = {0};
    bool ok = heft_strmap_reserve(&seen, run->list.n, run->err);

    for (int also = 0; ok && also < 2; also++)
        for (uint32_t i = 0; ok && i < run->list.n; i++) {
            const struct heft_live *const live = &run->list.items[i];
            const struct heft_str key = {(const char *)&live->identity, sizeof live->identity};
            uint32_t found;

            if (live->is_also != (also == 1))
                continue;
            ok = heft_strmap_add(&seen, key, i, &found, run->err);
            kept[i] = found == HEFT_MAP_NONE ? i : found;
        }
    heft_strmap_release(&seen);
    return ok;
}

static void put_row(struct heft_ruling *out, const struct heft_live *live)
{
    struct heft_row *const row = &out->rows[out->n];

    *row = *live->row;
    row->name = live->name;
    out->from[out->n++] =
        (struct heft_ruled_from){live->sources, live->n_sources, live->line, live->file};
}

static bool check_names(const struct run *run)
{
    struct heft_strmap names = {0};
    bool ok = heft_strmap_reserve(&names, run->list.n, run->err);

    for (uint32_t i = 0; ok && i < run->list.n; i++) {
        const struct heft_live *const live = &run->list.items[i];
        uint32_t found;

        ok = heft_strmap_add(&names, live->name, i, &found, run->err);
        if (ok && found != HEFT_MAP_NONE)
            ok = heft_fail(
                run->err, HEFT_USAGE, HEFT_NO_OFFSET, "%s:%" PRIu32 ": a second tensor %s%s",
                live->file ? live->file : "rules", live->line, live->name.p,
                run->list.items[found].number == live->number ? "" : ", of another input file");
    }
    heft_strmap_release(&names);
    return ok;
}

static bool copy_pairs(struct run *run)
{
    struct heft_equal_rows *const copy =
        heft_arena_zero(run->request->mem, run->n_equal + 1, sizeof *copy, run->err);

    if (copy && run->n_equal > 0)
        memcpy(copy, run->equal, run->n_equal * sizeof *copy);
    run->out->pairs = copy;
    run->out->n_pairs = run->n_equal;
    return copy != NULL;
}

static const char **copy_texts(struct run *run, const char *const *list, size_t n)
{
    const char **const copy = heft_arena_zero(run->request->mem, n + 1, sizeof *copy, run->err);

    if (copy && n > 0)
        memcpy(copy, list, n * sizeof *copy);
    return copy;
}

/* Rows, and ties of those that are not written. */
static bool put_rows(struct run *run, const uint32_t *kept)
{
    struct heft_ruling *const out = run->out;
    uint32_t *const places =
        heft_arena_zero(run->request->mem, run->list.n + 1, sizeof *places, run->err);

    for (uint32_t i = 0; places && i < run->list.n; i++) {
        places[i] = (uint32_t)out->n;
        if (kept[i] == i)
            put_row(out, &run->list.items[i]);
    }
    out->ties = places ? heft_arena_zero(run->request->mem, run->list.n - out->n + 1,
                                         sizeof *out->ties, run->err)
                       : NULL;
    for (uint32_t i = 0; out->ties && i < run->list.n; i++)
        if (kept[i] != i)
            out->ties[out->n_ties++] =
                (struct heft_ruled_tie){run->list.items[i].name, places[kept[i]]};
    return out->ties != NULL;
}

static bool finish(struct run *run)
{
    struct heft_ruling *const out = run->out;
    struct heft_arena *const mem = run->request->mem;
    const size_t n = run->list.n + 1;
    uint32_t *const kept = heft_arena_zero(mem, n, sizeof *kept, run->err);

    out->rows = heft_arena_zero(mem, n, sizeof *out->rows, run->err);
    out->from = heft_arena_zero(mem, n, sizeof *out->from, run->err);
    out->notes = copy_texts(run, run->notes, run->n_notes);
    out->files = copy_texts(run, run->files, run->n_files);
    out->n_notes = run->n_notes;
    out->n_files = run->n_files;
    return kept && out->rows && out->from && out->notes && out->files && copy_pairs(run) &&
           check_names(run) && choose_kept(run, kept) && put_rows(run, kept);
}

static bool apply(const struct heft_ruler_request *request, struct heft_ruling *out,
                  struct heft_error *err)
{
    struct run run = {.request = request, .out = out, .err = err};
    bool ok = take_settings(&run) && begin_list(&run);

    for (size_t i = 0; ok && i < request->n_rules; i++)
        if (request->rules[i].kind == HEFT_RULE_FILE)
            ok = run_file(&run, &request->rules[i]);
    ok = ok && check_settings(&run) && finish(&run);
    heft_free(run.list.items);
    heft_free(run.equal);
    heft_free(run.notes);
    heft_free(run.files);
    return ok;
}

/* ---- the other functions of the object ------------------------------------------------------- */

/* Whether a name that is read says @{s}. */
static bool reads_numbers(const struct heft_rules *rules)
{
    for (uint32_t s = 0; s < rules->n_stages; s++)
        for (uint32_t i = 0; i < rules->stages[s].n_mappings; i++) {
            const struct heft_remap *const mapping = &rules->stages[s].mappings[i];

            for (uint32_t k = 0; k < mapping->n_left; k++)
                if (mapping->left[k].file_slot != HEFT_RULES_NONE)
                    return true;
        }
    return false;
}

static bool numbers(const struct heft_files *files, const struct heft_rule *rules, size_t n_rules,
                    bool *numbered, struct heft_error *err)
{
    bool ok = true;

    for (size_t i = 0; ok && i < n_rules; i++) {
        struct heft_rules *read;
        const struct heft_rules *program;

        if (rules[i].kind != HEFT_RULE_FILE)
            continue;
        program = read = heft_rules_open(files, rules[i].left, err);
        if (read && rules[i].right)
            program = heft_rules_reverse(read, err);
        ok = program != NULL;
        *numbered = *numbered || (ok && reads_numbers(program));
        heft_rules_free(read);
    }
    return ok;
}

static bool preset(size_t index, struct heft_rules_preset *out)
{
    const struct heft_preset *const found = heft_preset_at(index);

    if (found)
        *out = (struct heft_rules_preset){.name = found->name,
                                          .title = found->title,
                                          .text = found->text.p,
                                          .text_len = found->text.n};
    return found != NULL;
}

const struct heft_ruler heft_ruler = {.apply = apply, .numbers = numbers, .preset = preset};
