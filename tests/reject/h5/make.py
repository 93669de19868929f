#!/usr/bin/env python3
"""Writes the samples of this directory and expect.tsv: HDF5 files that must be refused, and unusual valid ones.

    python make.py            # made with h5py 3.14.0 (HDF5 1.14.6)
"""
import io
import math
import re
import zipfile
import zlib
from pathlib import Path

import h5py
import numpy as np

HERE = Path(__file__).resolve().parent
ROWS = []


def sample(name, content, code, offset="-", text=""):
    (HERE / name).write_bytes(content)
    ROWS.append((name, code, hex(offset) if isinstance(offset, int) else offset, text))


def write(fill, **options):
    bytes_ = io.BytesIO()
    with h5py.File(bytes_, "w", **options) as file:
        fill(file)
    return bytes_.getvalue()


def two(file):
    file["x"] = np.arange(2, dtype="f4")
    file["y"] = np.arange(2, dtype="f4")


def offsets(content):
    with h5py.File(io.BytesIO(content)) as file:
        return [file[name].id.get_offset() for name in "xy"]


def put(content, at, value, width=8):
    return content[:at] + value.to_bytes(width, "little") + content[at + width:]


def superblocks():
    old, new = write(two), write(two, libver="latest")
    size = len(old)
    sample("version-4.h5", put(old, 8, 4, 1), "unsupported", 8, "superblock version 4")
    sample("offsets-of-3.h5", put(old, 13, 3, 1), "malformed", 13, "offsets have 3 bytes")
    sample("lengths-of-16.h5", put(old, 14, 16, 1), "unsupported", 14, "lengths have 16 bytes")
    sample("cut-off.h5", old[:-1], "malformed", 40, f"ends at {size}, it ends at {size - 1}")
    sample("cut-in-superblock.h5", old[:30], "malformed", 0, "ends inside the superblock")
    sample("only-a-signature.h5", old[:8], "malformed", 0, "ends inside the superblock")
    sample("end-at-2-to-63.h5", put(old, 40, 1 << 63), "malformed", 40, "it is cut off")
    sample("end-before-base.h5", put(old, 24, 1 << 40), "malformed", 40, "before it begins")
    sample("driver-block.h5", put(old, 48, 96), "unsupported", 48, "one file of several")
    sample("new-offsets-of-0.h5", put(new, 9, 0, 1), "malformed", 9, "offsets have 0 bytes")
    sample("new-cut-off.h5", new[:-1], "malformed", 28, "it is cut off")
    sample("new-checksum.h5", put(new, 44, 1, 4), "malformed", "-", "libhdf5")
    sample("one-byte-more.h5", old + b"\1", "finding", size, "")


def groups():
    old = write(two)
    x, y = offsets(old)
    places = [old.index(n.to_bytes(8, "little")) for n in (x, y)]
    sample("data-shared.h5", put(old, places[1], x), "malformed", x, "within those of another")
    sample("data-half-shared.h5", put(old, places[1], x + 4), "malformed", x + 4,
           "within those of another")
    sample("data-beyond-the-end.h5", put(old, places[1], len(old) - 4), "malformed", "*", "")
    sample("data-in-superblock.h5", put(old, places[0], 0, 8), "malformed", 0, "")
    sample("root-of-zeros.h5", old[:96] + bytes(64) + old[160:], "unsupported", "-", "libhdf5")
    sample("root-elsewhere.h5", put(old, 64, 1 << 40), "malformed", "-", "libhdf5")


def loops():
    """Cyclic structures: libhdf5 follows them until it exhausts its stack, its memory or its time."""
    def chunks(file):
        file.create_dataset("x", data=np.arange(70, dtype="f4"), chunks=(1,))

    def names(file):
        for i in range(300):
            file[f"{i}"] = file["/"]

    def attributes(file):
        file["x"] = np.float32(1)
        for i in range(8):
            file["x"].attrs[f"{i}"] = np.arange(20)

    def deleted(file):
        for name in "abcdefgh":
            file[name * 8] = np.float32(1)
        for name in "ceg":
            del file[name * 8]

    def top(content, kind):
        trees = [m.start() for m in re.finditer(b"TREE", content)]
        return max((at for at in trees if content[at + 4] == kind), key=lambda at: content[at + 5])

    tree = write(names)
    at = top(tree, 0)
    assert tree[at + 5] > 0
    sample("links-within-themselves.h5", put(tree, at + 24 + 8, at), "malformed", "-", "libhdf5")
    tree = write(chunks)
    at = top(tree, 1)
    assert tree[at + 5] > 0
    sample("chunks-within-themselves.h5", put(tree, at + 24 + 8 + 16, at), "malformed", "-", "libhdf5")
    heap = write(deleted)
    at = heap.index(b"HEAP")
    free, data = (int.from_bytes(heap[at + n:at + n + 8], "little") for n in (16, 24))
    sample("free-list-of-one.h5", put(heap, data + free, free), "limit", "-", "libhdf5")
    header = write(attributes)
    with h5py.File(io.BytesIO(header)) as file:
        at = h5py.h5o.get_info(file["x"].id).addr
    more = header.index(b"\x10\0\x10\0", at) + 8  # a message of type 16 with 16 bytes: header continuation
    sample("header-of-itself.h5", put(put(header, more, at + 16), more + 8, 256), "ok")


