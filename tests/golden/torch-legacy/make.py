#!/usr/bin/env python3
"""Writes the small legacy torch streams of this directory with the reference framework.

    make.py [FOLDER]        version.txt contains the releases that wrote the present files

Keys of storages are addresses in the writing process: they are replaced by numbers of the same length, in the
order of first use, so that equal runs give equal files. Streams that torch no longer writes (views, strings of
Python 2) are built here. At the end torch loads each file, which must give the intended tensors.
"""
import collections
import io
import linecache
import pathlib
import pickle
import pickletools
import re
import struct
import sys
import types
import warnings

import numpy as np
import torch

warnings.simplefilter("ignore")
HERE = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else __file__)
HERE = HERE if HERE.is_dir() else HERE.parent
MAGIC = 0x1950A86A20F9469CFC6C
SYSTEM = {"protocol_version": 1001, "little_endian": True, "type_sizes": {"short": 2, "int": 4, "long": 4}}


# ---- streams -------------------------------------------------------------------------------------

def pickle_ends(data, count):
    """End of each of the first pickles."""
    stream, ends = io.BytesIO(data), []
    for _ in range(count):
        for _ in pickletools.genops(stream):
            pass
        ends.append(stream.tell())
    return ends


def rename(text, keys):
    for i, key in enumerate(keys):
        new = str(i + 1).rjust(2, "0").rjust(len(key), "9")
        text = text.replace(key.encode(), new.encode())
        yield key, new
    yield None, text


def stable(data, protocol):
    """The same stream with keys that do not depend on addresses of the process."""
    ends = pickle_ends(data, 5)
    keys = pickle.loads(data[ends[3]:ends[4]])
    obj = data[ends[2]:ends[3]]
    keys.sort(key=lambda key: re.search(key.encode(), obj).start())
    *renamed, (_, obj) = rename(obj, keys)
    at, storages = ends[4], {}
    sizes = dict(sizes_of(data[ends[2]:ends[3]]))
    for key in pickle.loads(data[ends[3]:ends[4]]):
        size = 8 + sizes[key]
        storages[key] = data[at:at + size]
        at += size
    assert at == len(data)
    renamed.sort(key=lambda pair: pair[1])
    keys = pickle.dumps([new for _, new in renamed], protocol=protocol)
    return data[:ends[2]] + obj + keys + b"".join(storages[old] for old, _ in renamed)


class Sizes(pickle.Unpickler):
    """Collects only the persistent ids of a pickle."""

    def __init__(self, data):
        super().__init__(io.BytesIO(data))
        self.found = []

    def persistent_load(self, pid):
        if pid[0] == "module":
            return pid[1]
        width = 1 if pid[1] is torch.UntypedStorage else torch._utils._element_size(pid[1].dtype)
        if not any(key == pid[2] for key, _ in self.found):
            self.found.append((pid[2], pid[4] * width))
        return pid[1](0) if pid[1] is not torch.UntypedStorage else torch.UntypedStorage(0)

    def find_class(self, module, name):
        if name.startswith("_rebuild") or name == "_load_from_bytes":
            return lambda *arguments: None
        return super().find_class(module, name)


def sizes_of(pickled):
    reader = Sizes(pickled)
    reader.load()
    return reader.found


def saved(value, protocol=2):
    out = io.BytesIO()
    torch.save(value, out, _use_new_zipfile_serialization=False, pickle_protocol=protocol)
    return stable(out.getvalue(), protocol)


def stream(obj, keys, storages, protocol=2, system=SYSTEM):
    """Built by hand: obj and keys are pickles, storages (count, bytes)."""
    front = b"".join(pickle.dumps(value, protocol=protocol) for value in (MAGIC, 1001, system))
    return front + obj + keys + b"".join(struct.pack("<q", n) + raw for n, raw in storages)


# ---- what is saved -------------------------------------------------------------------------------

def count(*shape, dtype=torch.float32):
    n = int(np.prod(shape, dtype=np.int64))
    return torch.arange(n).reshape(shape).to(dtype)


TYPED = "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 complex128".split()
UNTYPED = "uint16 uint32 uint64 complex32 float8_e4m3fn float8_e5m2 float8_e4m3fnuz float8_e5m2fnuz".split()


def of_dtypes(names):
    return {name: torch.tensor([0.5, 2.0, 3.0]).to(getattr(torch, name)) for name in names}


def untyped():
    """On storages of bytes, which torch writes into these streams and then cannot read."""
    out = of_dtypes(UNTYPED)
    out["storage"] = count(2).untyped_storage()
    out["float8_e8m0fnu"] = torch.tensor([126, 127, 128], dtype=torch.uint8).view(torch.float8_e8m0fnu)
    return out


