"""Writes the directories beside it, each malformed in one way: python3 make.py (torch 2.13, see expect.tsv).

`w` is 3 × 2, its rows 0 and 1 in one chunk, row 2 in another; `epoch` is an object.
"""
import io
import pickle
import shutil
import zipfile
from pathlib import Path

import torch
from torch.distributed.checkpoint.filesystem import _StorageInfo
from torch.distributed.checkpoint.metadata import (BytesStorageMetadata, ChunkStorageMetadata,
                                                   Metadata, MetadataIndex, TensorProperties,
                                                   TensorStorageMetadata)

HERE = Path(__file__).resolve().parent
DATA = "__0_0.distcp"


def saved(value):
    """Archive of torch.save, without the records that do not matter here."""
    whole, out = io.BytesIO(), io.BytesIO()
    torch.save(value, whole)
    with zipfile.ZipFile(whole) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            if name.split("/", 1)[1] in ("data.pkl", "data/0", "version"):
                new.writestr(zipfile.ZipInfo(name), old.read(name))
    return out.getvalue()


class Folder:
    def __init__(self, name):
        self.name = name
        self.chunks = {(0, 0): (2, 2), (2, 0): (1, 2)}
        self.size = (3, 2)
        self.dtype = torch.float32
        self.items = {("w", (0, 0)): saved(torch.arange(4.0).reshape(2, 2)),
                      ("w", (2, 0)): saved(torch.arange(4.0, 6.0).reshape(1, 2)),
                      ("epoch", None): saved(3)}
        self.places = {}  # (name, offset) → changes of its _StorageInfo
        self.change = None  # of the Metadata object
        self.data = b""  # appended to the data file

    def metadata(self):
        properties = TensorProperties(dtype=self.dtype)
        tensor = TensorStorageMetadata(properties, torch.Size(self.size),
                                       [ChunkStorageMetadata(torch.Size(at), torch.Size(sizes))
                                        for at, sizes in self.chunks.items()])
        storage, at = {}, 0
        for (name, offset), data in self.items.items():
            info = _StorageInfo(DATA, at, len(data))
            for key, value in self.places.get((name, offset), {}).items():
                setattr(info, key, value)
            storage[MetadataIndex(name, offset)] = info
            at += len(data)
        return Metadata({"w": tensor, "epoch": BytesStorageMetadata()}, storage_data=storage,
                        version="1.0.0")

    def write(self):
        path = HERE / self.name
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir()
        metadata = self.metadata()
        if self.change:
            metadata = self.change(metadata) or metadata
        data = pickle.dumps(metadata, protocol=4)
        (path / ".metadata").write_bytes(data)
        (path / DATA).write_bytes(b"".join(self.items.values()) + self.data)


FOLDERS = []


def folder(function):
    f = Folder(function.__name__.strip("_").replace("_", "-"))
    f.after = function(f)
    FOLDERS.append(f)


FIRST, SECOND, EPOCH = ("w", (0, 0)), ("w", (2, 0)), ("epoch", None)


@folder
def sound(f):
    pass


# ---- D1: files that are named ---------------------------------------------------------------------

@folder
def path_up(f):
    f.places[FIRST] = {"relative_path": "../sound/" + DATA}


@folder
def path_absolute(f):
    f.places[FIRST] = {"relative_path": "/etc/passwd"}


@folder
def path_in_sub_folder(f):
    f.places[FIRST] = {"relative_path": "sub/" + DATA}


@folder
def path_windows(f):
    f.places[FIRST] = {"relative_path": "C:" + DATA}


@folder
def path_nul(f):
    f.places[FIRST] = {"relative_path": DATA + "\0"}


@folder
def path_empty(f):
    f.places[FIRST] = {"relative_path": ""}


@folder
def path_self(f):
    f.places[FIRST] = {"relative_path": "."}


@folder
def path_number(f):
    f.places[FIRST] = {"relative_path": 7}


@folder
def path_link(f):
    """A symbolic link to a file that is not part of a checkpoint: it must be treated as a link, whatever
    its target."""
    f.places[FIRST] = {"relative_path": "link.distcp"}
    return lambda path: (path / "link.distcp").symlink_to("../expect.tsv")


@folder
def path_device(f):
    f.places[FIRST] = {"relative_path": "link.distcp"}
    return lambda path: (path / "link.distcp").symlink_to("/dev/zero")


@folder
def file_missing(f):
    f.places[FIRST] = {"relative_path": "__1_0.distcp"}


@folder
def file_is_the_metadata(f):
    f.places[FIRST] = {"relative_path": ".metadata", "offset": 0, "length": 20}


# ---- D2: places -----------------------------------------------------------------------------------

@folder
def length_past_the_end(f):
    f.places[EPOCH] = {"length": 100000}


@folder
def offset_past_the_end(f):
    f.places[EPOCH] = {"offset": 1 << 40}


@folder
def offset_and_length_overflow(f):
    f.places[EPOCH] = {"offset": (1 << 63) - 1, "length": (1 << 63) - 1}


@folder
def offset_huge(f):
    f.places[EPOCH] = {"offset": 1 << 64}


@folder
def offset_negative(f):
    f.places[EPOCH] = {"offset": -1}


@folder
def length_is_text(f):
    f.places[EPOCH] = {"length": "10"}


@folder
def length_too_short(f):
    f.places[SECOND] = {"length": 300}


@folder
def length_zero(f):
    f.places[EPOCH] = {"length": 0}


@folder
def places_overlap(f):
    f.places[SECOND] = {"offset": 100}


@folder
def place_twice(f):
    f.places[SECOND] = {"offset": 0}


# ---- D3: chunks -----------------------------------------------------------------------------------

