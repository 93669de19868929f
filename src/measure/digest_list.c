/* digest_list.c: see digest_list.h. Names stay in the text of the list, where they are unescaped and
 * get their NUL. */
#include "measure/digest_list.h"

#include "base/hex.h"

#define MOST_LINE ((size_t)1 << 20) /* bytes: a name may have 64 KiB, and 4 bytes for each */
#define MOST_RANK 255
#define DIGITS    (2 * (size_t)HEFT_SHA256_BYTES)
#define DTYPE_MAX 32 /* longer words are no dtype */

/* A line that is being parsed. `at` is the position after what was parsed; `end` excludes the line
 * feed. */
struct line {
    struct heft_digest_list *list;
    struct heft_error *err;
    const char *text; /* of the list */
    char *begin, *at, *end;
    uint64_t number;
    bool is_escaped, is_binary;
};

static bool refuse(const struct line *l, const char *at, const char *what)
{
    return heft_fail(l->err, HEFT_MALFORMED, (uint64_t)(at - l->text), "line %" PRIu64 ": %s",
                     l->number, what);
}

/* ---- the digest ------------------------------------------------------------------------------ */

/* The hash that a number of digits belongs to, for an error. */
static const char *name_of_hash(size_t digits)
{
    switch (digits) {
    case 32:
        return " (an MD5?)";
    case 40:
        return " (a SHA-1?)";
    case 96:
        return " (a SHA-384?)";
    case 128:
        return " (a SHA-512 or BLAKE2b?)";
    default:
        return "";
    }
}

static bool refuse_digits(const struct line *l, size_t digits)
{
    if (l->end - l->begin >= 8 && memcmp(l->begin, "SHA256 (", 8) == 0)
        return refuse(l, l->begin,
                      "the BSD form of a digest, expected that of sha256sum: "
                      "64 hexadecimal digits, two spaces, a name");
    return heft_fail(l->err, HEFT_MALFORMED, (uint64_t)(l->at - l->text),
                     "line %" PRIu64 ": %zu hexadecimal digits%s, expected the 64 of a SHA-256",
                     l->number, digits, name_of_hash(digits));
}

static bool parse_digest(struct line *l, uint8_t sha256[HEFT_SHA256_BYTES])
{
    size_t digits = 0;

    while (l->at + digits < l->end && heft_hex_digit((uint8_t)l->at[digits]) != HEFT_NO_HEX)
        digits++;
    if (digits != DIGITS)
        return refuse_digits(l, digits);
    for (size_t i = 0; i < HEFT_SHA256_BYTES; i++)
        sha256[i] = (uint8_t)(heft_hex_digit((uint8_t)l->at[2 * i]) << 4 |
                              heft_hex_digit((uint8_t)l->at[2 * i + 1]));
    l->at += DIGITS;
    return true;
}

static bool parse_mark(struct line *l)
{
    if (l->end - l->at < 2 || l->at[0] != ' ' || (l->at[1] != ' ' && l->at[1] != '*'))
        return refuse(l, l->at, "expected two spaces, or a space and *, after the digest");
    l->is_binary = l->at[1] == '*';
    l->at += 2;
    return true;
}

/* ---- names ----------------------------------------------------------------------------------- */

/* Reads an escape sequence at p[0] == '\\'. Returns its length; 0: unknown. */
static size_t read_escape(const char *p, const char *end, char *out)
{
    static const char letters[] = "\\nrt", values[] = "\\\n\r\t";
    const char *found;

    if (end - p >= 4 && p[1] == 'x') {
        const unsigned high = heft_hex_digit((uint8_t)p[2]), low = heft_hex_digit((uint8_t)p[3]);

        *out = (char)(high << 4 | low);
        return high == HEFT_NO_HEX || low == HEFT_NO_HEX ? 0 : 4;
    }
    if (end - p < 2 || !p[1] || !(found = strchr(letters, p[1])))
        return 0;
    *out = values[found - letters];
    return 2;
}

/* Unescapes [p, end) in place; *name is the result. */
static bool unescape(const struct line *l, char *p, char *end, struct heft_str *name)
{
    char *to = p;

    *name = (struct heft_str){p, (size_t)(end - p)};
    if (!l->is_escaped)
        return true;
    for (const char *from = p; from < end;) {
        size_t n = 1;
        char c = *from;

        if (c == '\\' && (n = read_escape(from, end, &c)) == 0)
            return refuse(l, from,
                          "unknown escape sequence, expected \\\\, \\n, \\r, \\t or \\xHH");
        *to++ = c;
        from += n;
    }
    name->n = (size_t)(to - p);
    return true;
}

