/* tar.h: the members of a tar, as ranges of a source. Nothing is unpacked.
 *
 * Read are ustar, pax and GNU archives of plain files and folders: pax records and GNU long names
 * that change a name or a size are followed. Whatever could point elsewhere or means more than its
 * bytes (links, devices, sparse files) is refused. */
#ifndef HEFT_TAR_H
#define HEFT_TAR_H

#include "io/source.h"

#define HEFT_TAR_BLOCK 512

struct heft_tar_member {
    struct heft_str name; /* in the arena, NUL-terminated */
    uint64_t header;      /* its first header, also of those that only extend the next */
    uint64_t data, size;  /* its bytes */
    uint64_t end;         /* data + size, to whole blocks: where the next header is */
    bool is_folder;
};

struct heft_tar {
    struct heft_tar_member *members; /* in the file's order */
    size_t count, cap;
    uint64_t end; /* of the last member: empty blocks follow, or nothing */
};

/* Whether a block is the header of a member: its checksum holds, and it is not empty. */
bool heft_tar_is_header(const uint8_t block[HEFT_TAR_BLOCK]);
/* Reads all headers. At most `most` members. The caller releases out, also after a failure. */
HEFT_CHECKED bool heft_tar_open(struct heft_tar *out, const struct heft_source *src, uint64_t most,
                                struct heft_arena *arena, struct heft_error *err);
void heft_tar_release(struct heft_tar *tar);

#endif
