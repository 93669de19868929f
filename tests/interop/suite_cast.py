"""Casts equal torch's Tensor.to bit for bit; NaNs may differ in their payload."""

import torch

import generate
from common import HEFT_NAME, TORCH_DTYPE, Suite, heft, raw, read_safetensors

FLOATS = ["F64", "F32", "F16", "BF16", "F8_E4M3", "F8_E5M2", "F8_E4M3FNUZ", "F8_E5M2FNUZ"]
INTS = ["I8", "I16", "I32", "I64", "U8", "U16", "U32", "U64"]
SIZES = {"I8": (True, 8), "I16": (True, 16), "I32": (True, 32), "I64": (True, 64),
         "U8": (False, 8), "U16": (False, 16), "U32": (False, 32), "U64": (False, 64)}
COUNT = 6000


def widens(left, right):
    """Returns true if every value of the integer type `left` fits in `right`."""
    (signed, bits), (to_signed, to_bits) = SIZES[left], SIZES[right]
    if signed and not to_signed:
        return False
    return bits <= to_bits if signed == to_signed else bits < to_bits


def pairs():
    for left in FLOATS:
        for right in FLOATS:
            if left != right:
                yield left, right
    for right in ("F64", "F32", "F16", "BF16"):
        yield "F8_E8M0", right
    for left in INTS:
        for right in INTS:
            if left != right and widens(left, right):
                yield left, right
        for right in ("F64", "F32", "F16", "BF16"):
            yield left, right
    for right in ("I8", "U8", "I64", "F32", "BF16"):
        yield "BOOL", right


def edges():
    """Doubles at and around every limit of the smaller formats."""
    values = [0.0, float("inf"), float("nan"), 448.0, 464.0, 480.0, 57344.0, 61440.0, 65504.0,
              65519.99, 65520.0, 65536.0, 240.0, 3.3895313892515355e38, 3.4028235677973366e38,
              1.7976931348623157e308, 2.0**-24, 2.0**-25, 2.0**-14, 2.0**-16, 2.0**-17, 2.0**-126,
              2.0**-133, 2.0**-134, 2.0**-149, 2.0**-150, 2.0**-9, 2.0**-10, 2.0**-6, 5e-324, 1.0,
              1 + 2.0**-8, 1 + 2.0**-9, 1 + 3 * 2.0**-8, 1 + 2.0**-11, 1 + 2.0**-24, 1 + 2.0**-24 * 3]
    around = []
    for value in values:
        exact = torch.tensor(value, dtype=torch.float64)
        around += [exact, torch.nextafter(exact, torch.tensor(0.0, dtype=torch.float64)),
                   torch.nextafter(exact, torch.tensor(float("inf"), dtype=torch.float64))]
    both = torch.stack(around)
    return torch.cat([both, -both])


def input_of(rng, dtype):
    """Random bits, values of ordinary size, and the limits; every value of the short formats."""
    kind = TORCH_DTYPE[dtype]
    noise = generate.random_tensor(rng, kind, (COUNT,))
    if dtype == "BOOL":
        return noise
    if kind.itemsize <= 2:
        every = torch.arange(65536, dtype=torch.int32).to(torch.uint16).view(torch.uint8)
        if kind.itemsize == 1:
            every = torch.arange(256, dtype=torch.int32).to(torch.uint8)
        return torch.cat([every.view(kind), noise])
    if not kind.is_floating_point:
        powers = [(1 << bit) + step for bit in range(kind.itemsize * 8 - 1) for step in (-1, 0, 1)]
        most = torch.iinfo(kind).max
        near = torch.tensor([min(value, most) for value in powers], dtype=torch.int64)
        return torch.cat([noise, near.to(kind)])
    torch.manual_seed(rng.randrange(1 << 30))
    scaled = torch.randn(COUNT, dtype=torch.float64) * torch.exp2(
        torch.randint(-30, 30, (COUNT,), dtype=torch.float64))
    return torch.cat([noise, scaled.to(kind), edges().to(kind)])


def same(got, expected):
    """Bitwise comparison; two NaNs are equal."""
    if raw(got) == raw(expected):
        return None
    if not expected.dtype.is_floating_point:
        different = torch.tensor([a != b for a, b in zip(got.tolist(), expected.tolist())])
    else:
        bits = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[got.dtype.itemsize]
        wide_got, wide_expected = got.to(torch.float64), expected.to(torch.float64)
        both = wide_got.isnan() & wide_expected.isnan()
        different = (got.view(bits) != expected.view(bits)) & ~both
    where = different.nonzero().reshape(-1).tolist()
    return where or None


def check(suite, left, right, source, path, folder):
    expected = source.to(TORCH_DTYPE[right])
    out = folder / "out.safetensors"
    ran = heft("convert", path, "-o", out, "-f", "--cast", f"x={right}", "--no-sync", "-q")
    label = f"{left} to {right}"
    if not suite.check(ran.status == 0, label, ran.line):
        return
    dtype, shape, data = read_safetensors(out)[1]["x"]
    if not suite.equal((dtype, shape), (right, list(source.shape)), f"{label}: row"):
        return
    got = torch.frombuffer(bytearray(data), dtype=torch.uint8).view(TORCH_DTYPE[right])
    where = same(got, expected)
    detail = ""
    if where:
        first = where[0]
        detail = (f"{len(where)} of {len(got)} differ; at {first}: {source[first].item()!r} should be "
                  f"{expected[first].item()!r}, is {got[first].item()!r}")
    suite.check(where is None, label, detail)


def complex_numbers(suite, folder):
    """complex128 to complex64, the only cast of it that safetensors can store."""
    rng = generate.source("complex")
    source = generate.random_tensor(rng, torch.complex128, (500,))
    path, out = folder / "complex.pt", folder / "complex.safetensors"
    torch.save({"x": source}, path)
    ran = heft("convert", path, "-o", out, "--cast", "x=C64", "--no-sync", "-q")
    if suite.check(ran.status == 0, "C128 to C64", ran.line):
        data = read_safetensors(out)[1]["x"][2]
        got = torch.frombuffer(bytearray(data), dtype=torch.float32)
        expected = torch.view_as_real(source.to(torch.complex64)).reshape(-1)
        suite.check(same(got, expected) is None, "C128 to C64: values")


def refusals(suite, folder):
    """Casts that would lose integers are refused."""
    path = folder / "ints.pt"
    torch.save({"x": torch.arange(4, dtype=torch.int64)}, path)
    for right in ("I32", "U64", "BOOL", "NOSUCH"):
        ran = heft("convert", path, "-o", folder / "no.safetensors", "--cast", f"x={right}", "-q")
        suite.equal(ran.status, 2, f"I64 to {right} is refused ({ran.line})")


def run(folder):
    suite = Suite("casts as torch casts")
    rng = generate.source("cast")
    sources = {}
    for left, right in pairs():
        path = folder / f"{left}.pt"
        if left not in sources:
            sources[left] = input_of(rng, left)
            torch.save({"x": sources[left]}, path)
        check(suite, left, right, sources[left], path, folder)
    suite.equal(HEFT_NAME[torch.bfloat16], "BF16", "names of dtypes")
    complex_numbers(suite, folder)
    refusals(suite, folder)
    return suite