/* Whether a path stays below the directory of the list: no root, no drive, no "..". */
static bool is_inside(struct heft_str path)
{
    if (path.p[0] == '/' || path.p[0] == '\\' || (path.n > 1 && path.p[1] == ':'))
        return false;
    for (size_t i = 0; i < path.n;) {
        size_t n = 0;

        while (i + n < path.n && path.p[i + n] != '/')
            n++;
        if (n == 2 && path.p[i] == '.' && path.p[i + 1] == '.')
            return false;
        i += n + 1;
    }
    return true;
}

static bool check_path(const struct line *l, const char *at, struct heft_str *path)
{
    while (path->n > 2 && path->p[0] == '.' && path->p[1] == '/')
        *path = (struct heft_str){path->p + 2, path->n - 2};
    if (memchr(path->p, '\0', path->n))
        return refuse(l, at, "the path contains a NUL");
    return is_inside(*path) ||
           heft_fail(l->err, HEFT_UNSAFE, (uint64_t)(at - l->text),
                     "line %" PRIu64 ": the path %.*s leaves the directory of the list; expected "
                     "a path relative to it, without ..",
                     l->number, (int)heft_min_u64(path->n, 100), path->p);
}

/* ---- tensors --------------------------------------------------------------------------------- */

/* The columns after the name of a tensor, which is [at, name_end) of the line. */
struct columns {
    char *name_end;
    const char *dtype, *shape, *end; /* dtype: after the two spaces; shape: after the bracket; end:
                                        the other bracket */
    size_t dtype_len;
};

/* Splits "NAME  DTYPE  [SHAPE]" from its end: a name may contain anything. */
static bool split_columns(const struct line *l, struct columns *out)
{
    char *p = l->end;

    if (p - l->at < 1 || p[-1] != ']')
        return false;
    out->end = --p;
    while (p > l->at && (p[-1] == ',' || (p[-1] >= '0' && p[-1] <= '9')))
        p--;
    out->shape = p;
    if (p - l->at < 3 || p[-1] != '[' || p[-2] != ' ' || p[-3] != ' ')
        return false;
    p -= 3;
    out->dtype_len = 0;
    while (p > l->at && p[-1] != ' ') {
        p--;
        out->dtype_len++;
    }
    out->dtype = p;
    if (p - l->at < 2 || p[-1] != ' ' || p[-2] != ' ')
        return false;
    out->name_end = p - 2;
    return true;
}

static bool parse_dtype(const struct columns *c, struct heft_digest_entry *out)
{
    char word[DTYPE_MAX];
    enum heft_dtype dtype;

    if (c->dtype_len >= sizeof word)
        return false;
    memcpy(word, c->dtype, c->dtype_len);
    word[c->dtype_len] = '\0';
    out->is_blob = strcmp(word, "BLOB") == 0;
    if (out->is_blob)
        return true;
    if (!heft_dtype_parse(word, &dtype))
        return false;
    out->dtype = (uint8_t)dtype;
    return true;
}

/* Parses a number without leading zeros, and the comma or bracket after it. */
static bool parse_extent(const char **p, uint64_t *out)
{
    const char *const first = *p;
    uint64_t n = 0;

    for (; **p >= '0' && **p <= '9'; (*p)++)
        if (!heft_mul(n, 10, &n) || !heft_add(n, (uint64_t)(**p - '0'), &n))
            return false;
    *out = n;
    return *p > first && (first[0] != '0' || *p == first + 1);
}

/* Number of extents of "2,3"; 0 for "". */
static size_t count_extents(const struct columns *c)
{
    size_t n = c->shape < c->end;

    for (const char *p = c->shape; p < c->end; p++)
        n += *p == ',';
    return n;
}

static bool parse_shape(const struct line *l, const struct columns *c,
                        struct heft_digest_entry *out)
{
    const size_t rank = count_extents(c);
    const char *p = c->shape;
    uint64_t *shape;

    if (rank > MOST_RANK || (out->is_blob && rank != 1))
        return refuse(l, c->shape,
                      out->is_blob ? "expected the size of the blob"
                                   : "the shape has more than 255 dimensions");
    shape = heft_arena_u64(&l->list->mem, rank, l->err);
    if (!shape)
        return false;
    for (size_t i = 0; i < rank; i++, p++)
        if (!parse_extent(&p, &shape[i]) || (i + 1 < rank ? *p != ',' : p != c->end))
            return refuse(l, p, "not a shape, expected numbers below 2^64 like [2,3]");
    out->rank = (uint8_t)rank;
    out->shape = shape;
    out->bytes = out->is_blob ? shape[0] : 0;
    return true;
}

/* ---- lines ----------------------------------------------------------------------------------- */

static bool choose_kind(const struct line *l)
{
    struct heft_digest_entry entry = {0};
    struct columns columns;

    return !l->is_binary && split_columns(l, &columns) && parse_dtype(&columns, &entry);
}

