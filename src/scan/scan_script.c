/* scan_script.c: operations of TorchScript that do more than compute tensors.
 *
 *     code/__torch__/model.py   x = torch.add(a, b)      aten, printed as torch.NAME
 *                               y = ops.prim.min(x, c)   other libraries: ops.LIBRARY.NAME
 *                               z = __torch__.torch.classes.LIBRARY.NAME   classes in C++
 *     bytecode.pkl              ("aten::save", "", 2)    the same, for mobile
 *     models/model.json         "target": "torch.ops.LIBRARY.NAME.OVERLOAD"  torch.export
 *
 * An operation of a library that is not part of torch needs another native library. */
#include "scan/scan_parts.h"

#include "base/endian.h"

/* Libraries of operations and of classes in torch 2.13. */
static const char *const libraries[] = {
    "_c10d_functional",
    "_c10d_functional_autograd",
    "_dtensor",
    "_native",
    "_quantized",
    "aten",
    "c10d",
    "cuda",
    "debugprims",
    "export",
    "higher_order",
    "inductor",
    "inductor_prims",
    "mkl",
    "mkldnn",
    "mkldnn_prepacked",
    "onednn",
    "onnx",
    "prepacked",
    "prim",
    "prims",
    "profiler",
    "quantization",
    "quantized",
    "quantized_decomposed",
    "rngprims",
    "rnn",
    "sparse",
    "static_runtime",
    "symm_mem",
    "tensorexpr",
    "vulkan_prepack",
    "metal_prepack",
    "xnnpack",
};

static const struct {
    const char *library, *name, *why;
    enum heft_danger danger;
} unsafe_ops[] = {
    {"aten", "save", "writes a file", HEFT_DANGER},
    {"aten", "from_file", "maps a file, which it may create", HEFT_DANGER},
    {"prim", "rpc_async", "communicates with other processes", HEFT_UNKNOWN},
    {"prim", "rpc_sync", "communicates with other processes", HEFT_UNKNOWN},
    {"prim", "rpc_remote", "communicates with other processes", HEFT_UNKNOWN},
};

/* ---- words of the source ----------------------------------------------------------------- */

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* Returns the identifier at *at and moves *at to its end. */
static struct heft_str word_at(struct heft_str text, size_t *at)
{
    const size_t begin = *at;

    while (*at < text.n && is_word(text.p[*at]))
        ++*at;
    return (struct heft_str){text.p + begin, *at - begin};
}

static bool take_mark(struct heft_str text, size_t *at, const char *mark)
{
    const size_t n = strlen(mark);

    if (text.n - *at < n || memcmp(text.p + *at, mark, n) != 0)
        return false;
    *at += n;
    return true;
}

/* ---- judging operations ------------------------------------------------------------------ */

struct script {
    struct heft_scan *s;
    const struct heft_scan_place *place;
    struct heft_arena mem;
    struct heft_strmap reported;
};

static bool report_op(struct script *x, uint64_t at, enum heft_danger danger,
                      struct heft_str library, struct heft_str name, const char *why,
                      struct heft_error *err)
{
    struct heft_scan_item item = {.danger = danger,
                                  .record = x->place->record,
                                  .offset = heft_scan_offset(x->place, at),
                                  .position = HEFT_NO_OFFSET,
                                  .what = "op"};
    uint32_t found;

    item.name = heft_arena_printf(&x->mem, err, "%.*s::%.*s: %s", (int)heft_min_u64(library.n, 128),
                                  library.p, (int)heft_min_u64(name.n, 128), name.p, why);
    if (!item.name || !heft_strmap_add(&x->reported, heft_str_of(item.name), 1, &found, err))
        return false;
    if (found == HEFT_MAP_NONE)
        heft_scan_report(x->s, &item);
    return true;
}

static bool is_library(struct heft_str library)
{
    for (size_t i = 0; i < HEFT_COUNT(libraries); i++)
        if (heft_str_is(library, libraries[i]))
            return true;
    return false;
}

static bool judge_op(struct script *x, uint64_t at, struct heft_str library, struct heft_str name,
                     struct heft_error *err)
{
    for (size_t i = 0; i < HEFT_COUNT(unsafe_ops); i++)
        if (heft_str_is(library, unsafe_ops[i].library) && heft_str_is(name, unsafe_ops[i].name))
            return report_op(x, at, unsafe_ops[i].danger, library, name, unsafe_ops[i].why, err);
    return is_library(library) ||
           report_op(x, at, HEFT_UNKNOWN, library, name,
                     "torch has no such library of operations: it needs another native library",
                     err);
}

/* Judges "torch.NAME", "ops.LIBRARY.NAME", "torch.classes.LIBRARY.NAME",
 * "torch.ops.LIBRARY.NAME", after the first part. */
