"""The checkpoint of a Llama-2-7B in the form of Meta's consolidated.00.pth, with holes for its weights.

    python3 tests/tools/llama.py consolidated.00.pth

A plain dict of 292 BF16 tensors as torch up to 1.13 saves it: archive root `consolidated`, records
data.pkl, data/0 to data/291 and version, every payload aligned to 64 bytes, zip64 fields for offsets
beyond 4 GiB. It is 13.5 GB long and takes some hundred KB on a file system with sparse files. The
pickle is written by Python, from objects that replace torch's; torch itself is not needed.
"""
import collections
import io
import os
import pickle
import struct
import sys
import types
import zlib
from pathlib import Path
from unittest import mock

# 7B parameters in 16 bits: 32 layers of 9 tensors, the embedding, the norm, the output, rope.freqs
LLAMA = {"dim": 4096, "hidden": 11008, "layers": 32, "vocabulary": 32000}
ROOT = "consolidated"
ALIGNMENT = 64
LIMIT = 0xFFFFFFFF
HOLE = 4096  # bytes: smallest hole that every file system leaves out


def llama_shapes(dim, hidden, layers, vocabulary):
    yield "tok_embeddings.weight", (vocabulary, dim)
    yield "norm.weight", (dim,)
    yield "output.weight", (vocabulary, dim)
    for layer in range(layers):
        at = f"layers.{layer}."
        for name in ("wq", "wk", "wv", "wo"):
            yield f"{at}attention.{name}.weight", (dim, dim)
        yield f"{at}feed_forward.w1.weight", (hidden, dim)
        yield f"{at}feed_forward.w2.weight", (dim, hidden)
        yield f"{at}feed_forward.w3.weight", (hidden, dim)
        yield f"{at}attention_norm.weight", (dim,)
        yield f"{at}ffn_norm.weight", (dim,)
    yield "rope.freqs", (dim // 64,)


# ---- the pickle -----------------------------------------------------------------------------------

def stand_in(name, module):
    return type(name, (), {"__module__": module, "__qualname__": name})


def rebuild(*_):
    """Replaces torch._utils._rebuild_tensor_v2."""


class Storage:
    def __init__(self, key, elements):
        self.id = ("storage", BFLOAT16, str(key), "cpu", elements)


class Tensor:
    def __init__(self, key, shape):
        self.shape = shape
        self.storage = Storage(key, elements_of(shape))

    def __reduce_ex__(self, protocol):
        strides, step = [], 1
        for size in reversed(self.shape):
            strides.insert(0, step)
            step *= size
        return rebuild, (self.storage, 0, tuple(self.shape), tuple(strides), False,
                         collections.OrderedDict())


class Pickler(pickle.Pickler):
    def persistent_id(self, obj):
        return obj.id if isinstance(obj, Storage) else None


BFLOAT16 = stand_in("BFloat16Storage", "torch")
rebuild.__module__, rebuild.__name__, rebuild.__qualname__ = (
    "torch._utils", "_rebuild_tensor_v2", "_rebuild_tensor_v2")


def elements_of(shape):
    count = 1
    for size in shape:
        count *= size
    return count


def pickle_of(shapes):
    """data.pkl of {name: BF16 tensor}, with the n-th tensor on storage n."""
    torch, utils = types.ModuleType("torch"), types.ModuleType("torch._utils")
    torch.BFloat16Storage, torch._utils, utils._rebuild_tensor_v2 = BFLOAT16, utils, rebuild
    state = {name: Tensor(key, shape) for key, (name, shape) in enumerate(shapes)}
    out = io.BytesIO()
    with mock.patch.dict(sys.modules, {"torch": torch, "torch._utils": utils}):
        Pickler(out, protocol=2).dump(state)
    return out.getvalue()


# ---- the zip --------------------------------------------------------------------------------------

class Zip:
    """Zip in the layout of PyTorchStreamWriter."""

    def __init__(self, file, root):
        self.file, self.root = file, root
        self.directory = []

    def add(self, name, size, crc, data=None):
        """A record; without data it is a hole."""
        name = f"{self.root}/{name}".encode()
        header = self.file.tell()
        large, far = size >= LIMIT, header >= LIMIT
        zip64 = 4 + 16 * large + 8 * far if large or far else 0
        pad = -(header + 30 + len(name) + zip64 + 4) % ALIGNMENT
        flags = 0x0808 if size else 0x0800
        self.file.write(struct.pack("<4s5H3I2H", b"PK\3\4", 0, flags, 0, 0, 0, 0, 0, 0, len(name),
                                    zip64 + 4 + pad) + name)
        if zip64:
            self.file.write(struct.pack("<2H", 1, zip64 - 4) + struct.pack("<2Q", size, 0) * large
                            + struct.pack("<Q", header) * far)
        self.file.write(struct.pack("<2sH", b"FB", pad) + b"Z" * pad)
        if data is None:
            self.file.seek(size, os.SEEK_CUR)
        else:
            self.file.write(data)
        if size:
            self.file.write(struct.pack("<4sI2Q" if zip64 else "<4s3I", b"PK\7\10", crc, size, size))
        self.directory.append((name, flags, crc, size, header))

    def close(self):
        start = self.file.tell()
        for name, flags, crc, size, header in self.directory:
            fields = b"".join(struct.pack("<Q", n) for n in (size, size, header) if n >= LIMIT)
            extra = struct.pack("<2H", 1, len(fields)) + fields if fields else b""
            self.file.write(struct.pack("<4s6H3I5H2I", b"PK\1\2", 0, 0, flags, 0, 0, 0, crc,
                                        min(size, LIMIT), min(size, LIMIT), len(name), len(extra),
                                        0, 0, 0, 0, min(header, LIMIT)) + name + extra)
        end, count = self.file.tell(), len(self.directory)
        self.file.write(struct.pack("<4sQ2H2I4Q", b"PK\6\6", 44, 0x031E, 45, 0, 0, count, count,
                                    end - start, start))
        self.file.write(struct.pack("<4sIQI", b"PK\6\7", 0, end, 1))
        self.file.write(struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, min(count, 0xFFFF),
                                    min(count, 0xFFFF), min(end - start, LIMIT), min(start, LIMIT),
                                    0))


