/* scan_content.c: files and records that are neither containers nor pickles: finds their kind
 * and calls the function that judges it.
 *
 *     native code       ELF, Mach-O, PE, archives of object files: reported
 *     Python            .pyc by content; .py by the file names that frameworks load
 *     a format of heft  safetensors and others hold only numbers; the rest is passed on
 *     all others        not judged; the caller reports that */
#include "format/formats.h"
#include "scan/scan_parts.h"

#include "base/endian.h"
#include "base/text.h"
#include "core/registry.h"

/* ---- native code ------------------------------------------------------------------------- */

static const struct {
    size_t n;
    const char *magic, *sentence;
} natives[] = {
    {4,
     "\x7f"
     "ELF",
     "an ELF library, object or program"},
    {4, "\xfe\xed\xfa\xce", "a Mach-O library or program"},
    {4, "\xfe\xed\xfa\xcf", "a Mach-O library or program"},
    {4, "\xce\xfa\xed\xfe", "a Mach-O library or program"},
    {4, "\xcf\xfa\xed\xfe", "a Mach-O library or program"},
    {4, "\xca\xfe\xba\xbe", "a Mach-O library for several processors, or a Java class"},
    {8, "!<arch>\n", "an archive of object files"},
    {4, "\0asm", "a WebAssembly module"},
};

/* True for a PE file: "MZ", and "PE\0\0" at the offset stored at 0x3c. */
static bool is_pe(struct heft_bytes head)
{
    const uint64_t at = head.n >= 64 ? heft_le32(head.p + 0x3c) : 0;

    return head.n >= 64 && head.p[0] == 'M' && head.p[1] == 'Z' &&
           (!heft_within(at, 4, head.n) || memcmp(head.p + at, "PE\0\0", 4) == 0);
}

static const char *native_sentence(struct heft_bytes head)
{
    for (size_t i = 0; i < HEFT_COUNT(natives); i++)
        if (head.n >= natives[i].n && memcmp(head.p, natives[i].magic, natives[i].n) == 0)
            return natives[i].sentence;
    return is_pe(head) ? "a Windows library or program" : NULL;
}

/* ---- Python source ----------------------------------------------------------------------- */

/* Prefixes of names of files that frameworks import or run from a model's directory. */
static const char *const imported[] = {
    "modeling_",         "configuration_",      "tokenization_", "processing_", "image_processing_",
    "video_processing_", "feature_extraction_", "pipeline",      "modular_",    "generation_",
    "custom_generate",   "generate.py",         "handler.py",    "hubconf.py",  "setup.py",
    "conftest.py",       "inference.py",        "model.py",      "__init__.py", "sitecustomize.py",
    "usercustomize.py",
};

static const char *python_sentence(struct heft_str name, struct heft_bytes head)
{
    if (head.n >= 16 && head.p[2] == '\r' && head.p[3] == '\n' && heft_str_ends(name, ".pyc"))
        return "compiled Python";
    if (!heft_str_ends(name, ".py"))
        return NULL;
    for (size_t i = 0; i < HEFT_COUNT(imported); i++)
        if (heft_str_starts(name, heft_str_of(imported[i])))
            return "Python module that a framework may import from a model's directory";
    return NULL;
}

/* ---- other kinds ------------------------------------------------------------------------- */

/* heft's formats that hold only numbers and texts, nothing to execute. */
static const char *const inert[] = {"safetensors", "tf-bundle", "tf-v1", "ptd", "tf-state"};

static const struct {
    size_t at, n;
    const char *magic, *name;
} others[] = {
    {4, 4, "TFL3", "TensorFlow Lite"},
    {4, 2, "ET", "ExecuTorch program"},
    {4, 4, "PTMF", "PyTorch mobile flatbuffer"},
    {0, 4, "ORTM", "ONNX Runtime model"},
    {4, 4, "ORTM", "ONNX Runtime model"},
    {0, 15, "version https:/", "Git LFS pointer"},
    {0, 4, "PAR1", "Parquet"},
    {0, 6, "ARROW1", "Arrow"},
    {0, 8, "\x89PNG\r\n\x1a\n", "PNG picture"},
    {0, 3, "\xff\xd8\xff", "JPEG picture"},
    {0, 4, "GIF8", "GIF picture"},
    {0, 4, "RIFF", "RIFF media"},
    {4, 4, "ftyp", "MP4 media"},
    {0, 5, "%PDF-", "PDF"},
};

static bool is_text(struct heft_bytes head)
{
    const size_t n = head.n > 4 ? head.n - 4 : head.n; /* the last character may be truncated */

    for (size_t i = 0; i < head.n; i++)
        if (head.p[i] < 9 || (head.p[i] > 13 && head.p[i] < 32 && head.p[i] != 27))
            return false;
    return heft_utf8_check(head) >= n;
}

