/* scan_data.c: names that weights_only does not allow, but whose import and call can only build
 * data.
 *
 * torch.distributed.checkpoint writes them into each .metadata file, which its own reader
 * unpickles without weights_only. The reason for each:
 *
 *   Metadata, TensorStorageMetadata, BytesStorageMetadata, ChunkStorageMetadata, StorageMeta,
 *   _StorageInfo, _StoragePrefix
 *                          dataclasses without methods that a pickle could reach: constructing
 *                          one, or setting its state, only stores attributes
 *   MetadataIndex          a dataclass whose __init__ stores a name, an index and a torch.Size
 *   TensorProperties       a dataclass whose __setstate__ stores five values; it translates one of
 *                          them by comparisons
 *   _MEM_FORMAT_ENCODING   an enumeration: a call looks up a number
 *   PosixPath, WindowsPath (of checkpoint_id) a call joins texts and opens nothing
 *
 * An attribute or method of these classes is another name, which is not in the table.
 *
 * NumPy's names are not included, although random states of trainers contain them: a state of
 * numpy.dtype can declare that a type with objects has none, and numpy.ndarray then uses raw
 * bytes as pointers. (NumPy 2.4: np.dtype('V8').__setstate__((3, '|', None, ('a',), {'a':
 * (np.dtype('O'), 0)}, 8, 1, 0)).) */
#include "scan/scan_names.h"

static const struct {
    const char *module, *name;
} NAMES[] = {
    {"pathlib", "PosixPath"},
    {"pathlib", "WindowsPath"},
    {"pathlib._local", "PosixPath"},
    {"pathlib._local", "WindowsPath"},
    {"torch.distributed._shard.checkpoint.filesystem", "_StorageInfo"},
    {"torch.distributed._shard.checkpoint.filesystem", "_StoragePrefix"},
    {"torch.distributed._shard.checkpoint.metadata", "BytesStorageMetadata"},
    {"torch.distributed._shard.checkpoint.metadata", "ChunkStorageMetadata"},
    {"torch.distributed._shard.checkpoint.metadata", "Metadata"},
    {"torch.distributed._shard.checkpoint.metadata", "MetadataIndex"},
    {"torch.distributed._shard.checkpoint.metadata", "TensorStorageMetadata"},
    {"torch.distributed._shard.sharded_tensor.metadata", "TensorProperties"},
    {"torch.distributed.checkpoint.filesystem", "_StorageInfo"},
    {"torch.distributed.checkpoint.filesystem", "_StoragePrefix"},
    {"torch.distributed.checkpoint.metadata", "BytesStorageMetadata"},
    {"torch.distributed.checkpoint.metadata", "ChunkStorageMetadata"},
    {"torch.distributed.checkpoint.metadata", "Metadata"},
    {"torch.distributed.checkpoint.metadata", "MetadataIndex"},
    {"torch.distributed.checkpoint.metadata", "StorageMeta"},
    {"torch.distributed.checkpoint.metadata", "TensorProperties"},
    {"torch.distributed.checkpoint.metadata", "TensorStorageMetadata"},
    {"torch.distributed.checkpoint.metadata", "_MEM_FORMAT_ENCODING"},
};

bool heft_scan_builds_data(struct heft_str module, struct heft_str name)
{
    for (size_t i = 0; i < HEFT_COUNT(NAMES); i++)
        if (heft_str_is(module, NAMES[i].module) && heft_str_is(name, NAMES[i].name))
            return true;
    return false;
}
