/* gguf_pairs.c: reads the key-value pairs of a GGUF: a walk that checks every size before it is used,
 * and keeps the range of each value instead of its items. */
#include "base/text.h"
#include "format/gguf/gguf_read.h"

#define LONGEST_STRING ((uint64_t)64 << 20)

enum {
    PAIR_BYTES =
        sizeof(struct heft_gguf_pair) + sizeof(struct heft_node) + 64, /* with its place in a map */
    PAIRS_UNCHECKED = 256 /* pairs between two checks of memory */
};

/* ---- walking over values ---------------------------------------------------------------------- */

/* Bytes of the shortest value of a type: a string and an array begin with their sizes. */
static uint64_t least_bytes(const struct heft_gguf_cursor *cursor, uint32_t type)
{
    const uint64_t size = cursor->version > 1 ? 8 : 4;

    return type == HEFT_GGUF_STRING  ? size
           : type == HEFT_GGUF_ARRAY ? 4 + size
                                     : heft_gguf_types[type].bytes;
}

static bool check_type(uint32_t type, uint64_t at, struct heft_error *err)
{
    return type < HEFT_GGUF_TYPES ||
           heft_fail(err, HEFT_MALFORMED, at, "value type is %" PRIu32 ", must be below %d", type,
                     HEFT_GGUF_TYPES);
}

bool heft_gguf_take_length(struct heft_gguf_cursor *cursor, uint64_t *length, const char *what,
                           struct heft_error *err)
{
    const uint64_t at = cursor->at;
    uint64_t rest;

    if (!heft_gguf_take_size(cursor, length, what, err))
        return false;
    rest = cursor->source->size - cursor->at;
    if (*length > rest)
        return heft_fail(err, HEFT_MALFORMED, at,
                         "%s has a length of %" PRIu64 " bytes, the file has %" PRIu64 " more",
                         what, *length, rest);
    return *length <= LONGEST_STRING ||
           heft_fail(err, HEFT_LIMIT, at, "%s has %" PRIu64 " bytes, the limit is %" PRIu64, what,
                     *length, LONGEST_STRING);
}

bool heft_gguf_take_array(struct heft_gguf_cursor *cursor, uint32_t *type, uint64_t *count,
                          struct heft_error *err)
{
    const uint64_t at = cursor->at;
    uint64_t rest, most;

    if (!heft_gguf_take_u32(cursor, type, "array", err) || !check_type(*type, at, err) ||
        !heft_gguf_take_size(cursor, count, "array", err))
        return false;
    rest = cursor->source->size - cursor->at;
    most = rest / least_bytes(cursor, *type);
    return *count <= most ||
           heft_fail(err, HEFT_MALFORMED, at + 4,
                     "array has %" PRIu64 " items, the rest of the file has room for %" PRIu64,
                     *count, most);
}

/* Strings are short as a rule: those inside the window take no call each. */
static bool skip_strings(struct heft_gguf_cursor *cursor, uint64_t count, struct heft_error *err)
{
    const bool is_usual = cursor->version > 1 && !cursor->is_big_endian;
    uint64_t length;

    while (count > 0) {
        if (is_usual && cursor->at >= cursor->from && cursor->at - cursor->from < cursor->held) {
            const uint8_t *p = cursor->window + (cursor->at - cursor->from);
            const uint8_t *const end = cursor->window + cursor->held;

            for (; count > 0 && end - p >= 8; count--) {
                length = heft_gguf_bits(p, 8, false);
                if (length > (uint64_t)(end - p) - 8)
                    break;
                p += 8 + length;
            }
            cursor->at = cursor->from + (uint64_t)(p - cursor->window);
        }
        if (count == 0)
            break;
        if (!heft_gguf_take_length(cursor, &length, "string in an array", err))
            return false;
        cursor->at += length;
        count--;
    }
    return true;
}