def ties():
    base, empty = count(4, 6), torch.empty(0)
    return collections.OrderedDict(
        whole=base, tied=base, rows=base[1:3], column=base[:, 2], transposed=base.t(), scalar=torch.tensor(2.5),
        expanded=torch.tensor([[1.0], [2.0]]).expand(2, 5), ones=count(3).as_strided((1, 3, 1), (77, 1, 99)),
        channels_last=count(2, 3, 2, 2).to(memory_format=torch.channels_last), empty=empty,
        same_empty=empty.view(torch.int64), empty_inside=torch.empty(2, 0, 3), wide=count(1, 64, 1, 1),
        state={"step": 7, "averages": [base[0], None]})


NET = '''class Part(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.arange(3.0))


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = Part()
        self.second = Part()
        self.bias = torch.nn.Parameter(torch.ones(2))
        self.register_buffer("mean", torch.zeros(2))
'''


def network():
    """A model of classes whose source the stream contains, once for each class."""
    module = types.ModuleType("net")
    module.__file__ = "net.py"
    sys.modules["net"] = module
    linecache.cache["net.py"] = (len(NET), None, NET.splitlines(True), "net.py")
    module.torch = torch
    exec(compile(NET, "net.py", "exec"), module.__dict__)
    return module.Net()


def arrays():
    return {"f32": np.arange(6, dtype=np.float32).reshape(2, 3), "big": np.arange(3, dtype=">i4"),
            "fortran": np.asfortranarray(np.arange(6).reshape(2, 3)), "scalar": np.float64(0.75),
            "bytes": b"\x00\xff", "tensor": count(2)}


class Nested:
    """Pickles as the call that loads a stream from bytes."""

    def __init__(self, data):
        self.data = data

    def __reduce__(self):
        return torch.storage._load_from_bytes, (self.data,)


def nested():
    storage = saved(count(3).storage())
    twice = saved({"inner": Nested(saved(count(2)))}["inner"])
    return {"storage": Nested(storage), "tensor": Nested(saved(count(2, 2).t())), "twice": Nested(twice),
            "plain": count(1)}


# ---- by hand -------------------------------------------------------------------------------------

def binunicode(text):
    return b"X" + struct.pack("<I", len(text)) + text.encode()


def string(text):
    raw = text.encode("latin-1") if isinstance(text, str) else text
    return b"U" + bytes([len(raw)]) + raw


