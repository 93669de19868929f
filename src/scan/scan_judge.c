/* scan_judge.c: imports and calls of one pickle, after the pickle machine has run it.
 *
 *     node                       reported as      judged by
 *     GLOBAL module name         import           the name (scan_names.c)
 *     CALL callee arguments      call             its callee, which may be the result of a call
 *     GLOBAL that got a state    patch            danger: attributes of a class or module replaced
 *     bytes that are a pickle    their own lines  as a place within this one
 *
 * Two functions are as dangerous as their arguments:
 *
 *     builtins.getattr(object, "name")      unknown for a plain constant name: enumerations and
 *                                           bound methods are pickled that way
 *     torch.storage._load_from_bytes(bytes) as the pickles in these bytes
 *
 * This holds only where the call is visible: passed as a value, both functions are dangers. */
#include "scan/scan_parts.h"

#include "scan/scan_names.h"
#include "format/torch/pickle/torch_globals.h"

enum role { PLAIN, GETATTR, LOADER };
enum { HANDED = 1, CALLED = 2 }; /* uses of a GLOBAL: passed as a value, called */

struct judged {
    struct heft_scan *scan;
    const struct heft_scan_place *place;
    uint64_t at; /* offset of the pickle in the place, in bytes */
    const struct heft_pickle *pickle;
    struct heft_strmap *seen; /* "import module.name" → danger + 1, for names already reported */
    struct heft_strmap own;
    struct heft_buf key;         /* key of the current node */
    struct heft_buf name, label; /* buffers for bytes within the pickle */
    struct heft_arena mem;
    struct heft_arena *names; /* owner of the keys: lives as long as `seen` */
    uint32_t *inner; /* per node: the GLOBAL that starts a chain of calls; or HEFT_PICKLE_NIL */
    uint8_t *danger; /* per node: danger of a CALL */
    uint8_t *uses;   /* per node: HANDED or CALLED, or both, of a GLOBAL */
};

/* ---- judging names ----------------------------------------------------------------------- */

static bool is_kind(const struct heft_pickle *pickle, uint32_t node, enum heft_pickle_kind kind)
{
    return node != HEFT_PICKLE_NIL && heft_pickle_at(pickle, node)->kind == kind;
}

static struct heft_str module_of(const struct heft_pickle *pickle, uint32_t node)
{
    return heft_pickle_text(pickle, heft_pickle_at(pickle, node)->module);
}

static bool is_computed(const struct heft_pickle *pickle, uint32_t node)
{
    return heft_pickle_at(pickle, node)->module == HEFT_PICKLE_NIL;
}

/* True for names that TorchScript's own reader handles itself, without an import. */
static bool is_script_name(struct heft_str module, struct heft_str name)
{
    static const char *const helpers[] = {"build_boollist",   "build_doublelist",
                                          "build_intlist",    "build_tensor_from_id",
                                          "build_tensorlist", "restore_type_tag"};

    if (heft_str_is(module, "__torch__") || heft_str_starts(module, HEFT_STR("__torch__.")))
        return true;
    if (!heft_str_is(module, "torch.jit._pickle"))
        return false;
    for (size_t i = 0; i < HEFT_COUNT(helpers); i++)
        if (heft_str_is(name, helpers[i]))
            return true;
    return false;
}

static enum heft_danger name_danger(const struct heft_scan_place *place, struct heft_str module,
                                    struct heft_str name)
{
    if (place->script && is_script_name(module, name))
        return HEFT_ALLOWED;
    return heft_scan_danger(module, name);
}

static enum role role_of(const struct heft_pickle *pickle, uint32_t node)
{
    struct heft_str module, name;

    if (is_computed(pickle, node))
        return PLAIN;
    module = module_of(pickle, node);
    name = heft_pickle_text(pickle, node);
    if (heft_str_is(name, "_load_from_bytes") && heft_str_is(module, "torch.storage"))
        return LOADER;
    if (!heft_str_is(name, "getattr"))
        return PLAIN;
    heft_torch_rename(&module, &name);
    return heft_str_is(module, "builtins") ? GETATTR : PLAIN;
}

