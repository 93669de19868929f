/* scan_config.c: code, and references to code, in configurations (JSON).
 *
 *     {"class_name": "Lambda", "module": "keras.layers", "config": {…}, "registered_name": null}
 *
 * A stack of the open objects keeps the few members that decide what Keras imports and calls. An
 * object is judged at its end, because the last of duplicate keys counts in Python. All other
 * rules need a single key or string. Strings that are marshalled code are dangers; strings that
 * are base64 of a pickle, a zip or gzip data are scanned, whatever their key. */
#include "scan/scan_config.h"

#include "base/text.h"
#include "scan/scan_names.h"
#include "wire/json.h"

/* ---- frames of open objects -------------------------------------------------------------- */

static void keep_text(struct heft_config_text *to, struct heft_str from)
{
    to->n = (uint16_t)heft_min_u64(from.n, sizeof to->bytes);
    memcpy(to->bytes, from.p, to->n);
    to->is_set = true;
}

static bool is_word(const struct heft_config_text *text, const char *word)
{
    return text->is_set && heft_str_is((struct heft_str){text->bytes, text->n}, word);
}

static bool push_frame(struct heft_config *c, bool is_array, struct heft_error *err)
{
    struct heft_config_frame *outer, *frame;

    if (!heft_grow(&c->frames, &c->cap_frames, c->n_frames, 1, sizeof *c->frames, err))
        return false;
    outer = c->n_frames ? &c->frames[c->n_frames - 1] : NULL;
    frame = &c->frames[c->n_frames++];
    memset(frame, 0, sizeof *frame);
    frame->is_array = is_array;
    if (outer) {
        frame->in_auto_map = outer->in_auto_map || is_word(&outer->key, "auto_map");
        frame->in_pipelines = outer->in_pipelines || is_word(&outer->key, "custom_pipelines");
        if (is_array) /* elements of a list belong to the list's key */
            frame->key = outer->key;
    }
    if (outer && !is_array && is_word(&outer->key, "config"))
        outer->has_config = true;
    return true;
}

/* ---- judging strings --------------------------------------------------------------------- */

static int digit_of(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    if (c == '+' || c == '-')
        return 62;
    return c == '/' || c == '_' ? 63 : -1;
}

/* Decodes base64 of either alphabet into at most `most` bytes and returns their number. Skips
 * line breaks and all other characters, as Python does. */
static size_t decode_base64(struct heft_str text, uint8_t *out, size_t most)
{
    uint32_t bits = 0;
    unsigned have = 0;
    size_t n = 0;

    for (size_t i = 0; i < text.n && n < most && text.p[i] != '='; i++) {
        const int digit = digit_of(text.p[i]);

        if (digit < 0)
            continue;
        bits = (bits & 0xff) << 6 | (uint32_t)digit;
        have += 6;
        if (have >= 8) {
            have -= 8;
            out[n++] = (uint8_t)(bits >> have);
        }
    }
    return n;
}

/* True if the bytes begin like a marshalled code object: its type, with or without the reference
 * flag, then the number of arguments, below 256. */
static bool is_marshal(const uint8_t *p, size_t n)
{
    return n >= 9 && (p[0] == 0xe3 || p[0] == 'c') && p[2] == 0 && p[3] == 0 && p[4] == 0;
}

static bool is_marshal_text(struct heft_str text)
{
    uint8_t bytes[16];
    size_t n = 0;

    for (size_t i = 0; i < text.n && n < sizeof bytes; i++) {
        const uint8_t c = (uint8_t)text.p[i];

        if ((c == 0xc2 || c == 0xc3) && i + 1 < text.n)
            bytes[n++] = (uint8_t)(c << 6 | ((uint8_t)text.p[++i] & 0x3f));
        else
            bytes[n++] = c;
    }
    return is_marshal(bytes, n);
}

static bool is_packed(const uint8_t *p, size_t n)
{
    return n >= 9 && (heft_scan_is_start(p) || memcmp(p, "PK\3\4", 4) == 0 ||
                      memcmp(p, "\x1f\x8b\x08", 3) == 0);
}

static bool scan_decoded(struct heft_config *c, struct heft_str text, struct heft_error *err)
{
    const size_t most = text.n / 4 * 3 + 3;
    struct heft_scan_place inner = *c->place;
    struct heft_buf label = {0};
    uint8_t *bytes;
    bool ok;

    if (c->place->depth >= HEFT_SCAN_DEPTH)
        return heft_config_report(c, HEFT_UNKNOWN, "base64, not scanned", (struct heft_str){0},
                                  err);
    if (!heft_scan_pay(c->s, c->place, most))
        return true;
    bytes = heft_alloc(most, err);
    inner.record = bytes ? heft_scan_label(&label, c->place, HEFT_STR("base64"), err) : NULL;
    inner.base = HEFT_NO_OFFSET;
    inner.depth++;
    inner.quiet = true; /* many ordinary words begin like base64 of a pickle */
    ok = inner.record &&
         heft_scan_memory(c->s, &inner,
                          (struct heft_bytes){bytes, decode_base64(text, bytes, most)}, err);
    heft_buf_release(&label);
    heft_free(bytes);
    return ok;
}

