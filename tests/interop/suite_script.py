"""TorchScript archives: heft lists the tensors that torch.jit.load reads, with the same names, order and
bytes."""

import enum
import pathlib
import subprocess
import sys
import typing
import warnings
import zipfile

import torch
from safetensors.torch import load_file
from torch import nn

from common import HEFT_NAME, ROOT, SAFE_DTYPES, Suite, heft, listing, raw, read_safetensors

SAMPLES = ROOT / "build" / "samples" / "silero-vad"


class Color(enum.Enum):
    RED = 1
    BLUE = 2


class Attributes(nn.Module):
    """Everything that TorchScript allows in a module besides parameters."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 3)
        self.register_buffer("kept", torch.arange(3.0))
        self.register_buffer("passing", torch.arange(4.0), persistent=False)
        self.register_buffer("empty_buffer", None)
        self.register_parameter("empty_parameter", None)
        self.plain = torch.arange(5)
        self.items = [torch.zeros(2), torch.ones(2)]
        self.table = {"a": torch.zeros(1), "b": torch.ones(1)}
        self.numbers: typing.Dict[int, torch.Tensor] = {7: torch.zeros(2)}
        self.pair = (torch.full((1,), 5.0), 3)
        self.maybe: typing.Optional[torch.Tensor] = None
        self.color = Color.BLUE
        self.ints, self.floats, self.bools = [1, 2], [1.5], [True]
        self.name, self.device, self.dtype = "text", torch.device("cpu"), torch.float32

    def forward(self, x):
        y = self.fc(x) + self.kept + self.passing[0] + self.items[0][0] + self.table["a"]
        if self.color == Color.RED:
            y = y + self.pair[0] + self.ints[0] + self.floats[0] + self.plain[0] + self.numbers[7][0]
        return y, self.device, self.name, self.dtype, self.bools


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(3, 3), nn.Linear(3, 3)
        self.second.weight = self.first.weight
        self.third = self.first

    def forward(self, x):
        return self.third(self.second(self.first(x)))


class Typed(nn.Module):
    def __init__(self):
        super().__init__()
        for dtype in SAFE_DTYPES + [torch.complex128]:
            bits = torch.arange(48, dtype=torch.uint8)
            value = bits % 2 == 0 if dtype == torch.bool else bits.view(dtype)
            self.register_buffer("of_" + str(dtype).split(".")[1], value.clone())
        self.register_buffer("scalar", torch.tensor(5))
        self.register_buffer("nothing", torch.zeros(0, 3))
        self.register_buffer("strided", torch.arange(12.0).reshape(3, 4).t())
        self.register_buffer("sliced", torch.arange(12.0)[3:7:2])

    def forward(self, x):
        return x + self.scalar


class Empty(nn.Module):
    def forward(self, x):
        return x


class Nested(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.full((2,), 0.5))
        self.blocks = nn.ModuleList([nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2)),
                                     nn.Sequential(nn.Conv2d(2, 2, 3), nn.GroupNorm(1, 2))])
        self.heads = nn.ModuleDict({"left": nn.Linear(2, 2), "right": nn.Linear(2, 1)})

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return self.heads["left"](x[:, :, 0, 0]) * self.scale


def modules():
    """name: (module, example input, or None if tracing is not possible)."""
    return {
        "linear": (nn.Linear(2, 3), torch.zeros(1, 2)),
        "sequential": (nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1)), torch.zeros(1, 2)),
        "convolution": (nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2)).eval(),
                        torch.zeros(1, 1, 4, 4)),
        "lstm": (nn.LSTM(2, 3, num_layers=2, bidirectional=True), torch.zeros(1, 1, 2)),
        "gru": (nn.GRU(2, 3), torch.zeros(1, 1, 2)),
        "embedding": (nn.EmbeddingBag(4, 3, mode="sum"), torch.zeros(1, 2, dtype=torch.int64)),
        "attention": (nn.MultiheadAttention(4, 2), None),
        "transformer": (nn.TransformerEncoderLayer(4, 2, 8).eval(), torch.zeros(1, 1, 4)),
        "nested": (Nested().eval(), torch.zeros(1, 1, 5, 5)),
        "tied": (Tied(), torch.zeros(1, 3)),
        "typed": (Typed(), None),
        "half": (nn.Linear(2, 3).half(), None),
        "empty": (Empty(), torch.zeros(1)),
        "attributes": (Attributes(), None),
    }


def tensors_in(value, path):
    if isinstance(value, torch.Tensor):
        yield path, value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from tensors_in(item, f"{path}.{key}")
    elif isinstance(value, (list, tuple)):
        for i, item in enumerate(value):
            yield from tensors_in(item, f"{path}.{i}")


def compare(suite, label, path, extra=()):
    """Compares heft's rows with torch.jit.load: those of state_dict in its order, and `extra` by
    name."""
    loaded = torch.jit.load(str(path), map_location="cpu")
    expected, extra = dict(loaded.state_dict()), dict(extra)
    found, ran = listing(path)
    if not suite.check(found is not None, f"{label}: ls", ran.line):
        return
    suite.equal([name for name in found if name in expected], list(expected), f"{label}: order")
    others = [name for name in found if name not in expected and not name.startswith("constants.")]
    suite.equal(sorted(others), sorted(extra), f"{label}: other tensors")
    for name, tensor in {**expected, **extra}.items():
        row = found.get(name)
        if row is None:
            continue
        suite.equal((row["dtype"], row["shape"]), (HEFT_NAME[tensor.dtype], list(tensor.shape)),
                    f"{label}: row {name}")
        got = heft("get", "-o", "-", "--", path, name)
        suite.check(got.status == 0 and got.out == raw(tensor), f"{label}: bytes of {name}", got.line)
    sound = heft("verify", "-q", path)
    suite.equal(sound.status, 0, f"{label}: verify: {sound.out.decode('utf-8', 'replace')}")
    suite.equal(heft("info", "--json", path).json["format"], "torchscript", f"{label}: format")


def converted(suite, label, path, folder):
    target = folder / "out.safetensors"
    ran = heft("convert", path, "-f", "--no-sync", "-q", "--allow-empty", "-o", target)
    if not suite.check(ran.status == 0, f"{label}: convert", ran.line):
        return
    metadata, got = read_safetensors(target)
    for name, tensor in torch.jit.load(str(path)).state_dict().items():
        kept = name if name in got else metadata.get(name)
        suite.check(kept in got and got[kept][2] == raw(tensor), f"{label}: converted {name}")


def each_module(suite, folder):
    for name, (module, example) in modules().items():
        scripted = torch.jit.script(module)
        extra = dict(tensors(module)) if isinstance(module, Attributes) else {}
        path = folder / f"{name}.pt"
        scripted.save(str(path))
        compare(suite, f"{name}, scripted", path, extra)
        if name != "typed":  # safetensors has no complex128
            converted(suite, name, path, folder)
        mobile = folder / f"{name}.ptl"
        scripted._save_for_lite_interpreter(str(mobile))
        compare(suite, f"{name}, mobile", mobile, extra)
        if example is not None:
            path = folder / f"{name}-traced.pt"
            torch.jit.trace(module, example, check_trace=False).save(str(path))
            compare(suite, f"{name}, traced", path)


def tensors(module):
    """Tensors of Attributes that state_dict omits, with heft's names."""
    for name in ("plain", "items", "table", "numbers", "pair"):
        yield from tensors_in(getattr(module, name), name)