static enum heft_danger import_danger(const struct judged *j, uint32_t node)
{
    const enum role role = role_of(j->pickle, node);

    if (is_computed(j->pickle, node) || (role != PLAIN && (j->uses[node] & HANDED)))
        return HEFT_DANGER;
    if (role == GETATTR)
        return HEFT_UNKNOWN;
    if (role == LOADER) /* its calls are judged instead */
        return j->uses[node] & CALLED ? HEFT_ALLOWED : HEFT_UNKNOWN;
    return name_danger(j->place, module_of(j->pickle, node), heft_pickle_text(j->pickle, node));
}

bool heft_scan_has_names(const struct heft_pickle *pickle)
{
    for (uint32_t i = 0; i < pickle->count; i++)
        if (is_kind(pickle, i, HEFT_PICKLE_GLOBAL) || is_kind(pickle, i, HEFT_PICKLE_CALL))
            return true;
    return false;
}

static bool is_danger(const struct heft_scan_place *place, const struct heft_pickle *pickle,
                      uint32_t global)
{
    return !is_computed(pickle, global) && /* a code of copyreg is usually not registered */
           name_danger(place, module_of(pickle, global), heft_pickle_text(pickle, global)) ==
               HEFT_DANGER;
}

/* True if a file of that module may exist. CPython stops at an import of any other module. */
static bool may_be_there(struct heft_str module)
{
    for (size_t i = 0; i < module.n; i++) {
        const uint8_t c = (uint8_t)module.p[i];

        if (c < 0x80 && c != '_' && c != '.' && c != '-' && !(c >= '0' && c <= '9') &&
            !((c | 0x20) >= 'a' && (c | 0x20) <= 'z'))
            return false;
    }
    return module.n > 0;
}

/* True if a method of a GLOBAL is called, or attributes of it are replaced. */
static bool is_patched(const struct heft_pickle_node *node)
{
    return node->first != HEFT_PICKLE_NIL || node->pairs || node->state != HEFT_PICKLE_NIL;
}

bool heft_scan_acts(const struct heft_scan_place *place, const struct heft_pickle *pickle)
{
    for (uint32_t i = 0; i < pickle->count; i++) {
        const struct heft_pickle_node *node = heft_pickle_at(pickle, i);

        if (node->kind == HEFT_PICKLE_CALL)
            return true;
        if (node->kind != HEFT_PICKLE_GLOBAL)
            continue;
        if (!is_computed(pickle, i) && !may_be_there(module_of(pickle, i)))
            return false; /* CPython fails here, so nothing after it runs */
        if (is_patched(node) || is_danger(place, pickle, i))
            return true;
    }
    return false;
}

/* ---- findings ---------------------------------------------------------------------------- */

static void begin_key(struct judged *j, const char *what)
{
    j->key.n = 0;
    heft_buf_text(&j->key, what);
    heft_buf_char(&j->key, ' ');
}

/* Appends a text, NUL written as \0, because names are passed to the caller as C strings. */
static void put_text(struct heft_buf *key, struct heft_str text)
{
    const char *nul;

    while (text.n && (nul = memchr(text.p, 0, text.n)) != NULL) {
        const size_t n = (size_t)(nul - text.p);

        heft_buf_str(key, (struct heft_str){text.p, n});
        heft_buf_text(key, "\\0");
        text = (struct heft_str){nul + 1, text.n - n - 1};
    }
    heft_buf_str(key, text);
}

static void put_global(struct judged *j, uint32_t node)
{
    if (is_computed(j->pickle, node)) {
        heft_buf_text(&j->key, heft_pickle_at(j->pickle, node)->how == HEFT_PICKLE_LONG
                                   ? "a name of more than 1024 bytes"
                                   : "a name computed by the pickle");
        return;
    }
    put_text(&j->key, module_of(j->pickle, node));
    heft_buf_char(&j->key, '.');
    put_text(&j->key, heft_pickle_text(j->pickle, node));
}

