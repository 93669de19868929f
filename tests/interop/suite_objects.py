"""Contents of a pickle besides plain tensors: whole modules, quantized, sparse and nested tensors,
subclasses, objects. heft's rows are the tensors that torch itself finds after loading the file."""

import collections
import datetime
import decimal
import enum
import fractions
import types
import uuid
import warnings

import torch
from torch import nn
from torch.nn.utils import prune
from torch.utils import _pytree

import generate
from common import HEFT_NAME, Suite, heft, listing, raw

QUANTIZED, SPARSE, MODULES, MIXED = 48, 60, 24, 24
FLOATS = [torch.float32, torch.float64, torch.float16, torch.bfloat16]
INT_OF = {torch.qint8: "I8", torch.quint8: "U8", torch.qint32: "I32"}


# ---- modules ---------------------------------------------------------------------------------------

class Buffers(nn.Module):
    """Buffers of all kinds, a plain tensor, parameters that are None."""

    def __init__(self):
        super().__init__()
        self.register_buffer("kept", torch.arange(3.0))
        self.register_buffer("passing", torch.ones(2), persistent=False)
        self.register_buffer("absent", None)
        self.register_parameter("none", None)
        self.weight = nn.Parameter(torch.randn(2, 2))
        self.plain = torch.full((3,), 7.0)
        self.child = None
        self.add_module("gone", None)
        self.typed = nn.Buffer(torch.ones(1, dtype=torch.int32))


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(5, 4)
        self.head = nn.Linear(4, 5, bias=False)
        self.head.weight = self.embed.weight
        self.again = self.embed


class Containers(nn.Module):
    def __init__(self):
        super().__init__()
        self.by_name = nn.ModuleDict({"a": nn.Linear(2, 2), "b_c": nn.ModuleList([nn.PReLU()])})
        self.parameters_list = nn.ParameterList([nn.Parameter(torch.randn(i + 1)) for i in range(3)])
        self.parameters_dict = nn.ParameterDict({"x": nn.Parameter(torch.randn(2)), "y": nn.Parameter(torch.randn(3))})
        self.in_a_list = [nn.Linear(1, 1)]  # not in the state dict


class Slots(nn.Module):
    """State as pickle makes it of __slots__: (dict, slots)."""

    __slots__ = ("extra",)

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 1)
        self.extra = 5


class Outer(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.first, self.second = inner, nn.Sequential(inner, nn.LayerNorm(3))


def weight_normed():
    layer = nn.utils.weight_norm(nn.Linear(3, 2))
    layer.weight = layer.weight.detach()
    return layer


def spectral():
    return nn.utils.spectral_norm(nn.Conv1d(2, 2, 3))


def pruned():
    layer = nn.Linear(3, 3)
    prune.l1_unstructured(layer, "weight", 0.5)
    layer.weight = layer.weight.detach()
    return layer


def traced():
    return torch.fx.symbolic_trace(nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.BatchNorm1d(3)))


MODELS = [
    lambda: nn.Linear(3, 2), lambda: nn.Linear(3, 2, bias=False), lambda: nn.Identity(),
    lambda: nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(), nn.Linear(2, 2)),
    lambda: nn.LSTM(3, 4, num_layers=2, bidirectional=True), lambda: nn.GRU(2, 3),
    lambda: nn.LSTM(3, 4, proj_size=2), lambda: nn.Transformer(8, 2, 1, 1, 16),
    lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16), 2), lambda: nn.MultiheadAttention(4, 2, kdim=3, vdim=5),
    lambda: nn.EmbeddingBag(4, 3), Buffers, Tied, Containers, Slots, lambda: Outer(nn.Linear(3, 3)),
    lambda: nn.DataParallel(nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))), lambda: nn.Conv2d(2, 4, 1).half(),
    lambda: nn.Conv2d(2, 4, 3).to(memory_format=torch.channels_last), lambda: nn.Linear(3, 3).bfloat16(),
    weight_normed, spectral, pruned, traced, lambda: nn.Linear(2, 2).double().requires_grad_(False),
]