def constants(suite, folder):
    """Tensors that only the program has: in constants.pkl, shared with bytecode.pkl."""
    frozen = torch.jit.freeze(torch.jit.script(nn.Linear(2, 3).eval()))
    for suffix, save in ((".pt", frozen.save), (".ptl", frozen._save_for_lite_interpreter)):
        path = folder / f"frozen{suffix}"
        save(str(path))
        found, ran = listing(path)
        if not suite.check(found is not None, f"frozen{suffix}: ls", ran.line):
            continue
        suite.equal(list(found), ["constants.0", "constants.1"], f"frozen{suffix}: names")
        names = {name.split("/", 1)[1]: name for name in zipfile.ZipFile(path).namelist()}
        for i in range(2):
            key = f"constants/{i}" if f"constants/{i}" in names else f"constants/{i}.storage"
            record = zipfile.ZipFile(path).read(names[key])
            got = heft("get", "-o", "-", path, f"constants.{i}")
            suite.check(got.out == record, f"frozen{suffix}: bytes of constants.{i}", got.line)


def extra_files(suite, folder):
    path = folder / "extra.pt"
    files = {"labels.txt": "cat\nd\u00f6g\n", "deep/raw.bin": bytes(range(256)), "nothing": ""}
    torch.jit.script(Empty()).save(str(path), _extra_files=files)
    values = heft("info", "--json", path).json["values"]["extra"]
    suite.equal(set(values), set(files), "extra files: names")
    suite.equal(values.get("labels.txt"), files["labels.txt"], "extra files: a text")
    for name, content in files.items():
        got = heft("get", "-o", "-", path, f"extra.{name}")
        wanted = content.encode() if isinstance(content, str) else content
        suite.check(got.status == 0 and got.out == wanted, f"extra files: {name}", got.line)


def silero(suite, folder):
    """An existing archive, and the weights that its authors published with it."""
    done = subprocess.run([sys.executable, str(ROOT / "scripts" / "samples"), "silero-vad"],
                          capture_output=True, text=True)
    if done.returncode == 3:
        suite.skip(done.stderr.strip())
        return
    if not suite.check(done.returncode == 0, "scripts/samples", done.stderr):
        return
    script = SAMPLES / "silero_vad.jit"
    loaded = torch.jit.load(str(script))
    compare(suite, "silero_vad.jit", script, {name: getattr(loaded, name) for name in ("_state", "_context")})
    weights, same = loaded.state_dict(), 0
    for name, tensor in load_file(SAMPLES / "silero_vad_16k.safetensors").items():
        twin = twin_of(name)
        suite.equal(tensor.shape, weights[twin].shape, f"silero: shape of {name} and {twin}")
        equal = torch.equal(tensor, weights[twin])  # the convolutions are from a later training
        same += equal
        one = heft("get", "-o", "-", script, twin)
        other = heft("get", "-o", "-", SAMPLES / "silero_vad_16k.safetensors", name)
        suite.equal(one.out == other.out, equal, f"silero: {name} and {twin}")
    suite.check(same > 0, "silero: no tensor is in both")


def twin_of(name):
    """Checks that the renamed one has the tensors of the other."""
    module, _, rest = name.partition(".")
    for i in range(4):
        if module == f"conv{i + 1}":
            return f"_model.encoder.{i}.reparam_conv.{rest}"
    return {"stft_conv": "_model.stft.forward_basis_buffer", "lstm_cell": f"_model.decoder.rnn.{rest}",
            "final_conv": f"_model.decoder.decoder.2.{rest}"}[module]


def run(folder):
    suite = Suite("TorchScript as torch.jit.load reads it")
    folder = pathlib.Path(folder)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        each_module(suite, folder)
        constants(suite, folder)
        extra_files(suite, folder)
        silero(suite, folder)
    return suite
