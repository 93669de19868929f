/* nfc_tables.h: data of normalization form C in Unicode 9.0, 32 KB: a property of each character in
 * a two-stage table, and canonical decompositions of one step. Hangul syllables are computed. */
#ifndef HEFT_NFC_TABLES_H
#define HEFT_NFC_TABLES_H

#include "base/base.h"

/* Property of a character. The low bits are an index of heft_nfc_classes: 0 and 1 are starters, to
 * 1 something may compose or reorder that follows; others are marks, which have a combining class. */
enum heft_nfc_property {
    HEFT_NFC_CHANGES = 0x80,    /* quick check No or Maybe: changes, or composes with text before */
    HEFT_NFC_DECOMPOSES = 0x40, /* has a canonical decomposition in heft_nfc_pairs */
    HEFT_NFC_CLASS = 0x3F,
    HEFT_NFC_MARK = 0x3E /* any of these bits: a mark */
};

#define HEFT_NFC_TOP   0x30000 /* later characters are starters without a decomposition */
#define HEFT_NFC_BLOCK 64      /* characters of a block */
#define HEFT_NFC_KINDS 56
#define HEFT_NFC_MOST  151
#define HEFT_NFC_PAIRS 2060
#define HEFT_NFC_SLOTS 2048
#define HEFT_NFC_FREE  UINT16_MAX
extern const uint8_t heft_nfc_classes[HEFT_NFC_KINDS];
extern const uint8_t heft_nfc_block_of[HEFT_NFC_TOP / HEFT_NFC_BLOCK];
extern const uint8_t heft_nfc_blocks[HEFT_NFC_MOST][HEFT_NFC_BLOCK];
/* character << 42 | first part << 21 | second part, 0 if there is none; sorted */
extern const uint64_t heft_nfc_pairs[HEFT_NFC_PAIRS];
/* Hash table of the 940 pairs that compose, by their parts: indices of pairs. A search ends at a free
 * slot. */
extern const uint16_t heft_nfc_by_parts[HEFT_NFC_SLOTS];

HEFT_WRAPS static inline unsigned heft_nfc_slot(uint32_t first, uint32_t second)
{
    return (unsigned)((first * 349 + second * 2081) % HEFT_NFC_SLOTS);
}

static inline unsigned heft_nfc_property(uint32_t c)
{
    return c < HEFT_NFC_TOP
               ? heft_nfc_blocks[heft_nfc_block_of[c / HEFT_NFC_BLOCK]][c % HEFT_NFC_BLOCK]
               : 0;
}

/* True if nothing before the character goes together with it. */
static inline bool heft_nfc_is_boundary(unsigned property)
{
    return (property & (HEFT_NFC_CHANGES | HEFT_NFC_MARK)) == 0;
}

#endif