static bool skip_items(struct heft_gguf_cursor *cursor, uint32_t type, uint64_t count,
                       struct heft_error *err)
{
    if (type == HEFT_GGUF_STRING)
        return skip_strings(cursor, count, err);
    return heft_gguf_skip(cursor, count * heft_gguf_types[type].bytes, "array", err);
}

/* Skips an array whose type and count were read. Arrays inside it take a level of a small stack. */
static bool skip_array(struct heft_gguf_cursor *cursor, uint32_t type, uint64_t count,
                       struct heft_error *err)
{
    uint64_t left[HEFT_GGUF_DEPTH];
    unsigned depth = 0;

    for (;;) {
        const uint64_t at = cursor->at;

        if (type != HEFT_GGUF_ARRAY) {
            if (!skip_items(cursor, type, count, err))
                return false;
        } else if (depth == HEFT_GGUF_DEPTH - 1 && count > 0) {
            return heft_fail(err, HEFT_LIMIT, at, "arrays are nested deeper than %d levels",
                             HEFT_GGUF_DEPTH);
        } else {
            left[depth++] = count;
        }
        while (depth > 0 && left[depth - 1] == 0)
            depth--;
        if (depth == 0)
            return true;
        left[depth - 1]--;
        if (!heft_gguf_take_array(cursor, &type, &count, err))
            return false;
    }
}

bool heft_gguf_skip_value(struct heft_gguf_cursor *cursor, uint32_t type,
                          struct heft_gguf_pair *pair, struct heft_error *err)
{
    uint64_t size;
    uint32_t item_type;

    if (type == HEFT_GGUF_STRING) {
        if (!heft_gguf_take_length(cursor, &size, "string", err))
            return false;
        cursor->at += size;
        return true;
    }
    if (type != HEFT_GGUF_ARRAY)
        return heft_gguf_take(cursor, heft_gguf_types[type].bytes, "value", err) != NULL;
    if (!heft_gguf_take_array(cursor, &item_type, &size, err))
        return false;
    if (pair) {
        pair->item_type = item_type;
        pair->count = size;
    }
    return skip_array(cursor, item_type, size, err);
}

/* ---- pairs ------------------------------------------------------------------------------------ */

static bool take_key(struct heft_gguf_reader *r, struct heft_gguf_pair *pair,
                     struct heft_error *err)
{
    uint64_t length;
    char *key;

    if (!heft_gguf_take_length(&r->cursor, &length, "key", err))
        return false;
    if (length > r->model->limits.name)
        return heft_fail(err, HEFT_LIMIT, pair->at,
                         "key has %" PRIu64 " bytes, the limit is %" PRIu64, length,
                         r->model->limits.name);
    key = heft_arena_chars(&r->model->mem, (size_t)length + 1, err);
    if (!key || !heft_gguf_copy(&r->cursor, key, (size_t)length, "key", err))
        return false;
    key[length] = '\0';
    pair->key = (struct heft_str){key, (size_t)length};
    return true;
}

static bool check_key(struct heft_gguf_reader *r, const struct heft_gguf_pair *pair,
                      struct heft_error *err)
{
    uint32_t found;

    if (!heft_strmap_add(&r->keys, pair->key, (uint32_t)r->file->n_pairs, &found, err))
        return false;
    if (found != HEFT_MAP_NONE) {
        heft_fail(err, HEFT_MALFORMED, pair->at, "a second pair with this key");
        return heft_error_about(err, "key", pair->key);
    }
    if (pair->key.n == 0 && !r->odd_at[0])
        r->odd_at[0] = pair->at;
    if (memchr(pair->key.p, '\0', pair->key.n) && !r->odd_at[1])
        r->odd_at[1] = pair->at;
    return true;
}

static bool add_value(struct heft_gguf_reader *r, const struct heft_gguf_pair *pair,
                      struct heft_error *err)
{
    const uint64_t end = r->cursor.at;
    struct heft_str key = pair->key;

