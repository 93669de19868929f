"""heft convert from torch to torch keeps nesting, values and sharing, as torch.load sees them."""

import argparse
import collections
import dataclasses
import datetime
import decimal
import enum
import fractions
import pathlib
import random
import struct
import uuid
import warnings

import numpy
import torch

from common import Suite, heft


class Color(enum.Enum):
    RED = 1
    BLUE = 2


@dataclasses.dataclass
class Config:
    rate: float
    shape: tuple
    scale: torch.Tensor


class Attributes(dict):
    pass


class Slots:
    __slots__ = ("a", "b")

    def __init__(self):
        self.a, self.b = 1, [2]


Point = collections.namedtuple("Point", "x y")
Point.__qualname__ = "Point"


def training():
    """A module, its optimizer and scheduler after a step."""
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.Linear(4, 2))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 10)
    model(torch.randn(5, 3)).sum().backward()
    optimizer.step()
    scheduler.step()
    return model, optimizer, scheduler


def values():
    counted = collections.defaultdict(list)
    counted["a"].append(1)
    attributes = Attributes(a=1)
    attributes.more = "x"
    return {"epoch": 3, "i32": 2**31, "below": -2**31 - 1, "i63": 2**63 - 1, "big": 2**100, "huge": -3**900,
            "float": 0.1, "nan": float("nan"), "inf": -float("inf"), "zero": -0.0, "none": None, "true": True,
            "text": "é€😀", "lone": "\ud800x", "bytes": b"\x00\xff", "no bytes": b"", "array": bytearray(b"abc"),
            "space": argparse.Namespace(lr=.1, layers=[1, (2, 3)], w=torch.ones(2)),
            "config": Config(.1, (1, 2), torch.zeros(3)), "enum": Color.BLUE,
            "date": datetime.datetime(2020, 1, 2, 3, 4, 5, 6), "span": datetime.timedelta(3),
            "decimal": decimal.Decimal("1.5"), "fraction": fractions.Fraction(1, 3),
            "path": pathlib.PurePosixPath("/a/b"), "uuid": uuid.UUID(int=5), "complex": 1 + 2j,
            "slice": slice(1, None, 2), "range": range(3), "size": torch.Size([1, 2]), "dtype": torch.float16,
            "device": torch.device("cpu"), "layout": torch.strided, "torch rng": torch.get_rng_state(),
            "python rng": random.getstate(), "numpy rng": numpy.random.get_state(),
            "numpy": numpy.arange(6.).reshape(2, 3), "scalar": numpy.float32(2.5), "int64": numpy.int64(7),
            "ordered": collections.OrderedDict(b=1, a=2), "default": counted,
            "counter": collections.Counter("aab"), "set": {1, 2, "x"}, "frozen": frozenset([1, 2]),
            "deque": collections.deque([1, 2], maxlen=5), "attributes": attributes, "slots": Slots(),
            "point": Point(1, torch.ones(1)), "function": print, "class": Config,
            "many": {i: i * 1.5 for i in range(2500)}, "list": list(range(2001)), "thousand": list(range(1000)),
            "keys": {0: torch.ones(1), (1, 2): 3, None: 4, 1.5: 5}, "nested": [[{"a": torch.ones(1)}]],
            "empty": [{}, [], ()]}


def shared():
    """Shared objects, cycles, and views of one storage."""
    base, twice = torch.arange(24.).reshape(4, 6), [1, 2]
    items, mapping = [1], {}
    items.append(items)
    mapping["me"] = mapping
    within, within4 = [], []
    pair, four = (within, 1), (1, 2, 3, within4)
    within.append(pair)
    within4.append(four)
    return {"one": twice, "two": twice, "items": items, "mapping": mapping, "pair": pair, "four": four,
            "base": base, "row": base[1], "column": base[:, 2], "turned": base.t(), "same": base}


def tensors():
    return {"parameter": torch.nn.Parameter(torch.ones(2)), "gradient": torch.ones(2, requires_grad=True),
            "conj": torch.tensor([1 + 2j]).conj(), "sparse": torch.eye(3).to_sparse(),
            "csr": torch.eye(3).to_sparse_csr(), "f8": torch.ones(4).to(torch.float8_e4m3fn),
            "u16": torch.ones(3, dtype=torch.uint16), "scalar": torch.tensor(3), "none": torch.zeros(0, 3),
            "storage": torch.ones(3).untyped_storage(), "buffer": torch.nn.Buffer(torch.ones(1))}


def checkpoint():
    model, optimizer, scheduler = training()
    return {"state_dict": model.state_dict(), "optimizer_states": [optimizer.state_dict()],
            "lr_schedulers": [scheduler.state_dict()], "epoch": 3, "pytorch-lightning_version": "2.6.6",
            "hyper_parameters": Attributes(lr=1e-3, layers=(1, 2)), "callbacks": {"best": torch.tensor(0.5)}}


# ---- comparing -------------------------------------------------------------------------------


def tensor_of(t):
    parts = t.to_dense() if t.layout != torch.strided else t
    bits = parts.detach().resolve_conj().contiguous().reshape(-1).view(torch.uint8) if parts.numel() else parts
    return (type(t), t.dtype, t.shape, t.layout, t.requires_grad, t.is_conj(),
            t.stride() if t.layout == torch.strided else None, bits.tolist())


def atom(value):
    if isinstance(value, float):
        return struct.pack("d", value)
    if isinstance(value, numpy.ndarray):
        return value.dtype, value.shape, value.tobytes()
    return bytes(value) if isinstance(value, torch.UntypedStorage) else value


