/* torch_script.c: archives of torch.jit.save: models with their program, including those for
 * mobile.
 *
 *     ROOT/data.pkl            the module: an object __torch__.…, attributes by NEWOBJ and BUILD
 *     ROOT/data/KEY            bytes of its storages
 *     ROOT/constants.pkl       tensors that the program calls CONSTANTS.c0, c1 …: a tuple
 *     ROOT/constants/KEY       bytes of these
 *     ROOT/code/….py           the program as text: deflated, never run, never parsed
 *     ROOT/code/….debug_pkl    the source of each line
 *     ROOT/extra/NAME          files added by the user
 *     ROOT/traced_inputs.pkl   shapes of the example inputs; their records are empty
 *     ROOT/bytecode.pkl        the program for mobile (.ptl); its storages are in constants/ or, before
 *                              bytecode version 5, in bytecode/
 *     ROOT/version …           as in any torch zip (torch_records.c)
 *
 * Rows: attributes of the module and its submodules by path, then constants.0 …, then bytecode.0 …
 * for storages that only bytecode.pkl has. Everything else becomes a value. */
#include "core/registry.h"
#include "format/torch/zip/torch_archive.h"

#include "base/text.h"

/* bytes of all extra files that become values */
#define MOST_EXTRA (UINT64_C(16) << 20)
#define CONSTANTS  HEFT_STR("constants.pkl")
#define BYTECODE   HEFT_STR("bytecode.pkl")
#define TRACED     HEFT_STR("traced_inputs.pkl")
#define EXTRA      HEFT_STR("extra/")

struct script {
    struct heft_torch_zip *z;
    struct heft_value *values; /* root of the model's values */
    int protocol;              /* pickle protocol of data.pkl */
    int64_t bytecode;          /* version of bytecode.pkl; 0 if absent */
    struct heft_error *err;
};

/* ---- values ------------------------------------------------------------------------------ */

static struct heft_value *new_value(struct script *s, const char *key, enum heft_value_kind kind)
{
    struct heft_value *value = heft_arena_zero(&s->z->model->mem, 1, sizeof *value, s->err);

    if (!value)
        return NULL;
    value->key = key;
    value->key_len = strlen(key);
    value->kind = kind;
    return value;
}

/* Inserts a value before the attributes of the module. */
static void attach_value(struct script *s, struct heft_value *child)
{
    child->next_sibling = s->values->first_child;
    s->values->first_child = child;
}

/* ---- data.pkl, constants.pkl ------------------------------------------------------------- */

static bool read_module(struct script *s)
{
    const uint32_t entry =
        (uint32_t)(s->z->pkl - s->z->zip.entries); /* fits: at most limits.entries */
    struct heft_torch t = {0};
    const bool ok = heft_torch_read_record(s->z, entry, "data.pkl", &t, s->err);

    s->values = ok && !t.values ? new_value(s, "", HEFT_VALUE_DICT) : t.values;
    s->protocol = t.pickle.protocol;
    heft_torch_release(&t);
    return ok && s->values;
}

static bool read_constants(struct script *s)
{
    const uint32_t entry = heft_torch_record(s->z, CONSTANTS);
    struct heft_torch t = {.prefix = HEFT_STR("constants")};
    bool ok;

    s->z->folder = HEFT_STR("constants/");
    ok = heft_torch_read_record(s->z, entry, "constants.pkl", &t, s->err);
    if (ok && t.values)
        attach_value(s, t.values);
    heft_torch_release(&t);
    return ok;
}

/* ---- bytecode.pkl ------------------------------------------------------------------------ */

/* Marks storages that have rows: further references from bytecode.pkl are not new tensors. */
static uint8_t *storages_in_use(struct script *s, struct heft_arena *scratch)
{
    const struct heft_model *model = s->z->model;
    uint8_t *used = heft_arena_zero(scratch, model->n_storages + 1, 1, s->err);

    for (size_t i = 0; used && i < model->n_rows; i++)
        for (uint32_t k = 0; k < heft_row_pieces(&model->rows[i]); k++)
            used[heft_row_storage(&model->rows[i], k)] = 1;
    return used;
}

static bool add_own_row(struct script *s, struct heft_torch_made *made, size_t *number)
{
    struct heft_model *model = s->z->model;
    const char *name = heft_arena_printf(&model->mem, s->err, "bytecode.%zu", (*number)++);

    if (!name)
        return false;
    made->row.name = heft_str_of(name);
    return heft_model_add_row(model, &made->row, s->err);
}

