#!/usr/bin/env python3
"""Writes the small torch files of this directory with the reference framework.

    make.py [FOLDER]        version.txt contains the releases that wrote the present files

torch.save is deterministic except for the file's base name, which becomes the archive's root.
"""
import argparse
import collections
import hashlib
import pathlib
import struct
import sys
import types
import warnings
import zipfile
import zlib

import numpy as np
import torch

warnings.simplefilter("ignore")
HERE = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else __file__)
HERE = HERE if HERE.is_dir() else HERE.parent

# ---- zips by hand, as the writer of torch lays them out ------------------------------------------

PAD_TO = 64


def torch_zip(root, records):
    """Records aligned to 64 bytes, sizes in data descriptors, always zip64 end records."""
    out, central = bytearray(), bytearray()
    for name, data in records:
        full = f"{root}/{name}".encode()
        crc, size = zlib.crc32(data), len(data)
        flags = 0x0808 if size else 0x0800
        start = len(out)
        pad = -(start + 30 + len(full) + 4) % PAD_TO
        extra = b"FB" + struct.pack("<H", pad) + b"Z" * pad
        out += struct.pack("<4sHHHHHIIIHH", b"PK\3\4", 0, flags, 0, 0, 0, 0, 0, 0, len(full), len(extra))
        out += full + extra + data
        if size:
            out += struct.pack("<4sIII", b"PK\7\x08", crc, size, size)
        central += struct.pack("<4sHHHHHHIIIHHHHHII", b"PK\1\2", 0, 0, flags, 0, 0, 0, crc, size, size,
                               len(full), 0, 0, 0, 0, 0, start) + full
    at, n = len(out), len(records)
    end64 = at + len(central)
    return bytes(out + central + struct.pack("<4sQHHIIQQQQ", b"PK\6\6", 44, 0x031E, 45, 0, 0, n, n,
                                             len(central), at)
                 + struct.pack("<4sIQI", b"PK\6\7", 0, end64, 1)
                 + struct.pack("<4sHHHHIIH", b"PK\5\6", 0, 0, n, n, len(central), at, 0))


def records_of(path):
    with zipfile.ZipFile(path) as source:
        return [(name.split("/", 1)[1], source.read(name)) for name in source.namelist()]


def serialization_id(records):
    h = 0
    for _, data in records:
        if data:
            h = (h ^ (zlib.crc32(data) + 0x9E3779B9 + (h << 6) + (h >> 2))) % 2**64
    return b"0" * 20 + b"%020d" % h


def rezip(source, target, method=zipfile.ZIP_STORED, zip64=False, folder=False):
    """Repacks the records of a file as an ordinary zip tool: sizes in local headers, real dates."""
    with zipfile.ZipFile(target, "w", method) as out:
        if folder:
            out.writestr(zipfile.ZipInfo("again/", (2020, 1, 2, 3, 4, 6)), b"")
        for name, data in records_of(source):
            info = zipfile.ZipInfo(f"again/{name}", (2020, 1, 2, 3, 4, 6))
            info.compress_type = method
            with out.open(info, "w", force_zip64=zip64) as entry:
                entry.write(data)


# ---- what is saved -------------------------------------------------------------------------------

def save(name, value, **options):
    torch.save(value, HERE / name, **options)


def count(*shape, dtype=torch.float32):
    n = int(np.prod(shape, dtype=np.int64))
    return torch.arange(n).reshape(shape).to(dtype)


def golden_linear():
    layer = torch.nn.Linear(2, 3)
    layer.weight.data = torch.arange(6.0).reshape(3, 2)
    layer.bias.data = torch.tensor([6.0, 7.0, 8.0])
    return layer


def all_dtypes():
    plain = "float64 float32 float16 bfloat16 int64 int32 int16 int8 uint8 complex64 complex128".split()
    third = "complex32 uint16 uint32 uint64 float8_e4m3fn float8_e5m2 float8_e4m3fnuz float8_e5m2fnuz".split()
    out = {"bool": torch.tensor([True, False, True])}
    for name in plain + third:
        out[name] = torch.tensor([0.5, 2.0, 3.0, 8.0]).to(getattr(torch, name))
    out["float8_e8m0fnu"] = torch.tensor([126, 127, 128], dtype=torch.uint8).view(torch.float8_e8m0fnu)
    return out