/* Reports a node, unless an equal one of the same or a greater danger was reported before.
 * j->key is "import module.name". */
static bool report_node(struct judged *j, uint32_t node, const char *what, enum heft_danger danger,
                        struct heft_error *err)
{
    const uint32_t at = heft_pickle_at(j->pickle, node)->at;
    struct heft_scan_item item = {.danger = danger,
                                  .record = j->place->record,
                                  .offset = heft_scan_offset(j->place, j->at + at),
                                  .position = at,
                                  .what = what};
    struct heft_str key;
    uint32_t before;

    if (!heft_buf_ok(&j->key, err))
        return false;
    key = (struct heft_str){j->key.p, j->key.n};
    before = heft_strmap_get(j->seen, key);
    if (danger > j->scan->worst)
        j->scan->worst = danger;
    if (before != HEFT_MAP_NONE && before > (uint32_t)danger)
        return true;
    key.p = heft_arena_text(j->names, key, err);
    if (!key.p || !heft_strmap_set(j->seen, key, (uint32_t)danger + 1, err))
        return false;
    item.name = key.p + strlen(what) + 1;
    heft_scan_report(j->scan, &item);
    return true;
}

/* ---- bytes that may be packed code ------------------------------------------------------- */

/* True if the value was changed after its creation, by added elements or a state. */
static bool is_changed(const struct heft_pickle_node *node)
{
    return node->first != HEFT_PICKLE_NIL || node->state != HEFT_PICKLE_NIL;
}

/* Sets *out to the bytes of a value, decoded into mem if they were pickled as text; empty if the
 * value is not bytes or is not known. */
static bool bytes_of(struct judged *j, uint32_t node, struct heft_arena *mem,
                     struct heft_bytes *out, struct heft_error *err)
{
    const struct heft_pickle_node *n;

    *out = (struct heft_bytes){NULL, 0};
    if (node == HEFT_PICKLE_NIL)
        return true;
    n = heft_pickle_at(j->pickle, node);
    if (is_changed(n))
        return true;
    if (n->kind == HEFT_PICKLE_BYTES || n->kind == HEFT_PICKLE_BYTEARRAY ||
        n->kind == HEFT_PICKLE_PY2STR) {
        *out = (struct heft_bytes){n->u.text.p, n->len};
        return true;
    }
    if (!heft_scan_is_encoded(j->pickle, node) ||
        !heft_scan_pay(j->scan, j->place, heft_scan_text_length(j->pickle, node)))
        return true;
    return heft_scan_encode(j->pickle, node, mem, out, err);
}

static bool looks_packed(struct heft_bytes bytes)
{
    return bytes.n >= 4 && (heft_scan_is_start(bytes.p) || memcmp(bytes.p, "PK\3\4", 4) == 0 ||
                            memcmp(bytes.p, "\x1f\x8b\x08", 3) == 0);
}

/* Scans the bytes of the value at `node` as a place within this one. */
static bool judge_bytes(struct judged *j, uint32_t node, struct heft_bytes bytes, bool loaded,
                        struct heft_error *err)
{
    const struct heft_bytes all = j->pickle->data;
    const uint32_t at = heft_pickle_at(j->pickle, node)->at;
    const bool verbatim = bytes.p >= all.p && bytes.p < all.p + all.n;
    struct heft_scan_place place = *j->place;

