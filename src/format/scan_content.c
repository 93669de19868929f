/* scan_content.c: what is neither container nor pickle: which kind it is, and who judges that.
 *
 *     native code       ELF, Mach-O, PE, archives of objects: told
 *     Python            .pyc by content; .py by the names that frameworks load
 *     a format of heft  safetensors and others hold numbers only; the rest is passed on
 *     all else          not judged, which the caller tells */
#include "format/scan_parts.h"

#include "base/endian.h"
#include "base/text.h"
#include "core/registry.h"

/* ---- names ------------------------------------------------------------------------------- */

struct heft_str heft_scan_name(const struct heft_scan *s, const struct heft_scan_place *place)
{
    const struct heft_str whole = heft_str_of(*place->record ? place->record : s->path);
    size_t begin = whole.n;

    while (begin > 0 && whole.p[begin - 1] != '/' && whole.p[begin - 1] != ':')
        begin--;
    return (struct heft_str){whole.p + begin, whole.n - begin};
}

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

/* "MZ", and at the offset that 0x3c holds "PE\0\0". */
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

/* ---- Python ------------------------------------------------------------------------------ */

/* Beginnings of names of files that frameworks import from a model's directory, or run. */
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
            return "Python that a framework may import from a model's directory";
    return NULL;
}

/* ---- other kinds ------------------------------------------------------------------------- */

/* Kinds of heft's own that hold numbers and texts, and nothing to execute. */
static const char *const inert[] = {"safetensors", "tf-bundle", "tf-v1", "ptd", "tf-state"};

static const struct {
    size_t at, n;
    const char *magic, *name;
} others[] = {
    {0, 4, "GGUF", "GGUF"},
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
    const size_t n = head.n > 4 ? head.n - 4 : head.n; /* the last character may be cut */

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

/* ---- which it is ------------------------------------------------------------------------- */

/* The format that is surest; NULL: none. */
static bool probe(const struct heft_scan_place *place, const struct heft_format **best,
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
    for (size_t i = 0; ok && heft_registry_at(i); i++) {
        const struct heft_format *format = heft_registry_at(i);
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

/* A kind of heft's own, or one that nobody judges. */
static bool scan_rest(struct heft_scan *s, const struct heft_scan_place *place,
                      struct heft_bytes head, struct heft_error *err)
{
    const struct heft_format *format;

    if (!probe(place, &format, err))
        return false;
    set_kind(s, place, format ? format->name : other_kind(head), false);
    for (size_t i = 0; format && i < HEFT_COUNT(inert); i++)
        if (strcmp(format->name, inert[i]) == 0)
            set_kind(s, place, inert[i], true);
    return true;
}

bool heft_scan_content(struct heft_scan *s, const struct heft_scan_place *place,
                       struct heft_bytes head, struct heft_error *err)
{
    const char *native = native_sentence(head);
    const char *python = python_sentence(heft_scan_name(s, place), head);

    if (native || python)
        set_kind(s, place, native ? "native code" : "Python", true);
    if (native)
        return heft_scan_tell(s, place, HEFT_NO_OFFSET, HEFT_UNKNOWN, "native", native);
    if (python)
        return heft_scan_tell(s, place, HEFT_NO_OFFSET, HEFT_UNKNOWN, "code", python);
    return scan_rest(s, place, head, err);
}

bool heft_scan_is_content(struct heft_str name, struct heft_bytes head)
{
    return native_sentence(head) || heft_str_ends(name, ".py") || heft_str_ends(name, ".pyc");
}