    r->cursor.at = pair->value;
    if ((!heft_gguf_is_plain(key) && !heft_gguf_show_name(key, &r->model->mem, &key, err)) ||
        !heft_gguf_add_value(r, HEFT_STR(""), pair->type, err))
        return false;
    r->values->last->value.key = key.p; /* not copied, as keys may be long */
    r->values->last->value.key_len = key.n;
    r->cursor.at = end;
    return true;
}

static bool read_pair(struct heft_gguf_reader *r, struct heft_error *err)
{
    struct heft_gguf_pair *const pair = &r->file->pairs[r->file->n_pairs];

    *pair = (struct heft_gguf_pair){.at = r->cursor.at};
    if (!take_key(r, pair, err) || !check_key(r, pair, err))
        return false;
    if (!heft_gguf_take_u32(&r->cursor, &pair->type, "value type", err) ||
        !check_type(pair->type, r->cursor.at - 4, err))
        return heft_error_about(err, "key", pair->key);
    pair->value = r->cursor.at;
    if (!heft_gguf_skip_value(&r->cursor, pair->type, pair, err))
        return heft_error_about(err, "key", pair->key);
    pair->bytes = r->cursor.at - pair->value;
    r->file->n_pairs++;
    return add_value(r, pair, err);
}

static bool check_count(struct heft_gguf_reader *r, struct heft_error *err)
{
    const uint64_t rest = r->cursor.source->size - r->cursor.at;
    const uint64_t least = r->cursor.version > 1 ? 13 : 9; /* an empty key, a byte */
    const uint64_t most = heft_limit_nodes(&r->model->limits, r->model->file_bytes);
    const uint64_t at = r->cursor.at - (r->cursor.version > 1 ? 8 : 4);

    if (r->n_pairs > rest / least)
        return heft_fail(err, HEFT_MALFORMED, at,
                         "the header counts %" PRIu64
                         " key-value pairs, the rest of the file has room for %" PRIu64,
                         r->n_pairs, rest / least);
    r->nodes = most;
    return r->n_pairs <= most ||
           heft_fail(err, HEFT_LIMIT, at,
                     "%" PRIu64 " key-value pairs, the limit is %" PRIu64 ": limits.nodes",
                     r->n_pairs, most);
}

/* ---- pairs with a meaning ---------------------------------------------------------------------- */

/* The bits of a number, sign-extended to 64 bits if its type has a sign. */
static bool read_number(struct heft_gguf_reader *r, const struct heft_gguf_pair *pair, int64_t *out,
                        struct heft_error *err)
{
    const unsigned bytes = heft_gguf_types[pair->type].bytes;
    const uint64_t end = r->cursor.at;
    const uint8_t *p;
    uint64_t bits;

    r->cursor.at = pair->value;
    p = heft_gguf_take(&r->cursor, bytes, "value", err);
    r->cursor.at = end;
    if (!p)
        return false;
    bits = heft_gguf_bits(p, bytes, r->cursor.is_big_endian);
    if ((pair->type == HEFT_GGUF_I8 || pair->type == HEFT_GGUF_I16 ||
         pair->type == HEFT_GGUF_I32) &&
        bits >> (8 * bytes - 1))
        bits |= UINT64_MAX << (8 * bytes);
    memcpy(out, &bits, sizeof bits);
    return true;
}

static bool read_alignment(struct heft_gguf_reader *r, struct heft_error *err)
{
    const struct heft_gguf_pair *const pair = heft_gguf_find(r->file, "general.alignment");
    int64_t value;

    r->file->alignment = HEFT_GGUF_ALIGNMENT;
    if (!pair)
        return true;
    if (pair->type != HEFT_GGUF_U32)
        return heft_fail(err, HEFT_MALFORMED, pair->value - 4,
                         "general.alignment is of type %s, must be u32",
                         heft_gguf_types[pair->type].name);
    if (!read_number(r, pair, &value, err))
        return false;
    if (value == 0 || (value & (value - 1)) != 0)
        return heft_fail(err, HEFT_MALFORMED, pair->value,
                         "general.alignment is %" PRId64 ", must be a power of two", value);
    r->file->alignment = (uint64_t)value;
    return true;
}

