/* tar.h: the members of a tar archive, as ranges of a source. Nothing is extracted.
 *
 * Reads ustar, pax and GNU archives with plain files and directories, including pax records and GNU
 * long names that change a name or a size. Members that could refer to other files or have a
 * special meaning (links, devices, sparse files) are refused. */
#ifndef HEFT_TAR_H
#define HEFT_TAR_H

#include "io/source.h"

#define HEFT_TAR_BLOCK 512

struct heft_tar_member {
    struct heft_str name; /* in the arena, NUL-terminated */
    uint64_t header;      /* offset of its first header, including extension headers */
    uint64_t data, size;  /* file offset and number of its bytes */
    uint64_t end;         /* end of the data in whole blocks: the next header */
    bool is_folder;
};

struct heft_tar {
    struct heft_tar_member *members; /* in the file's order */
    size_t count, cap;
    uint64_t end; /* end of the last member; only empty blocks follow */
};

/* True if the block is the header of a member: its checksum matches, and it is not empty. */
bool heft_tar_is_header(const uint8_t block[HEFT_TAR_BLOCK]);
/* Reads all headers, at most `most` members. The caller releases `out`, also after a failure. */
HEFT_CHECKED bool heft_tar_open(struct heft_tar *out, const struct heft_source *src, uint64_t most,
                                struct heft_arena *arena, struct heft_error *err);
void heft_tar_release(struct heft_tar *tar);

#endif
