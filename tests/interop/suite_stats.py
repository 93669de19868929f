"""Figures of `heft stats` against NumPy in float64: every dtype of torch, special values, strided and
converted tensors; the same bits for every number of threads."""

import json
import math

import numpy
import torch

import generate
from common import DTYPES, Suite, heft, raw

SPECIAL = [0.0, -0.0, float("nan"), float("inf"), -float("inf"), 1e-45, -1e-45, 3e38, -3e38]
INTEGERS = ("BOOL", "I8", "I16", "I32", "I64", "U8", "U16", "U32", "U64")


def wide(tensor):
    """The elements as NumPy numbers that represent them exactly, flat; complex numbers as magnitudes."""
    tensor = tensor.detach().resolve_conj().resolve_neg()
    if tensor.dtype.is_complex:
        return numpy.abs(tensor.to(torch.complex128).numpy()).reshape(-1)
    if tensor.dtype.is_floating_point:
        return tensor.to(torch.float64).numpy().reshape(-1)
    return tensor.numpy().reshape(-1)


def expected(tensor):
    """The members of a row that are exact, and (mean, std) or None."""
    values = wide(tensor)
    is_float = values.dtype == numpy.float64
    nan = numpy.isnan(values) if is_float else numpy.zeros(values.shape, bool)
    if tensor.dtype.is_complex:  # abs of a number with a NaN and an infinite part is infinite
        nan = numpy.isnan(tensor.resolve_conj().resolve_neg().to(torch.complex128).numpy()).reshape(-1)
    infinite = numpy.isinf(values) & ~nan if is_float else nan
    finite = values[~nan & ~infinite]
    exact = {"elements": values.size, "zeros": int((finite == 0).sum()), "nan": int(nan.sum()),
             "inf": int(infinite.sum())}
    if finite.size == 0:
        return {**exact, **dict.fromkeys(("min", "max", "mean", "std", "abs_max"))}, None
    convert = float if is_float else int
    least, most = convert(finite.min()), convert(finite.max())
    exact |= {"min": least, "max": most, "abs_max": max(abs(least), abs(most))}
    finite = finite.astype(numpy.float64)
    mean = finite.astype(numpy.longdouble).mean().astype(numpy.float64)
    with numpy.errstate(over="ignore"):
        std = math.sqrt(((finite - mean) ** 2).mean())
    return exact, (mean, "Infinity" if math.isinf(std) else std, max(abs(float(least)), abs(float(most))))


def near(got, want, scale):
    return got == want or abs(got - want) <= 1e-12 * scale


def check(suite, label, row, tensor):
    exact, moments = expected(tensor)
    tolerance = 1e-14 if tensor.dtype.is_complex else 0  # two implementations of hypot
    for key, value in exact.items():
        got = row[key]
        fine = got == value or (tolerance and isinstance(value, float)
                                and abs(got - value) <= tolerance * abs(value))
        suite.check(fine and type(got) is type(value), f"{label}: {key}", f"expected {value}, got {got}")
    if moments:
        mean, std, scale = moments
        suite.check(near(row["mean"], mean, scale), f"{label}: mean", f"expected {mean}, got {row['mean']}")
        suite.check(near(row["std"], std, std), f"{label}: std", f"expected {std}, got {row['std']}")


def rows_of(suite, path, *words):
    ran = heft("stats", "--json", *words, "--", path)
    if not suite.check(ran.status == 0, f"stats of {path.name}", ran.line):
        return {}
    return {row["name"]: row for row in ran.json}


def large(rng, dtype, n):
    """Numbers around 1, some of them special."""
    numbers = torch.from_numpy(numpy.random.default_rng(rng.randrange(2**32)).normal(1, 0.25, n))
    if dtype.is_complex:
        return torch.complex(numbers, numbers.flip(0)).to(dtype)
    if not dtype.is_floating_point:
        return (numbers * 40).abs().to(dtype)
    for i in range(0, n, 977):
        numbers[i] = SPECIAL[i // 977 % len(SPECIAL)]
    return numbers.to(dtype)


def every_dtype(suite, folder):
    for dtype, name, _ in DTYPES:
        rng = generate.source(f"stats {dtype}")
        state = {f"t{number}": generate.random_tensor(rng, dtype, shape)
                 for number, shape in enumerate([(), (1,), (0,), (7,), (33, 5), (4, 1, 100)])}
        state["large"] = large(rng, dtype, 30_011)
        state["turned"] = large(rng, dtype, 10_000).reshape(100, 100).t()[3:50]
        path = folder / f"{name}.pt"
        torch.save(state, path)
        rows = rows_of(suite, path)
        for key, tensor in state.items():
            if suite.check(key in rows, f"{name} {key} has a row"):
                check(suite, f"{name} {key} {tuple(tensor.shape)}", rows[key], tensor)


def extremes(suite, folder):
    state = {
        "i64": torch.tensor([-2**63, 2**63 - 1, 2**53 + 1]),
        "u64": torch.tensor([2**64 - 1, 2**53 + 1], dtype=torch.uint64),
        "nan": torch.full((3, 3), float("nan")),
        "offset": torch.arange(100_000, dtype=torch.float64) * 1e-6 + 1e4,
        "constant": torch.full((50_000,), 0.1),
        "cancelling": torch.tensor([1e16, 1.0, -1e16], dtype=torch.float64).repeat(5000),
    }
    path = folder / "extremes.pt"
    torch.save(state, path)
    rows = rows_of(suite, path)
    for name, tensor in state.items():
        check(suite, name, rows[name], tensor)


def layouts(suite, folder):
    """Threads, formats and strides do not change a bit."""
    rng = generate.source("stats layouts")
    tensor = large(rng, torch.float32, 3_000_000).reshape(1500, 2000)
    path, turned = folder / "large.pt", folder / "turned.pt"
    torch.save({"w": tensor}, path)
    torch.save({"w": tensor.t().contiguous().t()}, turned)
    first = heft("stats", "--json", path)
    for words in ((path, "-j1"), (path, "-j2"), (path, "-j5"), (turned, "-j1"), (turned, "-j3")):
        suite.equal(heft("stats", "--json", *words).out, first.out, f"stats {words[0].name} {words[1]}")
    for target in ("out.safetensors", "out.npz", "out.h5", "out.ptd"):
        ran = heft("convert", path, "-o", folder / target, "-q")
        if suite.check(ran.status == 0, f"convert to {target}", ran.line):
            suite.equal(heft("stats", "--json", folder / target).out, first.out, f"stats {target}")
    suite.equal(len(raw(tensor)), tensor.numel() * 4, "the tensor is as large as intended")


def command(suite, folder):
    path = folder / "command.pt"
    torch.save({"fine": torch.ones(3), "bad": torch.tensor([1, float("nan")]),
                "zero": torch.zeros(2)}, path)
    for words, status in (((), 0), (("--fail-on=nan",), 1), (("--fail-on=inf",), 0),
                          (("--fail-on=inf,zero",), 1), (("--fail-on=nan", "-g", "fine"), 0),
                          (("--fail-on=nan,",), 2), (("--fail-on=none",), 2)):
        suite.equal(heft("stats", path, *words).status, status, f"stats {' '.join(words)}")
    lines = heft("stats", "--jsonl", path).out.decode().splitlines()
    suite.equal([json.loads(line) for line in lines], heft("stats", "--json", path).json, "--jsonl")


def run(folder):
    suite = Suite("figures of tensors as NumPy computes them")
    every_dtype(suite, folder)
    extremes(suite, folder)
    layouts(suite, folder)
    command(suite, folder)
    return suite