    if (j->place->depth >= HEFT_SCAN_DEPTH)
        return heft_scan_report_text(j->scan, j->place, j->at + at, HEFT_UNKNOWN, "packed",
                                     HEFT_SCAN_DEEP);
    if (!heft_scan_pay(j->scan, j->place, bytes.n))
        return true;
    j->name.n = 0;
    heft_buf_text(&j->name, "bytes at ");
    heft_buf_u64(&j->name, j->at + at);
    if (!heft_buf_ok(&j->name, err))
        return false;
    place.record =
        heft_scan_label(&j->label, j->place, (struct heft_str){j->name.p, j->name.n}, err);
    place.base =
        verbatim ? heft_scan_offset(j->place, j->at + (uint64_t)(bytes.p - all.p)) : HEFT_NO_OFFSET;
    place.depth++;
    place.member = HEFT_STR("");
    place.named = loaded;
    place.quiet = !loaded;
    place.packed = loaded;
    place.seen = j->seen;
    return place.record && heft_scan_memory(j->scan, &place, bytes, err);
}

/* ---- judging calls ----------------------------------------------------------------------- */

/* Danger of getattr(object, name). */
static enum heft_danger getattr_danger(const struct judged *j, uint32_t args)
{
    const struct heft_pickle *p = j->pickle;
    const uint32_t object =
        is_kind(p, args, HEFT_PICKLE_TUPLE) ? heft_pickle_item(p, args, 0) : HEFT_PICKLE_NIL;
    const uint32_t attribute =
        object == HEFT_PICKLE_NIL ? HEFT_PICKLE_NIL : heft_pickle_item(p, args, 1);
    struct heft_str module, name, text;
    char joined[2 * 1024 + 2];

    if (!is_kind(p, attribute, HEFT_PICKLE_STR) && !is_kind(p, attribute, HEFT_PICKLE_PY2STR))
        return HEFT_DANGER;
    text = heft_pickle_text(p, attribute);
    module = HEFT_STR("object"); /* a value of unknown type */
    name = HEFT_STR("");
    if (is_kind(p, object, HEFT_PICKLE_GLOBAL)) {
        if (is_computed(p, object))
            return HEFT_DANGER;
        module = module_of(p, object);
        name = heft_pickle_text(p, object);
    } else if (is_kind(p, object, HEFT_PICKLE_CALL) && j->danger[object] == HEFT_DANGER) {
        return HEFT_DANGER;
    }
    if (text.n == 0 || name.n + 1 + text.n > sizeof joined)
        return HEFT_DANGER;
    memcpy(joined, name.p, name.n);
    joined[name.n] = '.';
    memcpy(joined + name.n + 1, text.p, text.n);
    name = name.n ? (struct heft_str){joined, name.n + 1 + text.n} : text;
    return heft_scan_danger(module, name) == HEFT_DANGER ? HEFT_DANGER : HEFT_UNKNOWN;
}

/* Scans the bytes that a loader gets as its argument; *danger is the worst finding in them. */
static bool judge_loaded(struct judged *j, uint32_t args, bool *known, enum heft_danger *danger,
                         struct heft_error *err)
{
    const enum heft_danger before = j->scan->worst;
    const uint32_t first = is_kind(j->pickle, args, HEFT_PICKLE_TUPLE)
                               ? heft_pickle_item(j->pickle, args, 0)
                               : HEFT_PICKLE_NIL;
    const bool complete = j->scan->complete;
    struct heft_arena mem = {0};
    struct heft_bytes bytes;
    bool ok = bytes_of(j, first, &mem, &bytes, err);

    *known = ok && bytes.n;
    j->scan->worst = HEFT_ALLOWED;
    ok = ok && (!*known || judge_bytes(j, first, bytes, true, err));
    heft_arena_release(&mem);
    *danger = j->scan->worst;
    if (complete && !j->scan->complete && *danger < HEFT_UNKNOWN)
        *danger = HEFT_UNKNOWN; /* the bytes after the error are not known */
    if (before > j->scan->worst)
        j->scan->worst = before;
    return ok;
}

/* True for pickle.loads, dill.loads, joblib.load and others by their last part. */
static bool loads_pickles(struct heft_str name)
{
    return heft_str_is(name, "loads") || heft_str_is(name, "load") || heft_str_is(name, "_loads") ||
           heft_str_is(name, "_load_from_bytes");
}