def zeros_crc(size, known={}):
    """CRC-32 of that many zeros; cached, as there are few sizes."""
    if size not in known:
        block, crc = bytes(1 << 20), 0
        for _ in range(size >> 20):
            crc = zlib.crc32(block, crc)
        known[size] = zlib.crc32(bytes(size & (1 << 20) - 1), crc)
    return known[size]


def write_sparse(path, shapes=None):
    """Writes the checkpoint to `path`. Returns the number of bytes allocated."""
    shapes = list(shapes or llama_shapes(**LLAMA))
    data = pickle_of(shapes)
    with open(path, "wb") as file:
        archive = Zip(file, ROOT)
        archive.add("data.pkl", len(data), zlib.crc32(data), data)
        for key in sorted(range(len(shapes)), key=str):  # as in torch up to 1.13: 0, 1, 10, 100 …
            size = 2 * elements_of(shapes[key][1])
            archive.add(f"data/{key}", size, zeros_crc(size))
        archive.add("version", 2, zlib.crc32(b"3\n"), b"3\n")
        archive.close()
    return Path(path).stat().st_blocks * 512


def can_be_sparse(folder):
    """Returns true if the file system of that directory supports sparse files of that size."""
    path = Path(folder) / "hole-probe"
    try:
        with open(path, "wb") as file:
            file.truncate(14 << 30)
        return path.stat().st_blocks * 512 < 64 * HOLE
    except OSError:
        return False
    finally:
        path.unlink(missing_ok=True)


if __name__ == "__main__":
    print(f"{sys.argv[1]}: {write_sparse(sys.argv[1])} bytes of room")