def views():
    base = count(4, 6)
    return {
        "whole": base, "offset": base[1:3], "column": base[:, 2], "transposed": base.t(),
        "step": base[::2, 1::2], "expanded": torch.tensor([[1.0], [2.0]]).expand(2, 5),
        "zero_stride": torch.tensor(7.0).expand(3, 4),
        "channels_last": count(2, 3, 2, 2).to(memory_format=torch.channels_last),
        "ones": count(3).as_strided((1, 3, 1), (77, 1, 99)), "scalar": torch.tensor(2.5),
        "empty": torch.empty(0), "empty_inside": torch.empty(2, 0, 3), "overlap": count(6).unfold(0, 3, 1),
    }


def tied():
    weight = count(3, 2)
    return collections.OrderedDict(embed=weight, head=weight, half=weight[1:], other=weight.clone())


def training():
    model = golden_linear()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    model(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    model.weight.data = torch.arange(6.0).reshape(3, 2)  # platforms may differ in the last bit
    model.bias.data = torch.tensor([6.0, 7.0, 8.0])
    state = optimizer.state_dict()
    for entry in state["state"].values():
        for name in ("exp_avg", "exp_avg_sq"):
            entry[name] = torch.full_like(entry[name], 0.25)
    return {
        "model": model.state_dict(), "optimizer": state, "epoch": 3, "best": np.float64(0.75),
        "args": argparse.Namespace(lr=1e-3, data=pathlib.PurePosixPath("/data/set"), layers=[2, 3],
                                   resume=None, amp=True),
        "rng": {"torch": torch.arange(16, dtype=torch.uint8), "numpy": np.arange(4, dtype=np.uint32)},
        "scheduler": collections.defaultdict(int, {"last_epoch": 3}),
    }


def arrays():
    big = np.arange(3, dtype=">i4")
    return {
        "f32": np.arange(6, dtype=np.float32).reshape(2, 3), "fortran": np.asfortranarray(np.arange(6).reshape(2, 3)),
        "big": big, "bool": np.array([True, False]), "scalar_array": np.array(2.5), "empty": np.empty((0, 2)),
        "c64": np.array([1 + 2j], dtype=np.complex64), "half": np.arange(3, dtype=np.float16),
        "text": np.array(["ab", "c"]), "object": np.array([1, "two", None], dtype=object),
        "record": np.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f8")]),
        "i": np.int32(-5), "u": np.uint64(2**64 - 1), "f": np.float16(0.5), "b": np.bool_(True),
        "z": np.complex64(1j), "dtype": np.dtype("float32"),
    }


def nested():
    return {
        "list": [count(2), 1, [count(1), count(1)], {"inside": count(2)}], "tuple": (1.5, None, "text"),
        "only": [count(1), count(2)], "set": {1}, "frozen": frozenset(["x"]), "bytes": b"\x00\xff", "array": bytearray(b"ab\xe9"),
        "size": torch.Size([2, 3]), "device": torch.device("cuda", 1), "dtype": torch.bfloat16,
        "layout": torch.strided, "complex": 1 + 2j, "big": 2**70, "negative": -2**70, "inf": float("inf"),
        "text": "caf\u00e9 \u2028 \U0001f600", "empty": {}, "none": None, "deque": collections.deque([1, 2]),
        "counter": collections.Counter("aab"), 7: count(1), True: "yes", None: "nothing", 2.5: "two and a half",
        ("a", 1): count(1), (): "empty key", "dotted.key": count(1), "": "no name", "path": pathlib.PurePosixPath("a/b"),
    }


class Config:
    def __init__(self, **values):
        self.__dict__.update(values)


class Items(dict):
    pass


class Pair:
    def __init__(self, left, right):
        self.both = (left, right)

    def __reduce__(self):
        return Pair, self.both


def unknown():
    package = types.ModuleType("mypackage.config")
    sys.modules["mypackage.config"] = sys.modules["mypackage"] = package
    for cls in (Config, Items, Pair):
        cls.__module__ = "mypackage.config"
        setattr(package, cls.__name__, cls)
    items = Items(lr=0.5, weight=count(2))
    return {"config": Config(hidden=4, scale=count(2), next=Config(depth=1)), "items": items,
            "pair": Pair(count(2), "right"), "class": Config, "model": {"w": count(2)}}


def unreadable():
    quantized = torch.quantize_per_tensor(count(4), 0.5, 2, torch.quint8)
    return {"quantized": quantized, "sparse": torch.eye(2).to_sparse(), "csr": torch.eye(2).to_sparse_csr(),
            "meta": torch.empty(2, 3, device="meta"), "plain": count(3),
            "nested": torch.nested.nested_tensor([count(2), count(3)])}


def swap(data, width):
    return b"".join(data[i:i + width][::-1] for i in range(0, len(data), width))


def big_endian():
    """The file of a big-endian machine: byteorder, and each storage with its elements byte-swapped."""
    value = {"f32": count(2, 3), "i64": count(3, dtype=torch.int64), "i16": count(3, dtype=torch.int16),
             "u8": count(3, dtype=torch.uint8), "c64": torch.tensor([1 + 2j, 3 + 4j]), "u16": count(3, dtype=torch.uint16)}
    save("big_endian.pt", value)
    widths = {"data/0": 4, "data/1": 8, "data/2": 2, "data/3": 1, "data/4": 4, "data/5": 2}
    records = [(name, b"big" if name == "byteorder" else swap(data, widths.get(name, 1)))
               for name, data in records_of(HERE / "big_endian.pt")]
    (HERE / "big_endian.pt").write_bytes(torch_zip("big_endian", records))


def hand_made():
    """Byte for byte the files of torch 1.13.1 and 2.8, verified by the digests of those files."""
    save("linear.pt", golden_linear().state_dict())
    by_name = dict(records_of(HERE / "linear.pt"))
    pkl, data = by_name["data.pkl"], [("data/0", by_name["data/0"]), ("data/1", by_name["data/1"])]
    assert hashlib.sha256(pkl).hexdigest().startswith("40b114698e799987"), "data.pkl"
    old = torch_zip("archive", [("data.pkl", pkl), *data, ("version", b"3\n")])
    assert hashlib.sha256(old).hexdigest().startswith("f6569cced7d7594e"), "1.13"
    (HERE / "torch_1_13.pt").write_bytes(old)
    new = [("data.pkl", pkl), (".format_version", b"1"), (".storage_alignment", b"64"), ("byteorder", b"little"),
           *data, ("version", b"3\n")]
    new = torch_zip("archive", [*new, (".data/serialization_id", serialization_id(new))])
    assert hashlib.sha256(new).hexdigest().startswith("42701ee34db2f5ee"), "2.8"
    (HERE / "torch_2_8.pt").write_bytes(new)


def main():
    hand_made()
    save("dtypes.pt", all_dtypes())
    save("views.pt", views())
    save("tied.pt", tied())
    save("training.ckpt", training())
    save("numpy.pt", arrays())
    save("numpy_protocol5.pt", arrays(), pickle_protocol=5)
    for protocol in (3, 4, 5):
        save(f"protocol{protocol}.pt", {"weight": count(2, 2), "bytes": b"\xfe", "set": {2}, "long": "x" * 300},
             pickle_protocol=protocol)
    z = torch.tensor([1 + 2j, 3 - 4j])
    save("conj_neg.pt", {"plain": z, "conj": z.conj(), "neg": torch._neg_view(count(3)), "both": torch._neg_view(z.conj())})
    save("nested.pt", nested())
    save("unknown.pt", unknown())
    save("module.pt", torch.nn.Sequential(collections.OrderedDict(fc=golden_linear(), norm=torch.nn.BatchNorm1d(3))))
    save("unreadable.pt", unreadable())
    save("tensor.pt", count(2, 2))
    save("list.pt", [count(2), count(1)])
    save("storages.pt", {"typed": count(3).storage(), "untyped": count(2).untyped_storage()})
    big_endian()
    torch.serialization.set_crc32_options(False)
    save("no_crc.pt", {"weight": count(2, 2)})
    torch.serialization.set_crc32_options(True)
    rezip(HERE / "linear.pt", HERE / "deflated.pt", zipfile.ZIP_DEFLATED, folder=True)
    rezip(HERE / "linear.pt", HERE / "zip64.pt", zip64=True)
    (HERE / "version.txt").write_text(f"torch {torch.__version__.split('+')[0]}, numpy {np.__version__}, "
                                      f"Python {sys.version_info[0]}.{sys.version_info[1]}\n")


if __name__ == "__main__":
    main()
