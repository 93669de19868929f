#!/usr/bin/env python3
"""Writes wire_samples.h: pickles of every protocol, and zip archives, made by Python's own writers.

Run it by hand to add a sample: python3 make_wire_samples.py > wire_samples.h
The torch archive is written here in the layout of torch.save 2.8 and later."""

import collections
import io
import pickle
import struct
import zipfile
import zlib


class Point:
    def __init__(self):
        self.x, self.y = 1, -2


Point.__module__ = "shapes"
Point.__qualname__ = "Point"


class Pickler(pickle._Pickler):
    """Does not check that a class can be imported."""

    def save_global(self, obj, name=None):
        module, name = obj.__module__, obj.__qualname__
        if self.proto >= 4:
            self.save(module)
            self.save(name)
            self.write(pickle.STACK_GLOBAL)
        else:
            self.write(pickle.GLOBAL + f"{module}\n{name}\n".encode())
        self.memoize(obj)

    dispatch = dict(pickle._Pickler.dispatch)
    dispatch[type] = save_global


def sample():
    shared = ["a", "b"]
    return {
        "none": None,
        "bools": (True, False),
        "ints": [0, 255, 256, 65535, 65536, -1, -(2**31), 2**31, -(2**63), 2**63, 2**70, -(2**70)],
        "floats": [0.5, -1e300, float("inf")],
        "text": "gr\u00fc\u00df \U0001f600 \\ \n",
        "bytes": b"\x01\xff",
        "tuples": ((), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4)),
        "shared": [shared, shared],
        "sets": [{1}, frozenset({2})],
        "ordered": collections.OrderedDict(k=1),
        "object": Point(),
    }


def dump(obj, protocol):
    out = io.BytesIO()
    Pickler(out, protocol).dump(obj)
    return out.getvalue()


def linear():
    """data.pkl of the state_dict of Linear(2, 3), as torch.save writes it (290 bytes)."""
    out, memo = bytearray(b"\x80\x02"), {}

    def put(key=None):
        memo[key if key is not None else object()] = len(memo)
        out.extend(b"q" + bytes([len(memo) - 1]))

    def text(s, key=None):
        if s in memo:
            out.extend(b"h" + bytes([memo[s]]))
            return
        out.extend(b"X" + struct.pack("<I", len(s)) + s.encode())
        put(key if key is not None else s)

    def name(module, cls):
        if (module, cls) in memo:
            out.extend(b"h" + bytes([memo[module, cls]]))
            return
        out.extend(f"c{module}\n{cls}\n".encode())
        put((module, cls))

    def ordered():
        name("collections", "OrderedDict")
        out.extend(b")R")
        put()

    def ints(*v):
        for i in v:
            out.extend(b"K" + bytes([i]))
        out.append(0x84 + len(v))
        put()

    def tensor(key, numel, size, stride):
        name("torch._utils", "_rebuild_tensor_v2")
        out.extend(b"((")
        text("storage")
        name("torch", "FloatStorage")
        text(key, ("key", key))
        text("cpu")
        out.extend(b"K" + bytes([numel]) + b"t")
        put()
        out.extend(b"QK\x00")
        ints(*size)
        ints(*stride)
        out.extend(b"\x89")
        ordered()
        out.extend(b"t")
        put()
        out.extend(b"R")
        put()

    ordered()
    out.extend(b"(")
    text("weight", "w")
    tensor("0", 6, (3, 2), (2, 1))
    text("bias", "b")
    tensor("1", 3, (3,), (1,))
    out.extend(b"u}")
    put()
    text("_metadata")
    ordered()
    text("", "empty")
    out.extend(b"}")
    put()
    text("version")
    out.extend(b"K\x01sssb.")
    return bytes(out)


def torch_zip(records):
    """Layout of torch: payloads aligned to 64 bytes, sizes in descriptors."""
    out, central = bytearray(), bytearray()
    for name, data in records:
        at, crc, flags = len(out), zlib.crc32(data), 0x0808 if data else 0x0800
        pad = -(at + 30 + len(name) + 4) % 64
        out += struct.pack("<IHHHHHIIIHH", 0x04034B50, 0, flags, 0, 0, 0, 0, 0, 0, len(name), 4 + pad)
        out += name.encode() + b"FB" + struct.pack("<H", pad) + b"Z" * pad + data
        if data:
            out += struct.pack("<IIII", 0x08074B50, crc, len(data), len(data))
        central += struct.pack(
            "<IHHHHHHIIIHHHHHII",
            0x02014B50, 0, 0, flags, 0, 0, 0, crc, len(data), len(data), len(name), 0, 0, 0, 0, 0, at,
        ) + name.encode()
    n, start = len(records), len(out)
    tail = start + len(central)
    out += central
    out += struct.pack("<IQHHIIQQQQ", 0x06064B50, 44, 0x031E, 45, 0, 0, n, n, len(central), start)
    out += struct.pack("<IIQI", 0x07064B50, 0, tail, 1)
    out += struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, n, n, len(central), start, 0)
    return bytes(out)


class Stream(io.RawIOBase):
    """Not seekable, so that zipfile writes data descriptors."""

    def __init__(self):
        self.data = bytearray()

    def writable(self):
        return True

    def write(self, b):
        self.data += b
        return len(b)


def python_zip(method, stream=False, zip64=False):
    out = Stream() if stream else io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as z:
        for name, data in (("root/a", b"hello"), ("root/B", b"x" * 300), ("root/empty", b"")):
            info = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))
            info.compress_type = method
            with z.open(info, "w", force_zip64=zip64) as f:
                f.write(data)
    return bytes(out.data) if stream else out.getvalue()


def show(name, data):
    print(f"static const uint8_t {name}[{len(data)}] = {{")
    for i in range(0, len(data), 16):
        print("    " + " ".join(f"0x{b:02x}," for b in data[i : i + 16]))
    print("};\n")


print("/* wire_samples.h: written by make_wire_samples.py; not to be edited. */")
print("#ifndef HEFT_WIRE_SAMPLES_H\n#define HEFT_WIRE_SAMPLES_H\n\n#include <stdint.h>\n")
print("/* clang-format off */\n")
for p in range(6):
    show(f"sample_pickle_{p}", dump(sample(), p))
show("sample_pickle_linear", linear())
show("sample_zip_torch", torch_zip([
    ("root/data.pkl", linear()), ("root/byteorder", b"little"), ("root/data/0", bytes(24)),
    ("root/data/1", bytes(range(12))), ("root/none", b""), ("root/version", b"3\n")]))
show("sample_zip_stored", python_zip(zipfile.ZIP_STORED))
show("sample_zip_deflated", python_zip(zipfile.ZIP_DEFLATED))
show("sample_zip_stored_64", python_zip(zipfile.ZIP_STORED, zip64=True))
show("sample_zip_stream", python_zip(zipfile.ZIP_STORED, stream=True))
show("sample_zip_stream_64", python_zip(zipfile.ZIP_DEFLATED, stream=True, zip64=True))
print("#endif")