def long(number):
    raw = number.to_bytes(number.bit_length() // 8 + 1, "little") if number else b""
    return b"\x8a" + bytes([len(raw)]) + raw


def tensor(text, storage, offset, size, stride):
    dims = [b"(" + b"".join(long(n) for n in numbers) + b"t" for numbers in (size, stride)]
    return (b"ctorch._utils\n_rebuild_tensor\n(" + storage + long(offset) + dims[0] + dims[1] + b"tR")


def storage_id(text, cls, key, location, elements, view=b"N"):
    return (b"(" + text("storage") + b"c" + cls.encode() + b"\n" + text(key) + text(location)
            + b"K" + bytes([elements]) + view + b"tQ")


def view_of(text, key, first, elements):
    return b"(" + text(key) + b"K" + bytes([first]) + b"K" + bytes([elements]) + b"t"


def views():
    """Three views on a storage of eight floats, the storage itself, and tensors within views."""
    u = binunicode
    whole = storage_id(u, "torch\nFloatStorage", "900", "cpu", 8)
    parts = {name: storage_id(u, "torch\nFloatStorage", "900", "cpu", 8, view_of(u, key, first, n))
             for name, key, first, n in (("a", "901", 0, 3), ("b", "902", 2, 6), ("none", "903", 8, 0))}
    items = {"bare": parts["a"], "whole": tensor(u, whole, 0, (2, 4), (4, 1)),
             "inside": tensor(u, parts["b"], 1, (2, 2), (2, 1)), "again": tensor(u, parts["b"], 0, (2, 3), (1, 2)),
             "same": tensor(u, storage_id(u, "torch\nFloatStorage", "900", "cpu", 8, view_of(u, "900", 0, 8)), 7, (1,), (1,)),
             "none": tensor(u, parts["none"], 0, (0,), (1,))}
    obj = b"\x80\2}(" + b"".join(u(key) + value for key, value in items.items()) + b"u."
    keys = b"\x80\2](" + u("900") + b"e."
    return stream(obj, keys, [(8, struct.pack("<8f", *range(8)))])


def python2():
    """As written by cPickle of Python 2: strings are bytes, shapes long, OrderedDict a list of lists."""
    gpu = storage_id(string, "torch.cuda\nFloatStorage", "31", "cuda:0", 6)
    cpu = storage_id(string, "torch\nLongStorage", "4", "cpu", 2)
    rows = [("conv.weight", tensor(string, gpu, 0, (3, 2), (2, 1))), ("conv.bias", tensor(string, gpu, 4, (2,), (1,))),
            ("num_batches", tensor(string, cpu, 1, (1,), (1,)))]
    pairs = b"".join(b"](" + string(name) + value + b"e" for name, value in rows)
    weights = b"ccollections\nOrderedDict\n(](" + pairs + b"etR"
    parameter = (b"ctorch.nn.parameter\nParameter\n(" + tensor(string, gpu, 0, (2,), (3,)) + b"tR(\x89\x89"
                 b"ccollections\nOrderedDict\n(]tRtb")
    variable = (b"ctorch.autograd.variable\nVariable\n(" + tensor(string, cpu, 0, (2,), (1,)) + b"tR(\x89\x89"
                b"ccollections\nOrderedDict\n(]tRtb")
    obj = (b"\x80\2}q\1(" + string("state_dict") + weights + string("epoch") + b"K\5" + string("parameter") + parameter
           + string("variable") + variable + string("name") + string("caf\u00e9") + string("big") + long(2**70) + b"u.")
    keys = b"\x80\2]q\1(" + string("31") + string("4") + b"e."
    front = (b"\x80\2\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19." b"\x80\2M\xe9\3."
             b"\x80\2}q\1(" + string("type_sizes") + b"}q\2(" + string("int") + b"K\4" + string("short") + b"K\2"
             + string("long") + b"K\4u" + string("protocol_version") + b"M\xe9\3" + string("little_endian") + b"\x88u.")
    return front + obj + keys + struct.pack("<q6f", 6, *range(6)) + struct.pack("<q2q", 2, 10, 11)


# ---- proof ---------------------------------------------------------------------------------------

def load(path, **options):
    return torch.load(path, weights_only=False, **options)


def equal(got, wanted):
    assert got.dtype == wanted.dtype and got.shape == wanted.shape, (got, wanted)
    same, other = (torch.empty(t.shape, dtype=t.dtype).copy_(t).flatten().view(torch.uint8) for t in (got, wanted))
    assert torch.equal(same, other), (got, wanted)


def prove(path, value):
    got = load(path, map_location="cpu", encoding="latin1")
    for name, wanted in value.items():
        if isinstance(wanted, torch.Tensor):
            equal(got[name], wanted)


def prove_by_hand():
    got = load(HERE / "views.pt")
    assert got["bare"].tolist() == [0, 1, 2] and got["whole"].tolist() == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert got["inside"].tolist() == [[3, 4], [5, 6]] and got["again"].tolist() == [[2, 4, 6], [3, 5, 7]]
    assert got["same"].tolist() == [7] and got["none"].tolist() == []
    got = load(HERE / "python2.pt", map_location="cpu", encoding="latin1")
    weights = got["state_dict"]
    assert weights["conv.weight"].tolist() == [[0, 1], [2, 3], [4, 5]] and weights["conv.bias"].tolist() == [4, 5]
    assert weights["num_batches"].tolist() == [11] and got["parameter"].tolist() == [0, 3]
    assert got["variable"].tolist() == [10, 11] and got["big"] == 2**70
    got = load(HERE / "nested.pt")
    assert got["tensor"].tolist() == [[0, 2], [1, 3]] and got["twice"].tolist() == [0, 1]
    assert list(got["storage"]) == [0, 1, 2] and got["plain"].tolist() == [0]
    got = load(HERE / "module.pt").state_dict()
    assert got["second.weight"].tolist() == [0, 1, 2] and got["bias"].tolist() == [1, 1]


def main():
    made = {"dtypes.pt": (of_dtypes(TYPED), 2), "ties.pt": (ties(), 2), "numpy.pt": (arrays(), 2),
            "numpy_protocol4.pt": (arrays(), 4), "protocol0.pt": ({"step": 3, "lr": 0.5, "bytes": b"\xfe"}, 0)}
    for protocol in range(1, 6):
        value = {"weight": count(2, 2), "bias": count(3, dtype=torch.float64), "bytes": b"\xfe", "set": {2}, "long": "x" * 300}
        made[f"protocol{protocol}.pt"] = value, protocol
    for name, (value, protocol) in made.items():
        (HERE / name).write_bytes(saved(value, protocol))
        prove(HERE / name, value)
    for name, value in (("module.pt", network()), ("nested.pt", nested()), ("storage.pt", count(3).storage()),
                        ("untyped.pt", untyped()), ("tensor.pt", count(2, 2).t())):
        (HERE / name).write_bytes(saved(value))
    big = saved({"weight": count(2, 2)}).replace(b"little_endianq\2\x88", b"little_endianq\2\x89")
    (HERE / "big_endian.pt").write_bytes(big)
    prove(HERE / "big_endian.pt", {"weight": count(2, 2)})
    (HERE / "views.pt").write_bytes(views())
    (HERE / "python2.pt").write_bytes(python2())
    prove_by_hand()
    (HERE / "version.txt").write_text(f"torch {torch.__version__.split('+')[0]}, numpy {np.__version__}, "
                                      f"Python {sys.version_info[0]}.{sys.version_info[1]}\n")


if __name__ == "__main__":
    main()