/* Judges a string by its content, whatever its key. */
static bool judge_any(struct heft_config *c, struct heft_str text, struct heft_error *err)
{
    uint8_t head[16];
    size_t n;

    if (text.n < 12)
        return true;
    n = decode_base64((struct heft_str){text.p, (size_t)heft_min_u64(text.n, 64)}, head,
                      sizeof head);
    if (is_marshal(head, n) || is_marshal_text(text))
        return heft_config_report(c, HEFT_DANGER, "marshalled Python bytecode",
                                  (struct heft_str){0}, err);
    return !is_packed(head, n) || scan_decoded(c, text, err);
}

/* ---- judging members by their keys ------------------------------------------------------- */

/* Keys of jsonpickle whose value is the name of a class or function, which it imports. */
static const char *const imports[] = {"py/function", "py/object", "py/type", "py/class"};

/* True if the library is one that adapters usually name in auto_mapping, and whose import runs
 * no code of the model. */
static bool is_usual_library(struct heft_str path)
{
    static const char *const libraries[] = {"diffusers", "peft", "timm", "transformers"};

    for (size_t i = 0; i < HEFT_COUNT(libraries); i++) {
        const struct heft_str library = heft_str_of(libraries[i]);

        if (heft_str_starts(path, library) && (path.n == library.n || path.p[library.n] == '.'))
            return true;
    }
    return false;
}

/* True for attn_implementation and experts_implementation, whose value "owner/repository" names
 * a repository of kernels. */
static bool ends_as_attention(const struct heft_config_text *key)
{
    return key->is_set && (heft_str_ends(heft_config_str(key), "attn_implementation") ||
                           heft_str_ends(heft_config_str(key), "experts_implementation"));
}

static bool judge_keyed(struct heft_config *c, const struct heft_config_frame *frame,
                        struct heft_str text, struct heft_error *err)
{
    if (frame->in_auto_map || is_word(&frame->key, "auto_map"))
        return heft_config_report(c, HEFT_UNKNOWN, "auto_map, which trust_remote_code runs", text,
                                  err);
    if (frame->in_pipelines && is_word(&frame->key, "impl"))
        return heft_config_report(c, HEFT_UNKNOWN, "custom_pipelines, which trust_remote_code runs",
                                  text, err);
    if (is_word(&frame->key, "target") && !heft_scan_target(c->s, c->place, text, err))
        return false;
    if (is_word(&frame->key, "target") || is_word(&frame->key, "class_path"))
        return heft_config_path(c, text) != HEFT_DANGER ||
               heft_config_report(c, HEFT_DANGER, "a program may call", text, err);
    if (is_word(&frame->key, "expr_str") || is_word(&frame->key, "guards_code"))
        return heft_config_expression(c, text, err);
    if (is_word(&frame->key, "parent_library") && !is_usual_library(text))
        return heft_config_report(c, HEFT_UNKNOWN, "PEFT imports", text, err);
    if (ends_as_attention(&frame->key) && text.n && memchr(text.p, '/', text.n))
        return heft_config_report(c, HEFT_UNKNOWN, "transformers fetches and runs kernels of", text,
                                  err);
    if (is_word(&frame->key, "_target_"))
        return heft_config_report(c, heft_config_path(c, text), "Hydra calls", text, err);
    if (is_word(&frame->key, "custom_pipeline"))
        return heft_config_report(c, HEFT_UNKNOWN, "a pipeline in Python, custom_pipeline", text,
                                  err);
    for (size_t i = 0; i < HEFT_COUNT(imports); i++)
        if (is_word(&frame->key, imports[i]))
            return heft_config_report(c, heft_config_path(c, text), "jsonpickle imports", text,
                                      err);
    return true;
}

/* Scans "chat_template": "…", or a list of {"name": "…", "template": "…"}. */
static void judge_template(struct heft_config *c, const struct heft_config_frame *frame,
                           struct heft_str text)
{
    const struct heft_bytes bytes = {(const uint8_t *)text.p, text.n};

    if (!is_word(&frame->key, "chat_template") && !is_word(&frame->key, "template"))
        return;
    if (!heft_text_mentions(bytes, "{%") && !heft_text_mentions(bytes, "{{"))
        return;
    c->templates = true;
    heft_scan_template(c->s, c->place, c->json.where, bytes);
}

static void keep_member(struct heft_config_frame *frame, struct heft_str text)
{
    struct heft_config_frame *const f = frame;

    if (is_word(&f->key, "class_name"))
        keep_text(&f->class_name, text);
    else if (is_word(&f->key, "module"))
        keep_text(&f->module, text);
    else if (is_word(&f->key, "registered_name"))
        keep_text(&f->registered, text);
    else if (is_word(&f->key, "function_type"))
        keep_text(&f->function_type, text);
    else if (is_word(&f->key, "type"))
        keep_text(&f->type, text);
    else if (is_word(&f->key, "vocabulary"))
        keep_text(&f->vocabulary, text);
    else if (is_word(&f->key, "function"))
        keep_text(&f->function, text);
    else if (is_word(&f->key, "config")) {
        keep_text(&f->config, text);
        f->has_config = true;
    }
}