def links():
    def outside(file):
        file["x"] = np.zeros(1)
        file["out"] = h5py.ExternalLink("/etc/passwd", "/x")

    def external(file):
        create = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        create.set_external(b"/etc/passwd", 0, 8)
        space = h5py.h5s.create_simple((1,))
        h5py.h5d.create(file.id, b"x", h5py.h5t.IEEE_F64LE, space, create)

    def virtual(file):
        layout = h5py.VirtualLayout(shape=(4,), dtype="f4")
        layout[:] = h5py.VirtualSource("/tmp/other.h5", "x", shape=(4,))
        file.create_virtual_dataset("x", layout)

    sample("external-link.h5", write(outside), "note", "-", "heft opens no second file")
    sample("external-storage.h5", write(external), "note", "-", "lies in other files")
    sample("virtual.h5", write(virtual, libver=("v110", "v110")), "note", "-", "a virtual dataset")
    # HDF5 1.14 writes a form that 1.10 does not support
    sample("virtual-newer.h5", write(virtual, libver="latest"), "unsupported", "-", "x: libhdf5")


def bombs():
    def chunk(file):
        file.create_dataset("x", shape=(1 << 16, 1 << 10), chunks=(1 << 16, 1 << 10), dtype="f4")

    def zeros(file):
        file.create_dataset("x", shape=(1 << 40,), chunks=(1 << 16,), dtype="f4", compression="gzip")

    # Deflated twice, so that samples are small; each dataset is within the limit of expansion.
    def packed(file, name, shape, chunk):
        create = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        create.set_chunk(chunk)
        create.set_deflate(9)
        create.set_deflate(9)
        data = zlib.compress(zlib.compress(bytes(math.prod(chunk)), 9), 9)
        made = h5py.h5d.create(file.id, name, h5py.h5t.STD_U8LE, h5py.h5s.create_simple(shape), create)
        for at in np.ndindex(*(n // m for n, m in zip(shape, chunk))):
            made.write_direct_chunk(tuple(i * m for i, m in zip(at, chunk)), data)

    def together(file):
        for i in range(5):
            packed(file, b"x%d" % i, (8 << 25,), (1 << 25,))

    # The cache cannot hold a row of chunks, and each chunk contains a part of every band.
    def met_again(file):
        packed(file, b"x", (1 << 20, 248), (1 << 20, 8))

    def rank(file):
        file.create_dataset("x", shape=(1,) * 32, dtype="f4", data=np.zeros((1,) * 32, "f4"))

    sample("chunk-of-256-mib.h5", write(chunk), "note", "-", "its chunks have more than")
    sample("nothing-stored.h5", write(zeros), "note", "-", "are said to unpack to")
    sample("unpacked-together.h5", write(together), "limit", "-", "dataset x4: with it more than")
    sample("chunks-met-again.h5", write(met_again), "limit", "-", "dataset x: with it more than")
    sample("rank-32.h5", write(rank), "ok")


def archives():
    def archive(name, method, config="config.json"):
        bytes_ = io.BytesIO()
        with zipfile.ZipFile(bytes_, "w", method) as file:
            file.writestr(zipfile.ZipInfo(config), "{}")
            info = zipfile.ZipInfo(name)
            info.compress_type = method
            file.writestr(info, write(two))
        return bytes_.getvalue()

    stored = archive("model.weights.h5", zipfile.ZIP_STORED)
    at = stored.index(b"\x89HDF")
    sample("deflated.keras", archive("model.weights.h5", zipfile.ZIP_DEFLATED), "unsupported", 43,
           "is deflated")
    sample("elsewhere.keras", archive("sub/model.weights.h5", zipfile.ZIP_STORED), "malformed", "*",
           "no record model.weights.h5")
    sample("no-config.keras", archive("model.weights.h5", zipfile.ZIP_STORED, "metadata.json"), "finding", "*",
           "record config.json is missing")
    sample("version-4.keras", put(stored, at + 8, 4, 1), "unsupported", at + 8, "superblock version 4")
    # the last byte of the second array; all others are unchanged
    last = at + offsets(stored[at:])[1] + 7
    sample("flipped.keras", stored[:last] + b"\x99" + stored[last + 1:], "finding", at,
           "CRC-32 of model.weights.h5")


def main():
    for make in (superblocks, groups, loops, links, bombs, archives):
        make()
    lines = ["# made by make.py: file, code, offset, part of the message"]
    lines += ["\t".join(row) for row in ROWS]
    (HERE / "expect.tsv").write_text("\n".join(lines) + "\n")


main()