/* The tree of bytecode.pkl is a program: its tensors are added in the order of the pickle. */
static bool add_own_rows(struct script *s, struct heft_torch *t)
{
    const uint8_t *used = storages_in_use(s, &t->scratch);
    struct heft_torch_made made;
    size_t number = 0;

    for (uint32_t i = 0; used && i < t->pickle.count; i++) {
        if (!heft_torch_is(t, i, HEFT_PICKLE_CALL))
            continue;
        if (!heft_torch_tensor(t, i, &made, s->err))
            return false;
        if (made.found == HEFT_TORCH_ROW && !used[made.row.storage] &&
            !add_own_row(s, &made, &number))
            return false;
    }
    return used != NULL;
}

static bool read_bytecode(struct script *s)
{
    const uint32_t entry = heft_torch_record(s->z, BYTECODE);
    struct heft_torch t = {0};
    uint32_t version;
    bool ok;

    if (entry == HEFT_NONE)
        return true;
    s->z->folder = HEFT_STR("bytecode/");
    s->z->elsewhere = HEFT_STR("constants/");
    ok = heft_torch_run_record(s->z, entry, "bytecode.pkl", &t, s->err);
    version = ok ? heft_torch_item(&t, t.pickle.root, 0) : HEFT_PICKLE_NIL;
    if (heft_torch_is(&t, version, HEFT_PICKLE_INT))
        s->bytecode = heft_torch_node(&t, version)->u.integer;
    ok = ok && add_own_rows(s, &t) && heft_torch_claim_pickle(&t, s->err);
    s->z->elsewhere = (struct heft_str){0};
    heft_torch_release(&t);
    return ok;
}

/* ---- traced_inputs.pkl ------------------------------------------------------------------- */

/* Reads the example inputs. torch.jit.save omits their bytes, so they are not tensors of the
 * model. */
static bool read_traced(struct script *s)
{
    const uint32_t entry = heft_torch_record(s->z, TRACED);
    struct heft_torch t = {0};
    bool ok;

    if (entry == HEFT_NONE)
        return true;
    s->z->folder = HEFT_STR("traced_inputs/");
    s->z->may_lack_data = true;
    ok = heft_torch_run_record(s->z, entry, "traced_inputs.pkl", &t, s->err) &&
         heft_torch_claim_pickle(&t, s->err);
    s->z->may_lack_data = false;
    heft_torch_release(&t);
    return ok;
}

/* ---- extra files and code ---------------------------------------------------------------- */

/* Reads an extra file as text. Its bytes also remain a storage, so that verify checks them. */
static const char *fetch_extra(struct script *s, const struct heft_zip_entry *entry)
{
    struct heft_model *model = s->z->model;
    struct heft_arena mem = {0};
    struct heft_bytes bytes;
    const char *text = NULL;

    if (heft_zip_fetch(&model->sources[s->z->source].source, entry, entry->size, false, &mem,
                       &bytes, s->err))
        text =
            heft_arena_text(&model->mem, (struct heft_str){(const char *)bytes.p, bytes.n}, s->err);
    heft_arena_release(&mem);
    return text;
}

static bool add_extra(struct script *s, const struct heft_zip_entry *entry, const char *key,
                      struct heft_value *extra, struct heft_value **last)
{
    struct heft_value *value = new_value(s, key, HEFT_VALUE_STRING);

    if (!value)
        return false;
    value->text = fetch_extra(s, entry);
    if (!value->text)
        return false;
    value->text_len = (size_t)entry->size; /* fits: the file is in memory */
    if (heft_utf8_check((struct heft_bytes){(const uint8_t *)value->text, value->text_len}) <
        value->text_len)
        value->kind = HEFT_VALUE_BYTES;
    if (*last)
        (*last)->next_sibling = value;
    else
        extra->first_child = value;
    *last = value;
    return true;
}

static bool note_large(struct script *s, const struct heft_zip_entry *entry)
{
    return heft_model_note(s->z->model, HEFT_NOTE, s->z->source, entry->data, s->err,
                           "extra file %.200s (%" PRIu64
                           " bytes) is not shown as a value: the limit is 16 MiB in all",
                           entry->name.p, entry->size);
}