static const char *other_kind(struct heft_bytes head)
{
    for (size_t i = 0; i < HEFT_COUNT(others); i++)
        if (heft_within(others[i].at, others[i].n, head.n) &&
            memcmp(head.p + others[i].at, others[i].magic, others[i].n) == 0)
            return others[i].name;
    return is_text(head) ? "text" : "unknown";
}

/* ---- choosing the kind ------------------------------------------------------------------- */

/* Finds the format with the highest score. *best is NULL if no format recognises the file. */
static bool probe_format(const struct heft_scan_place *place, const struct heft_format **best,
                         struct heft_error *err)
{
    const struct heft_source *src = place->src;
    const size_t head_n = (size_t)heft_min_u64(src->size, HEFT_PROBE_HEAD);
    const size_t tail_n = (size_t)heft_min_u64(src->size, HEFT_PROBE_TAIL);
    struct heft_arena mem = {0};
    struct heft_probe sample = {.size = src->size, .path = src->label};
    const bool ok = heft_source_fetch(src, 0, head_n, &mem, &sample.head, err) &&
                    heft_source_fetch(src, src->size - tail_n, tail_n, &mem, &sample.tail, err);
    int score = 0;

    *best = NULL;
    for (size_t i = 0; ok && heft_registry_at(&heft_formats, i); i++) {
        const struct heft_format *format = heft_registry_at(&heft_formats, i);
        const int bid = format->probe ? format->probe(&sample) : 0;

        if (bid > score) {
            score = bid;
            *best = format;
        }
    }
    heft_arena_release(&mem);
    return ok;
}

static void set_kind(struct heft_scan *s, const struct heft_scan_place *place, const char *name,
                     bool judged)
{
    if (place->depth == 0)
        s->kind = (struct heft_scan_kind){name, judged};
}

/* ---- configurations ---------------------------------------------------------------------- */

/* True for JSON in UTF-16 or UTF-32, which Python's json.loads accepts, too. Recognised by the
 * positions of zero bytes around the first character, after a byte-order mark. */
static bool is_wide_json(struct heft_bytes head)
{
    const size_t mark =
        head.n >= 2 && (memcmp(head.p, "\xff\xfe", 2) == 0 || memcmp(head.p, "\xfe\xff", 2) == 0);
    size_t zeros = 0;

    for (size_t i = 2 * mark; i < head.n && i < 16; i++) {
        if (memchr("{[", head.p[i], 2))
            return zeros > 0 || (i + 1 < head.n && head.p[i + 1] == 0);
        if (!memchr("\0 \t\r\n", head.p[i], 5))
            return false;
        zeros += head.p[i] == 0;
    }
    return false;
}

#define LONGEST_JSON ((uint64_t)64 << 20) /* bytes; tokenizer.json files have up to half of it */

static bool scan_json(struct heft_scan *s, const struct heft_scan_place *place,
                      struct heft_scan_json *what, struct heft_error *err)
{
    struct heft_bytes bytes = place->bytes;
    struct heft_arena mem = {0};
    bool ok;

    *what = (struct heft_scan_json){.is_json = place->src->size <= LONGEST_JSON};
    if (!what->is_json)
        return heft_str_ends(heft_scan_name(s, place), ".jsonl") ||
               heft_scan_report_text(s, place, HEFT_NO_OFFSET, HEFT_UNKNOWN, "refused",
                                     "JSON of more than 64 MiB, not scanned");
    if (!heft_scan_pay(s, place, place->src->size))
        return true;
    ok = (bytes.p || heft_source_fetch(place->src, 0, place->src->size, &mem, &bytes, err)) &&
         heft_scan_config(s, place, bytes, what, err);
    heft_arena_release(&mem);
    return ok;
}

/* Scans YAML or a template. */
static bool scan_text(struct heft_scan *s, const struct heft_scan_place *place, bool is_yaml,
                      struct heft_error *err)
{
    struct heft_bytes bytes = place->bytes;
    struct heft_arena mem = {0};
    const uint64_t n = heft_min_u64(place->src->size, LONGEST_JSON);
    bool ok;

    if (!heft_scan_pay(s, place, n))
        return true;
    ok = bytes.p || heft_source_fetch(place->src, 0, n, &mem, &bytes, err);
    if (ok && is_yaml)
        ok = heft_scan_yaml(s, place, bytes, err);
    else if (ok)
        heft_scan_template(s, place, 0, bytes);
    if (ok && n < place->src->size)
        ok = heft_scan_report_text(
            s, place, HEFT_NO_OFFSET, HEFT_UNKNOWN, "refused",
            is_yaml ? "YAML of more than 64 MiB; the rest was not scanned"
                    : "a template of more than 64 MiB; the rest was not scanned");
    heft_arena_release(&mem);
    return ok;
}