def tensors_of(state, prefix):
    """Tensors of a state dict, in its order; quantized layers put tuples into it."""
    for name, value in state.items():
        if isinstance(value, torch.Tensor):
            yield prefix + name, value
        elif isinstance(value, tuple):
            for i, item in enumerate(value):
                if isinstance(item, torch.Tensor):
                    yield f"{prefix}{name}.{i}", item


# ---- what torch finds in an object ---------------------------------------------------------------------

def parts(name, tensor):
    """Rows of a tensor in heft, each as a plain tensor, from torch's own accessors."""
    if tensor.layout == torch.sparse_coo:
        yield f"{name}.indices", tensor._indices()
        yield f"{name}.values", tensor._values()
    elif tensor.layout in (torch.sparse_csr, torch.sparse_bsr):
        yield f"{name}.crow_indices", tensor.crow_indices()
        yield f"{name}.col_indices", tensor.col_indices()
        yield f"{name}.values", tensor.values()
    elif tensor.layout in (torch.sparse_csc, torch.sparse_bsc):
        yield f"{name}.ccol_indices", tensor.ccol_indices()
        yield f"{name}.row_indices", tensor.row_indices()
        yield f"{name}.values", tensor.values()
    elif tensor.is_quantized:
        yield name, tensor.int_repr()
        if tensor.qscheme() == torch.per_channel_affine or tensor.qscheme() == torch.per_channel_affine_float_qparams:
            yield f"{name}.scales", tensor.q_per_channel_scales()
            yield f"{name}.zero_points", tensor.q_per_channel_zero_points()
    elif tensor.is_nested and tensor.layout == torch.strided:
        yield f"{name}.values", tensor.values()
        yield f"{name}.sizes", tensor._nested_tensor_size()
        yield f"{name}.strides", tensor._nested_tensor_strides()
        yield f"{name}.offsets", tensor._nested_tensor_storage_offsets()
    else:
        yield name, tensor


def rows_of(value, path=None):
    """Names and tensors of any object that the suite saves."""
    def below(key):
        return str(key) if path is None else f"{path}.{key}"
    if isinstance(value, torch.Tensor):
        yield from parts("tensor" if path is None else path, value)
    elif isinstance(value, nn.Module):
        for name, tensor in tensors_of(value.state_dict(), "" if path is None else f"{path}."):
            yield from parts(name, tensor)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from rows_of(item, below(key))
    elif isinstance(value, (list, tuple)):
        for key, item in enumerate(value):
            yield from rows_of(item, below(key))


def check_file(suite, label, path, value, ordered=True):
    """Compares names in order, dtypes, shapes, bytes."""
    rows = dict(rows_of(value))
    found, ran = listing(path)
    if not suite.check(found is not None, f"{label}: ls", ran.line):
        return
    same = list(found) == list(rows) if ordered else sorted(found) == sorted(rows)
    if not suite.check(same, f"{label}: names", f"{list(rows)} expected, {list(found)} found"):
        return
    for name, tensor in rows.items():
        row, data = found[name], raw(tensor)
        suite.equal((row["dtype"], row["shape"], row["bytes"]),
                    (HEFT_NAME[tensor.dtype], list(tensor.shape), len(data)), f"{label}: row {name!r}")
        ran = heft("get", "-o", "-", "--", path, name)
        suite.check(ran.status == 0 and ran.out == data, f"{label}: bytes of {name!r}", ran.line)
    ran = heft("verify", "-q", path)
    suite.equal(ran.status, 0, f"{label}: verify ({ran.out.decode('utf-8', 'replace')})")


def round_trip(suite, label, folder, value, seed, ordered=True):
    path = folder / "object.pt"
    torch.save(value, path, pickle_protocol=2 + seed % 4)
    check_file(suite, label, path, torch.load(path, weights_only=False), ordered)
    return path