static bool direct_danger(struct judged *j, uint32_t call, uint32_t callee,
                          enum heft_danger *danger, struct heft_error *err)
{
    const uint32_t args = heft_pickle_at(j->pickle, call)->u.call.args;
    const enum role role = role_of(j->pickle, callee);
    enum heft_danger loaded = HEFT_DANGER;
    bool known;

    *danger = import_danger(j, callee);
    if (role == GETATTR)
        *danger = getattr_danger(j, args);
    if (is_computed(j->pickle, callee) || !loads_pickles(heft_pickle_text(j->pickle, callee)))
        return true;
    if (!judge_loaded(j, args, &known, &loaded, err))
        return false;
    if (role == LOADER)
        *danger = known ? loaded : HEFT_DANGER;
    return true;
}

/* Judges a call. The callee is a global, or the result of another call, which is unknown. */
static bool judge_call(struct judged *j, uint32_t call, struct heft_error *err)
{
    const uint32_t callee = heft_pickle_at(j->pickle, call)->u.call.callee;
    const uint32_t inner = j->inner[callee];
    enum heft_danger danger = HEFT_UNKNOWN;

    j->inner[call] = inner;
    if (inner == callee) {
        if (!direct_danger(j, call, callee, &danger, err))
            return false;
    } else if (inner != HEFT_PICKLE_NIL && j->danger[callee] == HEFT_DANGER) {
        danger = HEFT_DANGER;
    }
    j->danger[call] = (uint8_t)danger;
    begin_key(j, "call");
    if (inner != callee)
        heft_buf_text(&j->key, "the result of ");
    if (inner == HEFT_PICKLE_NIL)
        heft_buf_text(&j->key, "a persistent id");
    else
        put_global(j, inner);
    return report_node(j, call, "call", danger, err);
}

static bool judge_global(struct judged *j, uint32_t node, struct heft_error *err)
{
    const struct heft_pickle_node *n = heft_pickle_at(j->pickle, node);

    j->inner[node] = node;
    begin_key(j, "import");
    put_global(j, node);
    if (!report_node(j, node, "import", import_danger(j, node), err))
        return false;
    if (!is_patched(n))
        return true;
    begin_key(j, "patch");
    put_global(j, node);
    return report_node(j, node, "patch", HEFT_DANGER, err);
}

/* Scans bytes that were pickled as text. Decodes them only if they begin like a pickle or a zip. */
static bool judge_encoded(struct judged *j, uint32_t call, struct heft_error *err)
{
    const struct heft_pickle_node *n = heft_pickle_at(j->pickle, call);
    const uint32_t first = is_kind(j->pickle, n->u.call.args, HEFT_PICKLE_TUPLE)
                               ? heft_pickle_item(j->pickle, n->u.call.args, 0)
                               : HEFT_PICKLE_NIL;
    struct heft_arena mem = {0};
    struct heft_bytes bytes;
    bool ok;

    if (!is_kind(j->pickle, first, HEFT_PICKLE_STR) ||
        !(heft_str_starts(heft_pickle_text(j->pickle, first), HEFT_STR("\xc2\x80")) ||
          heft_str_starts(heft_pickle_text(j->pickle, first), HEFT_STR("PK\3\4"))))
        return true;
    ok = bytes_of(j, call, &mem, &bytes, err) &&
         (!looks_packed(bytes) || judge_bytes(j, call, bytes, false, err));
    heft_arena_release(&mem);
    return ok;
}

