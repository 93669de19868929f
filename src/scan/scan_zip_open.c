/* scan_zip_open.c: decides which archives a zip is to its readers.
 *
 *     opens                    its records (scan_zip.c)
 *     several consecutive ones each of them
 *     a second directory,      what other readers may see (scan_broken.c)
 *     or refused */
#include "scan/scan_parts.h"

/* An error that says nothing about the archive. */
static bool is_unread(const struct heft_error *why)
{
    return why->code == HEFT_NOMEM || why->code == HEFT_IO;
}

/* True for an archive of NumPy, whose names are not paths and may differ only in case: no other
 * program reads an archive that contains only .npy. */
static bool opens_npz(struct heft_scan *s, const struct heft_scan_place *place,
                      struct heft_zip *zip, struct heft_arena *mem, struct heft_error *why)
{
    struct heft_zip_limits limits = heft_zip_limits_of(s->limits, place->src->size);
    struct heft_error refused = {0};

    limits.labels = true;
    if (!heft_zip_open(zip, place->src, &limits, mem, &refused)) {
        if (is_unread(&refused))
            *why = refused;
        return false;
    }
    if (zip->trailing)
        return false;
    for (size_t i = 0; i < zip->count; i++)
        if (!heft_str_ends(zip->entries[i].name, ".npy"))
            return false;
    return true;
}

bool heft_scan_zip(struct heft_scan *s, const struct heft_scan_place *place, struct heft_error *err)
{
    const struct heft_zip_limits limits = heft_zip_limits_of(s->limits, place->src->size);
    struct heft_arena mem = {0};
    struct heft_error why = {0};
    struct heft_zip zip;
    const bool opens = heft_zip_open(&zip, place->src, &limits, &mem, &why) ||
                       (!is_unread(&why) && opens_npz(s, place, &zip, &mem, &why));
    bool ok = true, second = false, is_row = false;

    if ((!opens || zip.trailing) && place->depth < HEFT_SCAN_DEPTH)
        ok = heft_scan_zip_row(s, place, &is_row, err);
    if (ok && !is_row && opens && zip.trailing)
        ok = heft_scan_second_zip(s, place, &second, err);
    if (ok && !is_row)
        ok = opens && !second ? heft_scan_entries(s, place, &zip, err)
                              : heft_scan_broken_zip(s, place, &why, err);
    heft_arena_release(&mem);
    return ok;
}