/* A number of a split set: u16 in files of both writers; other integers are as good. */
static bool read_split_number(struct heft_gguf_reader *r, const char *key, int64_t most,
                              int64_t *out, struct heft_error *err)
{
    const struct heft_gguf_pair *const pair = heft_gguf_find(r->file, key);

    *out = 0;
    if (!pair)
        return true;
    if (heft_gguf_types[pair->type].bytes == 0 || pair->type == HEFT_GGUF_F32 ||
        pair->type == HEFT_GGUF_F64 || pair->type == HEFT_GGUF_BOOL)
        return heft_fail(err, HEFT_MALFORMED, pair->value - 4,
                         "%s is of type %s, must be an integer", key,
                         heft_gguf_types[pair->type].name);
    if (!read_number(r, pair, out, err))
        return false;
    return (*out >= 0 && *out <= most) ||
           heft_fail(err, HEFT_MALFORMED, pair->value,
                     "%s is %" PRId64 ", must be from 0 to %" PRId64, key, *out, most);
}

/* Removes a member: the number of a later part is no metadata of the set. */
static void drop_value(struct heft_node *dict, const char *key)
{
    const struct heft_value **link = &dict->value.first_child;

    while (*link && strcmp((*link)->key, key) != 0)
        link = (const struct heft_value **)&(*link)->next_sibling; /* made by heft_tree_add */
    if (*link)
        *link = (*link)->next_sibling;
}

static bool read_split(struct heft_gguf_reader *r, struct heft_error *err)
{
    int64_t no, count, tensors;

    if (!read_split_number(r, "split.no", HEFT_GGUF_SPLIT_MOST, &no, err) ||
        !read_split_number(r, "split.count", HEFT_GGUF_SPLIT_MOST, &count, err) ||
        !read_split_number(r, "split.tensors.count", INT32_MAX, &tensors, err))
        return false;
    r->file->split_no = (uint32_t)no;
    r->file->split_count = (uint32_t)count;
    r->file->split_tensors = tensors;
    if (no > 0)
        drop_value(r->values, "split.no");
    return true;
}

static bool note_keys(struct heft_gguf_reader *r, struct heft_error *err)
{
    return (!r->odd_at[0] || heft_model_note(r->model, HEFT_FINDING, r->file->source, r->odd_at[0],
                                             err, "a key is empty: llama.cpp refuses this file")) &&
           (!r->odd_at[1] ||
            heft_model_note(r->model, HEFT_NOTE, r->file->source, r->odd_at[1], err,
                            "a key contains a NUL byte: llama.cpp reads it up to there"));
}

/* Compares the memory that the pairs take, keys apart, with what is left. */
static bool check_room(const struct heft_gguf_reader *r, struct heft_error *err)
{
    const uint64_t room = heft_model_room(r->model);

    return r->n_pairs <= room / PAIR_BYTES ||
           heft_fail(err, HEFT_LIMIT, r->cursor.at,
                     "%" PRIu64 " key-value pairs take more memory than the %" PRIu64
                     " bytes that are allowed",
                     r->n_pairs, room);
}

bool heft_gguf_read_pairs(struct heft_gguf_reader *r, struct heft_error *err)
{
    size_t n;

    if (!check_count(r, err) || !check_room(r, err) || !heft_size(r->n_pairs, &n))
        return false;
    r->file->pairs = heft_arena_zero(&r->model->mem, n, sizeof *r->file->pairs, err);
    r->values = heft_tree_dict(&r->model->mem, NULL, HEFT_STR(""), err);
    if (!r->file->pairs || !r->values)
        return false;
    while (r->file->n_pairs < n)
        if (!read_pair(r, err) ||
            (r->file->n_pairs % PAIRS_UNCHECKED == 0 && !heft_model_fits(r->model, err)))
            return false;
    return read_alignment(r, err) && read_split(r, err) && note_keys(r, err);
}