def check_modules(suite, folder):
    for i, make in enumerate(MODELS):
        torch.manual_seed(i)
        for protocol in range(2):
            model = make()
            ordered = not isinstance(model, torch.fx.GraphModule)
            round_trip(suite, f"model {i} {type(model).__name__}", folder, model, 2 * i + protocol, ordered)
    for seed in range(MODULES):  # several, inside dicts and lists, as trainers save them
        rng = generate.source(f"modules {seed}")
        models = {rng.choice(generate.WORDS) + str(k): rng.choice(MODELS[:20])() for k in range(3)}
        value = {"epoch": seed, "models": models, "ema": [rng.choice(MODELS[:20])()], "plain": torch.ones(2)}
        round_trip(suite, f"modules {seed}", folder, value, seed)
    path = round_trip(suite, "one module twice", folder, {"a": (m := nn.Linear(2, 2)), "b": m}, 0)
    ran = heft("convert", path, "-o", folder / "twice.safetensors", "-f", "-q")
    suite.equal(ran.status, 0, f"one module twice: convert {ran.line}")


def check_outside(suite, folder):
    """Tensors outside any state dict: they are values, and counted."""
    path = folder / "outside.pt"
    torch.save(Buffers(), path)
    ran = heft("info", "--json", path)
    values = ran.json["values"]
    suite.equal(values.get("passing", {}).get("class"), "tensor F32 [2]", "a buffer that is not saved")
    suite.equal(values.get("plain", {}).get("class"), "tensor F32 [3]", "a plain attribute")
    suite.check(b"2 tensors of modules outside the state dict" in heft("verify", path).out, "tensors outside the state dict are counted")
    torch.save(nn.LSTM(2, 2), path)
    values = heft("info", "--json", path).json["values"]
    suite.equal(values["_flat_weights"][0], {"tensor": "weight_ih_l0"}, "the same tensor again refers to its row")


# ---- quantized -----------------------------------------------------------------------------------------

def random_quantized(rng, seed):
    shape = (rng.randint(1, 5), rng.randint(1, 6))
    value = torch.randn(shape)
    dtype = [torch.qint8, torch.quint8, torch.qint32][seed % 3]
    if seed % 2:
        axis = rng.randrange(2)
        scales = torch.rand(shape[axis], dtype=torch.float64) + 0.01
        zero_points = torch.randint(0, 5, (shape[axis],))
        return torch.quantize_per_channel(value, scales, zero_points, axis, dtype)
    return torch.quantize_per_tensor(value, 0.01 + rng.random(), rng.randint(0, 5), dtype)