static bool take_string(struct heft_config *c, struct heft_error *err)
{
    const struct heft_str text = c->json.text;
    struct heft_config_frame *frame = c->n_frames ? &c->frames[c->n_frames - 1] : NULL;

    if (!judge_any(c, text, err) || !frame)
        return frame == NULL;
    if (!judge_keyed(c, frame, text, err))
        return false;
    judge_template(c, frame, text);
    if (frame->is_array)
        return heft_config_pair(c, frame, text, err);
    keep_member(frame, text);
    return true;
}

/* ---- walking the document ---------------------------------------------------------------- */

static bool take_key(struct heft_config *c, struct heft_error *err)
{
    struct heft_config_frame *frame = &c->frames[c->n_frames - 1];

    keep_text(&frame->key, c->json.text);
    frame->has_idx |= is_word(&frame->key, "idx");
    frame->has_path |= is_word(&frame->key, "path");
    if (is_word(&frame->key, "py/reduce") || is_word(&frame->key, "py/repr"))
        return heft_config_report(c, HEFT_DANGER, "jsonpickle calls or evaluates the value of",
                                  c->json.text, err);
    return true;
}

/* Takes a value that is neither a string nor a container. */
static bool take_plain(struct heft_config *c, enum heft_json_token token, struct heft_error *err)
{
    struct heft_config_frame *frame = c->n_frames ? &c->frames[c->n_frames - 1] : NULL;

    if (!frame || frame->is_array)
        return true;
    if (is_word(&frame->key, "config"))
        frame->has_config = true;
    if (token == HEFT_JSON_NULL && is_word(&frame->key, "module"))
        frame->module.is_set = false;
    if (token == HEFT_JSON_NULL && is_word(&frame->key, "registered_name"))
        frame->registered.is_set = false;
    if (token == HEFT_JSON_TRUE && is_word(&frame->key, "trust_remote_code"))
        return heft_config_report(c, HEFT_UNKNOWN, "trust_remote_code is on", (struct heft_str){0},
                                  err);
    return true;
}

/* Ends an object or array and judges it. Two members of its config belong to the layer as well:
 * the function that a TFOpLambda calls, and the file that a lookup layer reads. */
static bool pop_frame(struct heft_config *c, struct heft_error *err)
{
    const struct heft_config_frame *frame = &c->frames[--c->n_frames];
    struct heft_config_frame *outer = c->n_frames ? &c->frames[c->n_frames - 1] : NULL;

    if (frame->is_array)
        return true;
    if (outer && !outer->is_array && is_word(&outer->key, "config")) {
        outer->function = frame->function;
        outer->vocabulary = frame->vocabulary;
    }
    return heft_config_judge(c, frame, err);
}

static bool take_token(struct heft_config *c, enum heft_json_token token, struct heft_error *err)
{
    switch (token) {
    case HEFT_JSON_OBJECT:
    case HEFT_JSON_ARRAY:
        return push_frame(c, token == HEFT_JSON_ARRAY, err);
    case HEFT_JSON_OBJECT_END:
    case HEFT_JSON_ARRAY_END:
        return pop_frame(c, err);
    case HEFT_JSON_KEY:
        return take_key(c, err);
    case HEFT_JSON_STRING:
        return take_string(c, err);
    default:
        return take_plain(c, token, err);
    }
}

bool heft_scan_config(struct heft_scan *s, const struct heft_scan_place *place,
                      struct heft_bytes json, struct heft_scan_json *what, struct heft_error *err)
{
    struct heft_config c = {.s = s, .place = place};
    struct heft_arena mem = {0};
    struct heft_error why = {0};
    const size_t mark = json.n >= 3 && memcmp(json.p, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    bool ok = true;

    /* Also modular_model_index.json. */
    c.is_index = heft_str_ends(heft_scan_name(s, place), "model_index.json");
    json = (struct heft_bytes){json.p + mark, json.n - mark};
    heft_json_begin(&c.json, json, mark, &mem, &why);
    heft_json_wholly_as_python(&c.json);
    while (ok && !c.full) {
        const enum heft_json_token token = heft_json_next(&c.json);

        if (token == HEFT_JSON_END || why.code != HEFT_OK)
            break;
        ok = take_token(&c, token, err);
    }
    heft_free(c.frames);
    heft_arena_release(&mem);
    heft_arena_release(&c.mem);
    /* Python may accept deeper nesting, but it refuses all other malformed JSON, too. */
    if (why.code == HEFT_LIMIT)
        heft_scan_report_refused(s, place, &why);
    *what = (struct heft_scan_json){why.code == HEFT_OK, c.templates};
    if (why.code != HEFT_NOMEM)
        return ok;
    *err = why;
    return false;
}

bool heft_scan_begins_json(struct heft_bytes head)
{
    size_t i = head.n >= 3 && memcmp(head.p, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;

    while (i < head.n && memchr(" \t\r\n", head.p[i], 4))
        i++;
    return i < head.n && (head.p[i] == '{' || head.p[i] == '[');
}
