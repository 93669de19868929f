/* lookalikes.c: signatures of Parquet, Arrow, SentencePiece, archives and other formats. */
#include "tokens/input/lookalikes.h"

#include <string.h>

/* Each begins with bytes that no text begins with: control characters or invalid UTF-8. */
static const struct {
    const char *begin;
    size_t n;
    const char *what;
} STRANGERS[] = {
    {"PAR1\x15", 5, "a Parquet file"},
    {"PAR1\x1C", 5, "a Parquet file"},
    {"ARROW1\0\0", 8, "an Arrow file"},
    {"\xFF\xFF\xFF\xFF", 4, "an Arrow stream"},
    {"PK\3\4", 4, "a zip archive"},
    {"GGUF\3\0\0\0", 8, "a GGUF model"},
    {"\x80\4\x95", 3, "a pickle"},
    {"\x80\2", 2, "a pickle"},
    {"\x89HDF\r\n\x1A\n", 8, "an HDF5 file"},
};

/* SentencePiece's model.proto: field 1, a piece, with its text in field 1 and its score, a float,
 * in field 2. */
static bool is_sentencepiece(struct heft_bytes head)
{
    const size_t score = head.n > 4 ? 4 + (size_t)head.p[3] : 0;

    return head.n > 4 && head.p[0] == 0x0A && head.p[1] < 0x80 && head.p[2] == 0x0A &&
           head.p[3] < head.p[1] && score < head.n && head.p[score] == 0x15;
}

const char *heft_stranger(struct heft_bytes head)
{
    for (size_t i = 0; i < HEFT_COUNT(STRANGERS); i++)
        if (head.n >= STRANGERS[i].n && memcmp(head.p, STRANGERS[i].begin, STRANGERS[i].n) == 0)
            return STRANGERS[i].what;
    return is_sentencepiece(head) ? "a SentencePiece model" : NULL;
}

bool heft_stranger_is_table(const char *stranger)
{
    return strstr(stranger, "Parquet") || strstr(stranger, "Arrow");
}

/* Whether the first line and, if there is one, the second begin with {"key": … */
static bool is_json_lines(struct heft_bytes head)
{
    const uint8_t *line = memchr(head.p, '\n', head.n);
    const size_t next = line ? (size_t)(line - head.p) + 1 : head.n;

    return head.n > 2 && memcmp(head.p, "{\"", 2) == 0 &&
           (next + 2 > head.n || memcmp(head.p + next, "{\"", 2) == 0);
}

const char *heft_text_lookalike(struct heft_bytes head)
{
    if (head.n > 7 && memcmp(head.p, "WARC/1.", 7) == 0)
        return "WARC records";
    return is_json_lines(head) ? "JSON lines" : NULL;
}
