/* torch_zip.h: torch archive around a pickle, in memory, for tests and fuzz targets.
 *
 *     a/data.pkl   the pickle        a/data/0   64 bytes, 0 … 63        a/version   3
 *
 * Records are stored, with sizes in the local headers and no padding; their checksum is 0 (not
 * computed) unless it is given. data.pkl begins at TORCH_ZIP_PICKLE. */
#ifndef TORCH_ZIP_H
#define TORCH_ZIP_H

#include "base/endian.h"
#include "base/mem.h"

#define TORCH_ZIP_PICKLE 40 /* 30 bytes and the name "a/data.pkl" */

struct torch_zip_record {
    const char *name;
    struct heft_bytes data;
    uint32_t at, crc;
};

static inline void torch_zip_u16(struct heft_buf *out, uint16_t v)
{
    uint8_t raw[2];

    heft_put_le16(raw, v);
    heft_buf_put(out, raw, sizeof raw);
}

static inline void torch_zip_u32(struct heft_buf *out, uint32_t v)
{
    uint8_t raw[4];

    heft_put_le32(raw, v);
    heft_buf_put(out, raw, sizeof raw);
}

/* Fields common to local and central headers, from "version needed" to the length of the name. */
static inline void torch_zip_common(struct heft_buf *out, const struct torch_zip_record *r)
{
    torch_zip_u16(out, 0);
    torch_zip_u16(out, 0x0800);
    torch_zip_u16(out, 0);
    torch_zip_u32(out, 0);
    torch_zip_u32(out, r->crc);
    torch_zip_u32(out, (uint32_t)r->data.n);
    torch_zip_u32(out, (uint32_t)r->data.n);
    torch_zip_u16(out, (uint16_t)strlen(r->name));
    torch_zip_u16(out, 0);
}

static inline void torch_zip_records(struct heft_buf *out, struct torch_zip_record *records,
                                     size_t n)
{
    uint32_t directory;

    for (size_t i = 0; i < n; i++) {
        records[i].at = (uint32_t)out->n;
        heft_buf_put(out, "PK\3\4", 4);
        torch_zip_common(out, &records[i]);
        heft_buf_text(out, records[i].name);
        heft_buf_put(out, records[i].data.p, records[i].data.n);
    }
    directory = (uint32_t)out->n;
    for (size_t i = 0; i < n; i++) {
        heft_buf_put(out, "PK\1\2\0\0", 6);
        torch_zip_common(out, &records[i]);
        heft_buf_put(out, "\0\0\0\0\0\0\0\0\0", 10); /* comment, disk, attributes */
        torch_zip_u32(out, records[i].at);
        heft_buf_text(out, records[i].name);
    }
    torch_zip_u32(out, 0x06054b50);
    torch_zip_u32(out, 0);
    torch_zip_u16(out, (uint16_t)n);
    torch_zip_u16(out, (uint16_t)n);
    torch_zip_u32(out, (uint32_t)out->n - 12 - directory);
    torch_zip_u32(out, directory);
    torch_zip_u16(out, 0);
}

/* Appends an archive of the pickle to `out`; release it with heft_buf_release. */
static inline void torch_zip_of(struct heft_buf *out, struct heft_bytes pickle)
{
    uint8_t numbers[64];
    struct torch_zip_record records[] = {
        {.name = "a/data.pkl", .data = pickle},
        {.name = "a/data/0", .data = {numbers, sizeof numbers}},
        {.name = "a/version", .data = {(const uint8_t *)"3\n", 2}},
    };

    for (size_t i = 0; i < sizeof numbers; i++)
        numbers[i] = (uint8_t)i;
    torch_zip_records(out, records, HEFT_COUNT(records));
}

#endif