/* ---- scanning content -------------------------------------------------------------------- */

static bool is_graph_name(struct heft_str name)
{
    return heft_str_ends(name, ".pb") || heft_str_ends(name, ".pbtxt") ||
           heft_str_ends(name, ".meta");
}

/* True for a format that holds nothing to execute. A file recognised as safetensors (by its
 * ninth byte) must also be long enough for its header. */
static bool is_inert(const struct heft_format *format, const struct heft_scan_place *place,
                     struct heft_bytes head)
{
    for (size_t i = 0; format && i < HEFT_COUNT(inert); i++)
        if (strcmp(format->name, inert[i]) == 0)
            return i > 0 || (head.n >= 8 && heft_le64(head.p) <= place->src->size - 8);
    return false;
}

static bool is_format(const struct heft_format *format, const char *name)
{
    return format && strcmp(format->name, name) == 0;
}

/* Scans formats of heft, and sets the kind of all other files. */
static bool scan_rest(struct heft_scan *s, const struct heft_scan_place *place,
                      struct heft_bytes head, struct heft_error *err)
{
    const struct heft_format *format;
    bool is_graph = false, templates;

    if (head.n >= 8 && memcmp(head.p, "GGUF", 4) == 0) {
        if (!heft_scan_gguf(s, place, &templates, err))
            return false;
        set_kind(s, place, templates ? "GGUF with a Jinja template" : "GGUF", false);
        return true;
    }

    if (!probe_format(place, &format, err))
        return false;
    set_kind(s, place, format ? format->name : other_kind(head), is_inert(format, place, head));
    if (is_format(format, "h5")) {
        set_kind(s, place, "h5", true);
        return heft_scan_h5(s, place, err);
    }
    if (!is_graph_name(heft_scan_name(s, place)) && !is_format(format, "saved-model") &&
        !is_format(format, "tf-graph"))
        return true;
    if (!heft_scan_graph(s, place, head, &is_graph, err))
        return false;
    if (is_graph)
        set_kind(s, place, "TensorFlow graph", true);
    return true;
}

static const char *native_or_chunked(struct heft_bytes head)
{
    if (head.n >= 4 && memcmp(head.p, "\x83\xaf\x70\xd1", 4) == 0)
        return "a SavedModel in chunks, not scanned";
    return native_sentence(head);
}

bool heft_scan_content(struct heft_scan *s, const struct heft_scan_place *place,
                       struct heft_bytes head, struct heft_error *err)
{
    const struct heft_str name = heft_scan_name(s, place);
    const char *native = native_or_chunked(head);
    const char *python = place->script ? NULL : python_sentence(name, head);
    struct heft_scan_json json;

    if (native || python)
        set_kind(s, place, native ? "native code" : "Python", true);
    if (native)
        return heft_scan_report_text(s, place, HEFT_NO_OFFSET, HEFT_UNKNOWN, "native", native);
    if (python)
        return heft_scan_report_text(s, place, HEFT_NO_OFFSET, HEFT_UNKNOWN, "code", python);
    if (is_wide_json(head)) {
        set_kind(s, place, "JSON", true);
        return heft_scan_report_text(s, place, HEFT_NO_OFFSET, HEFT_UNKNOWN, "refused",
                                     "JSON that is not UTF-8, not scanned");
    }
    if (heft_scan_is_yaml(name)) {
        set_kind(s, place, "YAML", true);
        return scan_text(s, place, true, err);
    }
    if (heft_scan_is_template(name)) {
        set_kind(s, place, "Jinja template", false);
        return scan_text(s, place, false, err);
    }
    if (!heft_scan_begins_json(head) && !heft_str_ends(name, ".json"))
        return scan_rest(s, place, head, err);
    if (!scan_json(s, place, &json, err))
        return false;
    if (!json.is_json)
        return scan_rest(s, place, head, err);
    set_kind(s, place, json.templates ? "JSON with a Jinja template" : "JSON", !json.templates);
    return true;
}

bool heft_scan_is_content(struct heft_str name, struct heft_bytes head)
{
    static const char *const ends[] = {".py",    ".pyc",  ".json", ".pb",
                                       ".pbtxt", ".meta", ".h5",   NULL};

    for (size_t i = 0; ends[i]; i++)
        if (heft_str_ends(name, ends[i]))
            return true;
    return heft_scan_is_yaml(name) || native_or_chunked(head) || heft_scan_begins_json(head) ||
           (head.n >= 8 &&
            (memcmp(head.p, "\x89HDF\r\n\x1a\n", 8) == 0 || memcmp(head.p, "GGUF", 4) == 0));
}
