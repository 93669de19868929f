"""Hostile HDF5 files, just under 64 MiB: (name, bytes). Requires h5py, which may be missing."""
import io
import zipfile
import zlib

import h5py
import numpy as np

from bounds_runs import SIZE

PACKED = zlib.compress(bytes(32 << 20), 9)


def write(fill, **options):
    out = io.BytesIO()
    with h5py.File(out, "w", **options) as file:
        fill(file)
    return out.getvalue()


def chain(file):
    group = file
    for _ in range(5000):
        group = group.create_group("g")


def links(file):
    group = file.create_group("g")
    for i in range(20000):
        group[f"{i:x}"] = group
    group["data"] = np.zeros(1)


def attributes(file):
    for i in range(8000):
        file.attrs[f"{i:x}"] = i


def empty(file):
    space = h5py.h5s.create_simple((0,))
    for i in range(20000):
        h5py.h5d.create(file.id, b"%x" % i, h5py.h5t.IEEE_F32LE, space)


def packed(file, chunks):
    file.create_dataset("x", shape=(chunks << 25,), chunks=(32 << 20,), dtype="u1", compression="gzip", fillvalue=0)
    for i in range(chunks):
        file["x"].id.write_direct_chunk((i * (32 << 20),), PACKED)


def bomb(file):
    packed(file, 128)


def bomb_that_fits(file):
    file["pad"] = np.zeros(SIZE - (4 << 20), "u1")
    packed(file, 56)


def chunks_met_again(file):
    """Chunks side by side, each with all rows of the dataset: reading one band inflates all of them."""
    file["pad"] = np.zeros(SIZE - (4 << 20), "u1")
    file.create_dataset("x", shape=(1 << 20, 640), chunks=(1 << 20, 8), dtype="u1", compression="gzip")
    for i in range(80):
        file["x"].id.write_direct_chunk((0, i * 8), zlib.compress(bytes(8 << 20), 9))


def chunks(file):
    file.create_dataset("x", data=np.zeros(400000, "u1"), chunks=(8,))


def texts(file):
    file["x"] = np.array([b"a" * 64] * (SIZE // 64))


def large(file):
    file["x"] = np.zeros(SIZE, "u1")


def long_attributes(file):
    for i in range(600):
        file.attrs[f"{i:x}"] = np.full(64000, 7, "u1")


def letters(file):
    for i in range(600):
        file.attrs[f"{i:x}"] = np.full(64000, b"x", "S1")


def samples():
    for fill in (chain, links, attributes, long_attributes, letters, empty, bomb, bomb_that_fits, chunks, chunks_met_again, texts,
                 large):
        yield f"{fill.__name__}.h5", write(fill, libver="latest" if "attributes" in fill.__name__ else None)
    whole = write(large)
    yield "cut-off.h5", whole[:-1]
    yield "cut-in-half.h5", whole[:SIZE // 2]
    yield "zeros-behind.h5", write(attributes, libver="latest") + bytes(SIZE)
    yield "superblock.h5", whole[:96] + bytes(SIZE)
    with io.BytesIO() as out:
        with zipfile.ZipFile(out, "w") as archive:
            archive.writestr("config.json", "[" * (8 << 20))
            archive.writestr("metadata.json", "{}")
            archive.writestr("model.weights.h5", whole[:-(9 << 20)])
        yield "deep-config.keras", out.getvalue()