def check_quantized(suite, folder):
    for seed in range(QUANTIZED):
        rng = generate.source(f"quantized {seed}")
        torch.manual_seed(seed)
        value = {"q": random_quantized(rng, seed), "t": random_quantized(rng, seed - seed % 2).t(), "plain": torch.ones(1)}
        if seed % 5 == 0:
            value["list"] = [random_quantized(rng, seed + 1)]
        path = round_trip(suite, f"quantized {seed}", folder, value, seed // 2)
        found = heft("info", "--json", path).json["values"]["q"]["args"]
        q = value["q"]
        if seed % 2:
            suite.equal(found["axis"], q.q_per_channel_axis(), f"quantized {seed}: axis")
        else:
            suite.equal((found["scale"], found["zero_point"]), (q.q_scale(), q.q_zero_point()), f"quantized {seed}")
    floats = torch.quantize_per_channel(torch.randn(3, 4), torch.rand(3) + 0.1, torch.rand(3), 0, torch.quint8)
    round_trip(suite, "float_qparams", folder, {"q": floats}, 0)
    check_packed(suite, folder)


def check_packed(suite, folder):
    """Quantized layers: their state dicts, and the layers pickled whole."""
    from torch.ao.nn import quantized
    layers = [quantized.Linear(3, 2), nn.Sequential(quantized.Linear(2, 2), quantized.Linear(2, 2)),
              torch.ao.quantization.quantize_dynamic(nn.Sequential(nn.Linear(4, 3)), dtype=torch.qint8)]
    for i, layer in enumerate(layers):
        path = folder / "packed.pt"
        torch.save(layer.state_dict(), path)
        rows = dict(tensors_of(torch.load(path, weights_only=False), ""))
        found, ran = listing(path)
        expected = [name for key, tensor in rows.items() for name, _ in parts(key, tensor)]
        suite.equal(list(found or []), expected, f"packed {i}: state dict {ran.line}")
        torch.save(layer, path)
        found, ran = listing(path)
        # Scale and zero point of a layer's output are numbers in the pickle and tensors in the state
        # dict.
        expected = [name for name in expected if not name.endswith(("scale", "zero_point"))]
        suite.equal(list(found or []), expected, f"packed {i}: whole {ran.line}")
    path = folder / "packed.pt"
    torch.save(nn.Sequential(quantized.Conv2d(1, 2, 3)), path)
    suite.equal(list(listing(path)[0] or []), ["0.weight", "0.bias"], "a quantized convolution")
    half = torch.quantize_per_channel(torch.ones(4, 6), torch.ones(4), torch.zeros(4), 0, torch.quint4x2)
    torch.save({"half": half}, path)
    found, ran = listing(path)
    suite.equal(list(found or []), ["half.scales", "half.zero_points"], f"4 bits an element {ran.line}")
    suite.check(b"QUInt4x2" in ran.err, "4 bits per element: named as unreadable", ran.line)


# ---- sparse and nested -----------------------------------------------------------------------------------

def random_sparse(rng, seed):
    dtype = rng.choice(FLOATS + [torch.int64, torch.bool])
    dense = (torch.rand(4, 6) > 0.6).to(torch.float32) * torch.randn(4, 6)
    dense = dense.to(dtype)
    kind = seed % 8
    if kind == 0:
        return dense.to_sparse()
    if kind == 1:
        return dense.to_sparse_csr()
    if kind == 2:
        return dense.to_sparse_csc()
    if kind == 3:
        return dense.float().to_sparse_bsr((2, 3))
    if kind == 4:
        return dense.float().to_sparse_bsc((2, 2))
    if kind == 5:  # dense dimensions
        return torch.randn(3, 4, 2).to_sparse(2)
    if kind == 6:  # a batch
        return torch.ones(2, 3, 4).to_sparse_csr()
    return torch.sparse_coo_tensor(torch.tensor([[0, 0, 1]]), torch.tensor([1.0, 2.0, 3.0]), (3,))


def check_sparse(suite, folder):
    for seed in range(SPARSE):
        rng = generate.source(f"sparse {seed}")
        torch.manual_seed(seed)
        sparse = random_sparse(rng, seed)
        path = round_trip(suite, f"sparse {seed}", folder, {"s": sparse, "plain": torch.ones(2)}, seed // 8)
        args = heft("info", "--json", path).json["values"]["s"]["args"]
        suite.equal((args["size"], args["layout"]), (list(sparse.shape), str(sparse.layout)), f"sparse {seed}: values")
    empty = torch.sparse_coo_tensor(size=(2, 3))
    round_trip(suite, "sparse empty", folder, {"s": empty, "c": torch.zeros(2, 2).to_sparse_csr()}, 1)
    round_trip(suite, "sparse root", folder, torch.eye(3).to_sparse(), 0)
    path = round_trip(suite, "sparse list", folder, [torch.eye(3).to_sparse(), torch.ones(1)], 2)
    suite.equal(heft("info", "--json", path).json["values"]["1"], {"tensor": "1"}, "sparse list: places")
    for seed in range(1, 7):  # torch saves one without parts, but does not load it
        torch.manual_seed(seed)
        nested = torch.nested.nested_tensor([torch.randn(k + 1, 3) for k in range(seed)])
        round_trip(suite, f"nested {seed}", folder, {"n": nested, "plain": torch.ones(1)}, seed)


# ---- subclasses -----------------------------------------------------------------------------------------

class Plain(torch.Tensor):
    """A subclass with attributes, some of them tensors."""


class Wrapper(torch.Tensor):
    """A subclass without data of its own: its contents are its attributes."""

    @staticmethod
    def __new__(cls, packed, scale):
        return torch.Tensor._make_wrapper_subclass(cls, packed.shape, dtype=torch.float32)

    def __init__(self, packed, scale):
        self.packed, self.scale = packed, scale

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        if func is torch.ops.aten.detach.default:
            return cls(args[0].packed, args[0].scale)
        return func(*_pytree.tree_map(lambda x: x, args), **(kwargs or {}))


def check_subclasses(suite, folder):
    path = folder / "subclass.pt"
    plain = torch.arange(6.0).reshape(2, 3).as_subclass(Plain)
    plain.note, plain.scale = "kept", torch.ones(3)
    parameter = nn.Parameter(torch.ones(2))
    parameter.tag = {"group": 1, "mask": torch.tensor([True, False])}
    wrapper = Wrapper(torch.arange(4, dtype=torch.int8), torch.tensor(0.5))
    for protocol in range(2, 6):
        torch.save({"p": plain, "q": parameter, "w": wrapper, "l": [wrapper]}, path, pickle_protocol=protocol)
        found, ran = listing(path)
        names = ["p", "p.scale", "q", "q.tag.mask", "w.packed", "w.scale", "l.0.packed", "l.0.scale"]
        if not suite.equal(list(found or []), names, f"subclasses {ran.line}"):
            continue
        loaded = torch.load(path, weights_only=False)
        rows = {"p": loaded["p"].as_subclass(torch.Tensor), "p.scale": loaded["p"].scale, "q": loaded["q"],
                "q.tag.mask": loaded["q"].tag["mask"], "w.packed": loaded["w"].packed, "w.scale": loaded["w"].scale}
        for name, tensor in rows.items():
            suite.equal(heft("get", path, name, "-o", "-").out, raw(tensor), f"subclasses: bytes of {name}")
        values = heft("info", "--json", path).json["values"]
        suite.equal(values["p"]["args"]["note"], "kept", "subclasses: attributes")
        suite.equal(values["w"]["class"], f"{__name__}.Wrapper", "subclasses: class")
    jagged = torch.nested.nested_tensor([torch.ones(2, 3), torch.zeros(1, 3)], layout=torch.jagged)
    torch.save({"j": jagged}, path)
    found, ran = listing(path)
    suite.check(found is not None and list(found)[:2] == ["j.values", "j.offsets"], "jagged", ran.line)
    suite.equal(heft("get", path, "j.values", "-o", "-").out, raw(jagged.values()), "jagged: values")
    torch.save({"lazy": nn.LazyLinear(3), "meta": torch.empty(2, device="meta"), "w": torch.ones(1)}, path)
    found, ran = listing(path)
    suite.equal(list(found or []), ["w"], "no data")
    suite.check(all(word in ran.err for word in (b"lazy.weight", b"lazy.bias", b"meta")), "no data: named", ran.line)


def check_devices(suite, folder):
    """As written by XLA and similar devices: numpy arrays, and the dtype to cast to."""
    class Sent:
        def __init__(self, *arguments):
            self.arguments = arguments

        def __reduce__(self):
            return self.arguments[0], self.arguments[1:]

    path = folder / "device.pt"
    value = torch.randn(2, 3).to(torch.bfloat16)
    torch.save({"same": Sent(torch._utils._rebuild_device_tensor_from_numpy, value.float().numpy(), torch.float32, "cpu", False),
                "cast": Sent(torch._utils._rebuild_device_tensor_from_numpy, value.float().numpy(), torch.bfloat16, "cpu", False),
                "cpu": Sent(torch._utils._rebuild_device_tensor_from_cpu_tensor, value, torch.bfloat16, "cpu", False)}, path)
    loaded = torch.load(path, weights_only=False)
    found, ran = listing(path)
    suite.equal([row["dtype"] for row in (found or {}).values()], ["F32", "F32", "BF16"], f"devices {ran.line}")
    suite.equal(heft("get", path, "cast", "-o", "-").out, raw(loaded["cast"].float()), "devices: bytes")
    suite.equal(heft("info", "--json", path).json["values"]["cast"]["args"], {"dtype": "torch.bfloat16"}, "devices: dtype")
    suite.equal(heft("get", path, "cpu", "-o", "-").out, raw(loaded["cpu"]), "devices: a tensor")


# ---- objects ---------------------------------------------------------------------------------------------

class Colour(enum.Enum):
    RED = 1


Point = collections.namedtuple("Point", "x y")


def check_values(suite, folder):
    path = folder / "values.pt"
    moment = datetime.datetime(2024, 1, 2, 3, 4, 5, 678)
    number = uuid.UUID("12345678-9abc-def0-1234-56789abcdef0")
    value = {"datetime": moment, "date": datetime.date(1999, 12, 31), "time": datetime.time(1, 2, 3), "uuid": number,
             "small": uuid.UUID(int=5), "high": uuid.UUID(int=2**128 - 1), "decimal": decimal.Decimal("1.50"),
             "fraction": fractions.Fraction(-1, 3), "space": types.SimpleNamespace(a=1, t=torch.ones(2)),
             "colour": Colour.RED, "point": Point(torch.ones(1), 2), "w": torch.ones(1)}
    for protocol in range(2, 6):
        torch.save(value, path, pickle_protocol=protocol)
        ran = heft("info", "--json", path)
        if not suite.equal(ran.status, 0, f"values: {ran.line}"):
            continue
        found = ran.json["values"]
        for name in ("datetime", "date", "time"):
            suite.equal(found[name], value[name].isoformat(), f"values: {name}")
        for name in ("uuid", "small", "high", "decimal", "fraction"):
            suite.equal(found[name], str(value[name]), f"values: {name}")
        suite.equal(found["space"], {"a": 1}, "values: SimpleNamespace")
        suite.check("Colour" in str(found["colour"]), "values: an enumeration", str(found["colour"]))
        suite.equal(list(listing(path)[0]), ["space.t", "point.args.0", "w"], "values: tensors within")


def check_mixed(suite, folder):
    for seed in range(MIXED):
        rng = generate.source(f"mixed {seed}")
        torch.manual_seed(seed)
        value = {}
        for k in range(rng.randint(3, 7)):
            make = rng.choice([lambda: random_quantized(rng, rng.randrange(6)), lambda: random_sparse(rng, rng.randrange(8)),
                               lambda: rng.choice(MODELS[:20])(), lambda: torch.randn(2, 3),
                               lambda: [random_quantized(rng, rng.randrange(6)), torch.ones(1)],
                               lambda: {"deep": random_sparse(rng, rng.randrange(8))}])
            value[f"{rng.choice(generate.WORDS)}{k}"] = make()
        path = round_trip(suite, f"mixed {seed}", folder, value, seed)
        out = folder / "mixed.safetensors"
        ran = heft("convert", path, "-o", out, "-f", "-q", "--no-sync")
        suite.equal(ran.status, 0, f"mixed {seed}: convert {ran.line}")


def run(folder):
    warnings.filterwarnings("ignore")  # warnings of torch about deprecated functions or prototypes
    suite = Suite("modules, quantized, sparse, subclasses")
    check_modules(suite, folder)
    check_outside(suite, folder)
    check_quantized(suite, folder)
    check_sparse(suite, folder)
    check_subclasses(suite, folder)
    check_devices(suite, folder)
    check_values(suite, folder)
    check_mixed(suite, folder)
    return suite
