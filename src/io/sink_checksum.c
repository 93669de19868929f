/* sink_checksum.c: size and checksum of a file before it is committed. */
#include "base/checksum.h"
#include "io/sink_parts.h"

#define PIECE ((size_t)256 << 10)

static bool add_piece(const struct heft_sink_file *file, uint64_t off, uint8_t *piece, size_t n,
                      uint32_t *crc32c, struct heft_error *err)
{
    for (size_t done = 0; done < n;) {
        const int64_t some = heft_os->pread(file->fd, piece + done, n - done, off + done);

        if (some < 0)
            return heft_sink_fails(err, "cannot be read back", file->path);
        if (some == 0) {
            heft_fail(err, HEFT_IO, off + done, "its temporary file has become shorter");
            return heft_error_file(err, file->path);
        }
        done += (size_t)some;
    }
    *crc32c = heft_crc32c(*crc32c, piece, n);
    return true;
}

bool heft_sink_checksum(struct heft_sink *sink, uint32_t index, uint64_t *bytes, uint32_t *crc32c,
                        struct heft_error *err)
{
    struct heft_sink_file *file = sink->files[index];
    uint8_t *piece = heft_alloc(PIECE, err);
    bool ok = piece && heft_sink_open_again(sink, file, err);

    *bytes = file->end;
    *crc32c = 0;
    for (uint64_t at = 0; ok && at < file->end; at += PIECE)
        ok = add_piece(file, at, piece, (size_t)heft_min_u64(PIECE, file->end - at), crc32c, err);
    heft_free(piece);
    return ok;
}