@folder
def chunks_overlap(f):
    f.size = (2, 2)
    f.chunks = {(0, 0): (2, 2), (1, 0): (1, 2)}
    f.items[("w", (1, 0))] = f.items.pop(SECOND)


@folder
def chunks_leave_a_gap(f):
    f.size = (4, 2)
    f.chunks = {(0, 0): (2, 2), (3, 0): (1, 2)}
    f.items[("w", (3, 0))] = f.items.pop(SECOND)


@folder
def chunk_leaves_the_tensor(f):
    f.size = (3, 1)


@folder
def chunk_overflows(f):
    f.chunks = {(0, 0): (2, 2), ((1 << 63) - 1, 0): (1, 2)}
    f.items[("w", ((1 << 63) - 1, 0))] = f.items.pop(SECOND)


@folder
def chunk_of_other_rank(f):
    f.chunks = {(0, 0): (2, 2), (2,): (1,)}


@folder
def chunk_missing(f):
    f.items.pop(SECOND)


@folder
def chunk_not_listed(f):
    f.size = (2, 2)
    f.chunks.pop((2, 0))


@folder
def no_chunks(f):
    f.chunks = {}
    f.items = {EPOCH: f.items[EPOCH]}


@folder
def sound_with_empty_chunks(f):
    """Ranks without a share may give any position: before the tensor's chunks, or after its end."""
    def change(metadata):
        tensor = metadata.state_dict_metadata["w"]
        for at in ((2, 0), (3, 0)):
            tensor.chunks.insert(0, ChunkStorageMetadata(torch.Size(at), torch.Size((0, 2))))
    f.change = change


@folder
def chunk_twice(f):
    def change(metadata):
        metadata.state_dict_metadata["w"].chunks *= 2
    f.change = change


@folder
def chunk_other_shape(f):
    f.items[SECOND] = saved(torch.zeros(2, 1))


@folder
def chunk_other_rank(f):
    f.items[SECOND] = saved(torch.zeros(2))


@folder
def chunk_other_dtype(f):
    f.items[SECOND] = saved(torch.zeros(1, 2, dtype=torch.int32))


@folder
def chunk_is_an_object(f):
    f.items[SECOND] = saved(7)


@folder
def chunk_in_a_dict(f):
    f.items[SECOND] = saved({"w": torch.zeros(1, 2)})


@folder
def chunk_is_no_zip(f):
    f.items[SECOND] = b"x" * len(f.items[SECOND])


@folder
def chunk_storage_flipped(f):
    data = bytearray(f.items[SECOND])
    data[data.index(b"\0\0\x80\x40")] ^= 1
    f.items[SECOND] = bytes(data)


@folder
def size_too_large(f):
    f.size = (1 << 62, 1 << 62)


def sized(f, size):
    def change(metadata):
        metadata.state_dict_metadata["w"].size = size
    f.change = change


@folder
def size_negative(f):
    sized(f, (3, -2))


@folder
def size_of_floats(f):
    sized(f, (3, 2.0))


@folder
def size_is_text(f):
    sized(f, "3,2")


@folder
def size_of_65_dimensions(f):
    sized(f, (1,) * 65)


@folder
def dtype_quantized(f):
    f.dtype = torch.qint8


@folder
def dtype_is_none(f):
    f.dtype = None


@folder
def transformed(f):
    f.places[FIRST] = {"transform_descriptors": ["zstd"]}


# ---- D4: the pickle -------------------------------------------------------------------------------

@folder
def cyclic_state(f):
    def change(metadata):
        metadata.state_dict_metadata = metadata.__dict__
    f.change = change


@folder
def cyclic_chunks(f):
    def change(metadata):
        tensor = metadata.state_dict_metadata["w"]
        tensor.chunks.append(tensor.chunks)
    f.change = change


@folder
def cyclic_object(f):
    def change(metadata):
        metadata.storage_data[MetadataIndex("epoch", None)] = metadata
    f.change = change


@folder
def no_state(f):
    f.change = lambda metadata: Metadata(None, storage_data=metadata.storage_data)


@folder
def no_places(f):
    f.change = lambda metadata: Metadata(metadata.state_dict_metadata)


@folder
def entry_of_unknown_kind(f):
    def change(metadata):
        metadata.state_dict_metadata["epoch"] = 3
    f.change = change


@folder
def entry_without_place(f):
    f.items.pop(EPOCH)


@folder
def key_is_a_tuple(f):
    def change(metadata):
        metadata.storage_data[("w", 0)] = metadata.storage_data.pop(MetadataIndex("w", (2, 0)))
    f.change = change


@folder
def place_of_nothing(f):
    def change(metadata):
        metadata.storage_data[MetadataIndex("v", (0,))] = _StorageInfo(DATA, 0, 1)
    f.change = change


@folder
def metadata_cut(f):
    return lambda path: cut(path / ".metadata", -20)


@folder
def metadata_goes_on(f):
    return lambda path: cut(path / ".metadata", None, b"more")


@folder
def data_goes_on(f):
    f.data = b"hidden"


# ---- files beside the metadata -------------------------------------------------------------------

@folder
def beside_is_text(f):
    return lambda path: (path / "common.pt").write_bytes(b"no pickle")


@folder
def beside_has_the_name(f):
    return lambda path: (path / "meta.pt").write_bytes(saved({"w": torch.zeros(1)}))


@folder
def beside_differs(f):
    return lambda path: (path / "meta.pt").write_bytes(saved({"epoch": 4}))


def cut(path, end, more=b""):
    path.write_bytes(path.read_bytes()[:end] + more)


def main():
    for f in FOLDERS:
        f.write()
        if f.after:
            f.after(HERE / f.name)


if __name__ == "__main__":
    main()