static bool parse_tensor(struct line *l, struct heft_digest_entry *out)
{
    struct columns columns;

    if (l->is_binary || !split_columns(l, &columns))
        return refuse(l, l->at, "expected NAME  DTYPE  [SHAPE], as in the lines before");
    if (!parse_dtype(&columns, out))
        return refuse(l, columns.dtype, "not a dtype, expected one like F32");
    if (!parse_shape(l, &columns, out))
        return false;
    return unescape(l, l->at, columns.name_end, &out->name);
}

static bool parse_file(struct line *l, struct heft_digest_entry *out)
{
    if (l->at == l->end)
        return refuse(l, l->at, "no name after the digest");
    return unescape(l, l->at, l->end, &out->name) && check_path(l, l->at, &out->name);
}

static bool add_entry(const struct line *l, const struct heft_digest_entry *entry)
{
    struct heft_digest_list *const list = l->list;
    struct heft_strmap *const names = entry->is_blob ? &list->blobs : &list->names;
    uint32_t found;

    ((char *)(uintptr_t)entry->name.p)[entry->name.n] = '\0';
    if (list->n >= HEFT_MAP_NONE - 1)
        return heft_fail(l->err, HEFT_LIMIT, entry->off, "more than 2^32 digests");
    if (!heft_strmap_add(names, entry->name, (uint32_t)list->n, &found, l->err))
        return false;
    if (found != HEFT_MAP_NONE)
        return heft_fail(l->err, HEFT_MALFORMED, entry->off,
                         "line %" PRIu64 ": line %" PRIu64 " has a digest of the same name: %s",
                         l->number, list->entries[found].line, entry->name.p);
    if (!heft_grow(&list->entries, &list->cap, list->n, 1, sizeof *list->entries, l->err))
        return false;
    list->entries[list->n++] = *entry;
    return true;
}

static bool check_line(const struct line *l)
{
    const size_t n = (size_t)(l->end - l->begin);
    const char *const nul = memchr(l->begin, '\0', n);

    if (n > MOST_LINE)
        return heft_fail(l->err, HEFT_LIMIT, (uint64_t)(l->begin - l->text),
                         "line %" PRIu64 ": %zu bytes, the limit is 1 MiB", l->number, n);
    if (nul)
        return refuse(l, nul, "a NUL");
    if (n == 0)
        return refuse(l, l->begin, "an empty line");
    return l->end[-1] != '\r' ||
           refuse(l, l->end - 1, "ends in CR LF, expected LF; remove the CRs with tr -d '\\r'");
}

static bool parse_line(struct line *l)
{
    struct heft_digest_entry entry = {.off = (uint64_t)(l->begin - l->text), .line = l->number};

    if (!check_line(l))
        return false;
    if (*l->begin == '#')
        return true;
    l->at = l->begin + (*l->begin == '\\');
    l->is_escaped = *l->begin == '\\';
    if (!parse_digest(l, entry.sha256) || !parse_mark(l))
        return false;
    if (l->list->n == 0)
        l->list->kind = choose_kind(l) ? HEFT_LIST_TENSORS : HEFT_LIST_FILES;
    return (l->list->kind == HEFT_LIST_TENSORS ? parse_tensor(l, &entry) : parse_file(l, &entry)) &&
           add_entry(l, &entry);
}

bool heft_digest_list_parse(struct heft_digest_list *list, char *text, size_t n,
                            struct heft_error *err)
{
    struct line l = {.list = list, .err = err, .text = text};
    char *const end = text + n;

    for (char *p = text; p < end; p = l.end + 1) {
        l.begin = p;
        l.end = memchr(p, '\n', (size_t)(end - p));
        l.end = l.end ? l.end : end;
        l.number++;
        if (!parse_line(&l))
            return false;
    }
    return list->n > 0 || heft_fail(err, HEFT_MALFORMED, 0, "the list has no digest");
}

void heft_digest_list_release(struct heft_digest_list *list)
{
    heft_free(list->entries);
    heft_strmap_release(&list->names);
    heft_strmap_release(&list->blobs);
    heft_arena_release(&list->mem);
    *list = (struct heft_digest_list){0};
}

const struct heft_digest_entry *heft_digest_list_find(const struct heft_digest_list *list,
                                                      struct heft_str name, bool is_blob)
{
    const uint32_t found = heft_strmap_get(is_blob ? &list->blobs : &list->names, name);

    return found == HEFT_MAP_NONE ? NULL : &list->entries[found];
}

void heft_sha256_text(const uint8_t digest[HEFT_SHA256_BYTES], char out[HEFT_SHA256_TEXT])
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < HEFT_SHA256_BYTES; i++) {
        out[2 * i] = digits[digest[i] >> 4];
        out[2 * i + 1] = digits[digest[i] & 15];
    }
    out[DIGITS] = '\0';
}