static bool judge_node(struct judged *j, uint32_t node, struct heft_error *err)
{
    struct heft_bytes bytes;

    switch (heft_pickle_at(j->pickle, node)->kind) {
    case HEFT_PICKLE_GLOBAL:
        return judge_global(j, node, err);
    case HEFT_PICKLE_CALL:
        return judge_call(j, node, err) && judge_encoded(j, node, err);
    case HEFT_PICKLE_BYTES:
    case HEFT_PICKLE_BYTEARRAY:
    case HEFT_PICKLE_PY2STR:
        bytes = (struct heft_bytes){heft_pickle_at(j->pickle, node)->u.text.p,
                                    heft_pickle_at(j->pickle, node)->len};
        return !looks_packed(bytes) || judge_bytes(j, node, bytes, false, err);
    default:
        return true;
    }
}

/* ---- judging all nodes ------------------------------------------------------------------- */

static void mark_use(struct judged *j, uint32_t node, unsigned how)
{
    if (is_kind(j->pickle, node, HEFT_PICKLE_GLOBAL))
        j->uses[node] |= (uint8_t)how;
}

/* Finds out which globals are called, and which are passed as values. */
static void find_uses(struct judged *j)
{
    for (uint32_t i = 0; i < j->pickle->count; i++) {
        const struct heft_pickle_node *node = heft_pickle_at(j->pickle, i);
        struct heft_pickle_iter iter = heft_pickle_items(j->pickle, i);
        uint32_t item;

        while (heft_pickle_next(&iter, &item))
            mark_use(j, item, HANDED);
        mark_use(j, node->state, HANDED);
        if (node->kind == HEFT_PICKLE_CALL || node->kind == HEFT_PICKLE_PERSID)
            mark_use(j, node->u.call.args, HANDED);
        if (node->kind != HEFT_PICKLE_CALL)
            continue;
        mark_use(j, node->module, HANDED);
        mark_use(j, node->u.call.callee, CALLED);
    }
}

static bool needs_uses(const struct heft_pickle *pickle)
{
    for (uint32_t i = 0; i < pickle->count; i++)
        if (is_kind(pickle, i, HEFT_PICKLE_GLOBAL) && role_of(pickle, i) != PLAIN)
            return true;
    return false;
}

/* Allocates the notes on nodes. */
static bool prepare_nodes(struct judged *j, struct heft_error *err)
{
    const size_t n = j->pickle->count;

    j->inner = heft_arena_alloc(&j->mem, n * sizeof *j->inner, err);
    j->danger = heft_arena_zero(&j->mem, n, 1, err);
    j->uses = heft_arena_zero(&j->mem, n, 1, err);
    if (!j->inner || !j->danger || !j->uses)
        return false;
    memset(j->inner, 0xFF, n * sizeof *j->inner); /* every entry becomes HEFT_PICKLE_NIL */
    if (needs_uses(j->pickle))
        find_uses(j);
    return true;
}

bool heft_scan_judge(struct heft_scan *s, const struct heft_scan_place *place, uint64_t at,
                     const struct heft_pickle *pickle, struct heft_error *err)
{
    struct judged j = {.scan = s, .place = place, .at = at, .pickle = pickle};
    const uint64_t taken = heft_min_u64(s->nodes, pickle->count);
    bool ok;

    j.seen = place->seen ? place->seen : &j.own;
    j.names = place->seen ? &s->mem : &j.mem;
    ok = !heft_scan_has_names(pickle) || prepare_nodes(&j, err);
    s->pickles++;
    s->nodes -= taken; /* while these nodes are in memory, pickles within may only use the rest */
    for (uint32_t i = 0; ok && i < pickle->count; i++)
        ok = judge_node(&j, i, err);
    s->nodes += taken;
    if (ok && pickle->bent != HEFT_PICKLE_NIL)
        ok = heft_scan_report_text(
            s, place, at + pickle->bent, HEFT_DANGER, "trick",
            "an opcode that extends beyond its frame: readers interpret it differently");
    if (ok)
        ok = heft_scan_keep_storages(s, place, pickle, err);
    heft_strmap_release(&j.own);
    heft_buf_release(&j.key);
    heft_buf_release(&j.name);
    heft_buf_release(&j.label);
    heft_arena_release(&j.mem);
    return ok;
}