static bool read_extra(struct script *s)
{
    struct heft_value *extra = new_value(s, "extra", HEFT_VALUE_DICT), *last = NULL;
    uint64_t left = MOST_EXTRA;

    for (size_t i = 0; extra && i < s->z->zip.count; i++) {
        const struct heft_zip_entry *entry = &s->z->zip.entries[i];
        const struct heft_str name = heft_torch_inner_name(s->z, entry);

        if (s->z->marks[i] != HEFT_TORCH_LOOSE || entry->is_folder || !heft_str_starts(name, EXTRA))
            continue;
        if (entry->size > left ? !note_large(s, entry)
                               : !add_extra(s, entry, name.p + EXTRA.n, extra, &last))
            return false;
        s->z->marks[i] = HEFT_TORCH_EXTRA;
        left -= entry->size > left ? 0 : entry->size;
    }
    if (last)
        attach_value(s, extra);
    return extra != NULL;
}

static bool is_code(struct heft_str name)
{
    static const char suffix[] = ".debug_pkl";
    const size_t n = sizeof suffix - 1;

    return heft_str_starts(name, HEFT_STR("code/")) ||
           (name.n > n && memcmp(name.p + name.n - n, suffix, n) == 0) ||
           heft_str_is(name, "mobile_debug_handles.pkl") ||
           heft_str_is(name, "callstack_debug_map.pkl");
}

static void mark_code(struct heft_torch_zip *z)
{
    z->code = "TorchScript code ";
    for (size_t i = 0; i < z->zip.count; i++)
        if (z->marks[i] == HEFT_TORCH_LOOSE && !z->zip.entries[i].is_folder &&
            is_code(heft_torch_inner_name(z, &z->zip.entries[i])))
            z->marks[i] = HEFT_TORCH_CODE;
}

/* ---- open -------------------------------------------------------------------------------- */

static bool name_version(struct script *s)
{
    struct heft_model *model = s->z->model;
    const char *mobile = "";

    if (s->bytecode)
        mobile = heft_arena_printf(&model->mem, s->err, ", mobile bytecode %" PRId64, s->bytecode);
    if (!mobile)
        return false;
    model->format = "torchscript";
    model->version = heft_arena_printf(
        &model->mem, s->err, "zip, TorchScript file version %" PRIu64 "%s, pickle protocol %d%s",
        s->z->version, mobile, s->protocol, s->z->is_big ? ", big-endian" : "");
    return model->version != NULL;
}

bool heft_torch_read_script(struct heft_torch_zip *z, struct heft_error *err)
{
    struct script s = {.z = z, .err = err};

    if (!read_module(&s) || !read_constants(&s) || !read_bytecode(&s) || !read_traced(&s) ||
        !read_extra(&s) || !name_version(&s))
        return false;
    mark_code(z);
    if (s.values->first_child)
        z->model->values = s.values;
    return true;
}

static int probe_script(const struct heft_probe *sample)
{
    static const char name[] = "/constants.pkl";

    if (sample->head.n < 4 || memcmp(sample->head.p, "PK\3\4", 4) != 0)
        return 0;
    return heft_text_mentions(sample->tail, name) || heft_text_mentions(sample->head, name) ? 95
                                                                                            : 0;
}

static bool open_script(struct heft_model *model, uint32_t source, struct heft_error *err)
{
    struct heft_torch_zip z;
    bool ok = heft_torch_open_zip(&z, model, source, err);

    if (ok && !heft_torch_is_script(&z))
        ok = heft_fail(err, HEFT_MALFORMED, 0,
                       "record %.100s/constants.pkl is missing: every TorchScript archive has it",
                       z.root.p);
    ok = ok && heft_torch_read_records(&z, err) && heft_torch_read_script(&z, err) &&
         heft_torch_claim_zip(&z, err);
    heft_torch_release_zip(&z);
    return ok;
}

static const struct heft_file_name names[] = {
    {".ptl", .rank = HEFT_FILE_WEIGHTS, .order = 13},
    {0},
};

const struct heft_format heft_format_torchscript = {
    .name = "torchscript",
    .summary = "TorchScript archives of torch.jit.save, including mobile (.ptl)",
    .names = names,
    .probe = probe_script,
    .open = open_script,
    .verify = heft_torch_verify,
};
