"""Writes torch_1_13 beside it: python3 make_1_13.py, with Debian's python3-torch 1.13.1, Python 3.11.

That build has no torch.distributed, so that its FileSystemWriter cannot run; its own dataclasses are loaded
from its files, filled as that writer fills them, and dumped. Chunks and objects are saved by its torch.save.
The checkpoint has the old modules, no version, no transforms, no storage_meta, enums that Python 3.11 pickles as
a call of getattr, and zips without byteorder.
"""
import dataclasses
import importlib.util
import io
import pickle
import shutil
import sys
import types
from pathlib import Path

import torch

HERE = Path(__file__).resolve().parent
SHARD = Path(torch.__file__).parent / "distributed" / "_shard"


def load(name, path):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def stub(name, **members):
    module = types.ModuleType(name)
    module.__path__ = []
    vars(module).update(members)
    sys.modules[name] = module


# Defaults that are instances of dataclasses without a hash: Python 3.11 refuses them.
plain = dataclasses.dataclass
dataclasses.dataclass = lambda *args, **options: plain(
    *args, **options) if options.get("frozen") else plain(*args, unsafe_hash=True, **options)

stub("torch.distributed._shard", ShardedTensor=None)
stub("torch.distributed._shard.sharding_spec", ShardingSpec=object)
stub("torch.distributed._shard.metadata", ShardMetadata=object)
stub("torch.distributed._shard.sharded_tensor", ShardedTensor=object)
stub("torch.distributed._shard.checkpoint")
sharded = load("torch.distributed._shard.sharded_tensor.metadata",
               SHARD / "sharded_tensor" / "metadata.py")
checkpoint = load("torch.distributed._shard.checkpoint.metadata",
                  SHARD / "checkpoint" / "metadata.py")


@dataclasses.dataclass
class _StorageInfo:  # as in SHARD/checkpoint/filesystem.py
    relative_path: str
    offset: int
    length: int


_StorageInfo.__module__ = "torch.distributed._shard.checkpoint.filesystem"
stub(_StorageInfo.__module__, _StorageInfo=_StorageInfo)


def saved(value):
    out = io.BytesIO()
    torch.save(value, out)
    return out.getvalue()


def tensor_entry(value, chunks):
    properties = sharded.TensorProperties(dtype=value.dtype)
    return checkpoint.TensorStorageMetadata(properties, value.size(), [
        checkpoint.ChunkStorageMetadata(torch.Size([at, 0]), torch.Size([n, value.size(1)]))
        for at, n in chunks])


def main():
    folder = HERE / "torch_1_13"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    value = torch.arange(10.0).reshape(5, 2)
    chunks = [(0, 3), (3, 2)]
    storage = {}
    for rank, (at, n) in enumerate(chunks):
        name = f"__{rank}_0.distcp"
        data = saved(3) if rank == 0 else b""
        if data:
            storage[checkpoint.MetadataIndex("epoch")] = _StorageInfo(name, 0, len(data))
        chunk = saved(value[at:at + n].clone())
        index = checkpoint.MetadataIndex("weight", [at, 0], rank)
        storage[index] = _StorageInfo(name, len(data), len(chunk))
        (folder / name).write_bytes(data + chunk)
    metadata = checkpoint.Metadata({"weight": tensor_entry(value, chunks),
                                    "epoch": checkpoint.BytesStorageMetadata()},
                                   {"weight": ("weight",), "epoch": ("epoch",)}, storage)
    (folder / ".metadata").write_bytes(pickle.dumps(metadata))


if __name__ == "__main__":
    main()