static bool judge_path(struct script *x, struct heft_str text, size_t *at, bool is_torch,
                       struct heft_error *err)
{
    const size_t begin = *at;
    struct heft_str library = HEFT_STR("aten"), name;

    if (is_torch && (take_mark(text, at, "classes.") || take_mark(text, at, "ops.")))
        is_torch = false;
    if (!is_torch) {
        library = word_at(text, at);
        if (!library.n || !take_mark(text, at, "."))
            return true;
    }
    name = word_at(text, at);
    return !name.n || judge_op(x, begin, library, name, err);
}

/* Searches code for paths, which begin after a character that is not part of an identifier;
 * "__torch__.torch.classes." is one as well. */
static bool walk_code(struct script *x, struct heft_str text, struct heft_error *err)
{
    size_t at = 0;

    while (at < text.n) {
        const struct heft_str word = word_at(text, &at);
        const bool is_torch = heft_str_is(word, "torch"), is_ops = heft_str_is(word, "ops");

        if ((is_torch || is_ops) && take_mark(text, &at, ".")) {
            if (!judge_path(x, text, &at, is_torch, err))
                return false;
        } else if (at < text.n && word.n == 0) {
            at++;
        }
    }
    return true;
}

/* Judges the name of an operation, "LIBRARY::NAME"; ignores other strings. */
static bool judge_name(struct script *x, uint64_t at, struct heft_str text, struct heft_error *err)
{
    size_t end = 0;
    const struct heft_str library = word_at(text, &end);
    struct heft_str name;

    if (!library.n || !take_mark(text, &end, "::"))
        return true;
    name = word_at(text, &end);
    return !name.n || end != text.n || judge_op(x, at, library, name, err);
}

/* Searches a pickle for strings at any position: X, u32 length, text. */
static bool walk_bytecode(struct script *x, struct heft_str text, struct heft_error *err)
{
    for (size_t at = 0; text.n - at > 5; at++) {
        const uint64_t n = heft_le32((const uint8_t *)text.p + at + 1);

        if (text.p[at] == 'X' && n < 256 && n <= text.n - at - 5 &&
            !judge_name(x, at, (struct heft_str){text.p + at + 5, (size_t)n}, err))
            return false;
    }
    return true;
}

static bool begin_walk(struct heft_scan *s, const struct heft_scan_place *place,
                       struct heft_bytes bytes, bool is_bytecode, struct heft_error *err)
{
    struct script x = {.s = s, .place = place};
    const struct heft_str text = {(const char *)bytes.p, bytes.n};
    const bool ok = is_bytecode ? walk_bytecode(&x, text, err) : walk_code(&x, text, err);

    heft_strmap_release(&x.reported);
    heft_arena_release(&x.mem);
    return ok;
}

bool heft_scan_script(struct heft_scan *s, const struct heft_scan_place *place,
                      struct heft_bytes bytes, struct heft_error *err)
{
    const struct heft_str name = place->member;

    if (!place->script)
        return true;
    if (heft_str_ends(name, ".py"))
        return begin_walk(s, place, bytes, false, err);
    return !heft_str_ends(name, "bytecode.pkl") || begin_walk(s, place, bytes, true, err);
}

/* True for functions of torch that programs call besides operations, and for layers (nn), which
 * configurations name. */
static bool is_usual_target(struct heft_str target)
{
    static const char *const begins[] = {"sym_",
                                         "_sym_",
                                         "_check",
                                         "_higher_order_ops.",
                                         "nn.",
                                         "_C._set_grad_enabled",
                                         "amp.autocast_mode._",
                                         NULL};

    target = (struct heft_str){target.p + 6, target.n - 6}; /* after "torch." */
    for (size_t i = 0; begins[i]; i++)
        if (heft_str_starts(target, heft_str_of(begins[i])))
            return true;
    return false;
}

static bool report_target(struct heft_scan *s, const struct heft_scan_place *place,
                          struct heft_str target, struct heft_error *err)
{
    struct heft_arena mem = {0};
    const char *sentence =
        heft_arena_printf(&mem, err, "%.*s: a function of torch that no exported program needs",
                          (int)heft_min_u64(target.n, 200), target.p);
    const bool ok = heft_scan_report_text(s, place, HEFT_NO_OFFSET, HEFT_UNKNOWN, "op", sentence);

    heft_arena_release(&mem);
    return ok;
}

bool heft_scan_target(struct heft_scan *s, const struct heft_scan_place *place,
                      struct heft_str target, struct heft_error *err)
{
    if (heft_str_starts(target, HEFT_STR("torch.ops.")))
        return begin_walk(s, place, (struct heft_bytes){(const uint8_t *)target.p, target.n}, false,
                          err);
    return !heft_str_starts(target, HEFT_STR("torch.")) || is_usual_target(target) ||
           report_target(s, place, target, err);
}