def differ(a, b, path="", seen=None):
    """Path of the first difference of two trees, or None. Shared objects must be shared in both."""
    seen = {} if seen is None else seen
    if seen.setdefault(id(a), (id(b), a, b))[0] != id(b) and isinstance(a, (list, dict, torch.Tensor)):
        return f"{path}: shared otherwise"
    if type(a) is not type(b):
        return f"{path}: {type(a)} and {type(b)}"
    if seen.get(("done", id(a))):
        return None
    seen["done", id(a)] = True
    if isinstance(a, torch.Tensor):
        return None if tensor_of(a) == tensor_of(b) else path
    pairs = []
    if isinstance(a, dict):
        if len(a) != len(b):
            return f"{path}: {list(a)} and {list(b)}"
        pairs = [pair for x, y in zip(a, b) for pair in ((x, y, "key"), (a[x], b[y], x))]
    elif isinstance(a, (list, tuple, collections.deque)):
        if len(a) != len(b):
            return f"{path}: {len(a)} and {len(b)} items"
        pairs = [(x, y, i) for i, (x, y) in enumerate(zip(a, b))]
    elif not hasattr(a, "__dict__") and not isinstance(a, Slots) and atom(a) != atom(b):
        return f"{path}: {a!r} and {b!r}"
    elif isinstance(a, (enum.Enum, type)) and a is not b:
        return f"{path}: {a!r} and {b!r}"
    if isinstance(a, Slots):
        pairs = [(a.a, b.a, "a"), (a.b, b.b, "b")]
    elif hasattr(a, "__dict__") and not isinstance(a, (type, enum.Enum)) and not callable(a):
        pairs = pairs + [(dict(vars(a)), dict(vars(b)), "__dict__")]
    for x, y, key in pairs:
        found = differ(x, y, f"{path}.{key}", seen)
        if found:
            return found
    return None


# ---- the suite -------------------------------------------------------------------------------


def load(path):
    return torch.load(path, weights_only=False)


def check_whole(suite, folder, name, tree, **how):
    source, target = folder / f"{name}.pt", folder / "out" / f"{name}.pt"
    torch.save(tree, source, **how)
    for layout in ("torch", "torch-legacy"):
        if layout == "torch-legacy" and name.startswith("tensors"):
            continue  # dtypes that torch cannot read there
        ran = heft("convert", source, "-o", target, "--to", layout, "-f", "--no-sync")
        if suite.equal(ran.status, 0, f"{name} to {layout}: {ran.line}"):
            suite.equal(differ(load(source), load(target)), None, f"{name} to {layout}")
            before, after = heft("scan", source), heft("scan", target)
            suite.equal(after.status, before.status, f"{name} to {layout}: scan")
            suite.equal(heft("verify", target).status, 0, f"{name} to {layout}: verify")
    views = load(target) if name == "shared" else None
    if views:
        places = {views[key].untyped_storage().data_ptr() for key in ("base", "row", "column", "turned", "same")}
        suite.equal(len(places), 1, "views share their storage")


def check_bytes(suite, folder):
    """A training checkpoint of torch.save is written byte for byte."""
    source, target = folder / "training.ckpt", folder / "out" / "training.ckpt"
    torch.save(checkpoint(), source)
    heft("convert", source, "-o", target, "--no-sync", "-f")
    suite.check(source.read_bytes() == target.read_bytes(), "a training checkpoint is the same file")
    heft("convert", source, "-o", target, "--no-sync", "-f", "--root", "state_dict")
    torch.save(load(source)["state_dict"], folder / "root.pt")
    suite.equal(differ(load(folder / "root.pt"), load(target)), None, "--root state_dict")


def check_options(suite, folder):
    source, target = folder / "training.ckpt", folder / "out" / "options.ckpt"
    tree = load(source)

    def converted(*options):
        ran = heft("convert", source, "-o", target, "--no-sync", "-f", *options)
        suite.equal(ran.status, 0, f"{options}: {ran.line}")
        return load(target)

    expected = {key: value for key, value in tree.items() if key != "optimizer_states"}
    suite.equal(differ(expected, converted("-g", "!optimizer*")), None, "without the optimizer")
    suite.equal(differ({"state_dict": tree["state_dict"]}, converted("-g", "state_dict.*")), None, "state_dict alone")
    got = converted("--rename", "^state_dict\\.=>model.", "--cast", "state_dict.*=F64")
    suite.equal([key for key in got], ["model" if key == "state_dict" else key for key in tree], "a container renamed")
    suite.equal({value.dtype for value in got["model"].values()}, {torch.float64, torch.int64}, "cast")
    suite.equal(list(got["model"]), list(tree["state_dict"]), "keys within it stay")


def run(folder):
    suite = Suite("tree")
    warnings.simplefilter("ignore")
    torch.manual_seed(0)
    (folder / "out").mkdir()
    for name, tree in (("values", values()), ("shared", shared()), ("tensors", tensors()), ("module", training()[0]),
                       ("list", [torch.ones(2), {"a": 1}]), ("one", torch.ones(3)), ("number", 5)):
        check_whole(suite, folder, name, tree)
        check_whole(suite, folder, name + "4", tree, pickle_protocol=4)
        if not name.startswith("tensors"):
            check_whole(suite, folder, name + "-old", tree, _use_new_zipfile_serialization=False)
    check_bytes(suite, folder)
    check_options(suite, folder)
    return suite
