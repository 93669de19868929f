/* zip_names.c: decodes the names of records, and finds duplicates.
 *
 *     flag 0x0800    UTF-8
 *     else           code page 437, that of the first PCs; its bytes below 0x80 are ASCII
 *
 * So the specification says, and so Python's zipfile does. torch and most other readers use the
 * bytes as they are, so that only labels are decoded this way. */
#include "wire/zip_parts.h"

#include "base/text.h"

static const uint16_t page_437[128] = {
    0x00C7, 0x00FC, 0x00E9, 0x00E2, 0x00E4, 0x00E0, 0x00E5, 0x00E7, 0x00EA, 0x00EB, 0x00E8, 0x00EF,
    0x00EE, 0x00EC, 0x00C4, 0x00C5, 0x00C9, 0x00E6, 0x00C6, 0x00F4, 0x00F6, 0x00F2, 0x00FB, 0x00F9,
    0x00FF, 0x00D6, 0x00DC, 0x00A2, 0x00A3, 0x00A5, 0x20A7, 0x0192, 0x00E1, 0x00ED, 0x00F3, 0x00FA,
    0x00F1, 0x00D1, 0x00AA, 0x00BA, 0x00BF, 0x2310, 0x00AC, 0x00BD, 0x00BC, 0x00A1, 0x00AB, 0x00BB,
    0x2591, 0x2592, 0x2593, 0x2502, 0x2524, 0x2561, 0x2562, 0x2556, 0x2555, 0x2563, 0x2551, 0x2557,
    0x255D, 0x255C, 0x255B, 0x2510, 0x2514, 0x2534, 0x252C, 0x251C, 0x2500, 0x253C, 0x255E, 0x255F,
    0x255A, 0x2554, 0x2569, 0x2566, 0x2560, 0x2550, 0x256C, 0x2567, 0x2568, 0x2564, 0x2565, 0x2559,
    0x2558, 0x2552, 0x2553, 0x256B, 0x256A, 0x2518, 0x250C, 0x2588, 0x2584, 0x258C, 0x2590, 0x2580,
    0x03B1, 0x00DF, 0x0393, 0x03C0, 0x03A3, 0x03C3, 0x00B5, 0x03C4, 0x03A6, 0x0398, 0x03A9, 0x03B4,
    0x221E, 0x03C6, 0x03B5, 0x2229, 0x2261, 0x00B1, 0x2265, 0x2264, 0x2320, 0x2321, 0x00F7, 0x2248,
    0x00B0, 0x2219, 0x00B7, 0x221A, 0x207F, 0x00B2, 0x25A0, 0x00A0,
};

static bool is_ascii(struct heft_str name)
{
    for (size_t i = 0; i < name.n; i++)
        if ((uint8_t)name.p[i] >= 0x80)
            return false;
    return true;
}

bool heft_zip_decode(struct heft_zip_entry *entry, unsigned flags, uint64_t *room,
                     struct heft_arena *arena, struct heft_error *err)
{
    struct heft_str *const name = &entry->name, text = {NULL, 0};
    char *out;

    if ((flags & HEFT_ZIP_UTF8) || is_ascii(*name))
        return true;
    if (name->n > *room)
        return heft_fail(err, HEFT_LIMIT, entry->header,
                         "more than %d bytes of names that are not UTF-8", HEFT_ZIP_FOREIGN);
    *room -= name->n;
    out = heft_arena_alloc(arena, 3 * name->n + 1, err); /* 16-bit characters: at most 3 bytes
                                                            each */
    if (!out)
        return false;
    text.p = out;
    for (size_t i = 0; i < name->n; i++) {
        const uint8_t byte = (uint8_t)name->p[i];

        text.n += heft_utf8_put(out + text.n, byte < 0x80 ? byte : page_437[byte - 0x80]);
    }
    out[text.n] = '\0';
    *name = text;
    return true;
}

/* ---- duplicates ------------------------------------------------------------------------------ */

bool heft_zip_names_init(struct heft_zip_names *names, size_t letters, size_t entries,
                         bool is_exact, struct heft_error *err)
{
    *names = (struct heft_zip_names){.entries = entries, .is_exact = is_exact};
    names->folded = heft_alloc(is_exact ? 0 : letters, err);
    names->numbered = heft_alloc(entries * sizeof *names->numbered, err);
    if (names->numbered && entries)
        memset(names->numbered, 0xFF,
               entries * sizeof *names->numbered); /* every slot becomes HEFT_MAP_NONE */
    return names->folded && names->numbered;
}

void heft_zip_names_release(struct heft_zip_names *names)
{
    heft_free(names->folded);
    heft_free(names->numbered);
    heft_strmap_release(&names->seen);
    *names = (struct heft_zip_names){0};
}

static struct heft_str fold_case(struct heft_zip_names *names, struct heft_str name)
{
    char *const out = names->folded + names->folded_n;

    for (size_t i = 0; i < name.n; i++) {
        const char c = name.p[i];

        out[i] = c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
    }
    names->folded_n += name.n;
    return (struct heft_str){out, name.n};
}

/* Splits "archive/data/12" into "archive/data/" and 12. False if there is no such number. */
static bool split_number(struct heft_str name, struct heft_str *prefix, size_t *number)
{
    size_t begin = name.n, scale = 1;

    *number = 0;
    for (; begin > 0 && name.p[begin - 1] >= '0' && name.p[begin - 1] <= '9'; begin--) {
        if (name.n - begin == 9)
            return false;
        *number += scale * (size_t)(name.p[begin - 1] - '0');
        scale *= 10;
    }
    *prefix = (struct heft_str){name.p, begin};
    return begin < name.n && begin > 0 && name.p[begin - 1] == '/' &&
           (name.p[begin] != '0' || name.n - begin == 1);
}

/* torch numbers its storages: nearly all names differ only in a small number, and an array
 * distinguishes those. */
bool heft_zip_names_add(struct heft_zip_names *names, struct heft_str name, bool is_plain,
                        uint32_t index, uint32_t *found, struct heft_error *err)
{
    const struct heft_str folded = is_plain || names->is_exact ? name : fold_case(names, name);
    struct heft_str prefix;
    size_t number;

    if (!split_number(folded, &prefix, &number) || number >= names->entries)
        return heft_strmap_add(&names->seen, folded, index, found, err);
    if (!names->prefix.p)
        names->prefix = prefix;
    if (!heft_str_eq(prefix, names->prefix))
        return heft_strmap_add(&names->seen, folded, index, found, err);
    *found = names->numbered[number];
    if (*found == HEFT_MAP_NONE)
        names->numbered[number] = index;
    return true;
}

/* ---- searching a part of a directory --------------------------------------------------------- */

bool heft_zip_lists(struct heft_bytes part, const char *suffix)
{
    const uint8_t *p = part.p, *const end = part.p + part.n;

    for (; end - p >= HEFT_ZIP_CENTRAL; p++) {
        struct heft_str name;

        p = memchr(p, 'P', (size_t)(end - p) - HEFT_ZIP_CENTRAL + 1);
        if (!p)
            return false;
        name = (struct heft_str){(const char *)p + HEFT_ZIP_CENTRAL, heft_le16(p + 28)};
        if (heft_le32(p) == HEFT_ZIP_SIG_CENTRAL &&
            name.n <= (size_t)(end - p) - HEFT_ZIP_CENTRAL && heft_str_ends(name, suffix))
            return true;
    }
    return false;
}
