"""heft diff beside numpy: random pairs of tensors of all dtypes in .pt, .safetensors, .npz and .h5 files,
compared bit for bit and with tolerances. numpy computes in float64, Python with exact integers of 64 bits."""

import math
import random

import numpy
import torch
from safetensors.torch import save_file

from common import DTYPES, HEFT_NAME, SAFE_DTYPES, Suite, heft, raw
from generate import random_tensor

ROUNDS = 30
SHAPES = [(), (1,), (7,), (2, 3), (3, 1, 5), (0, 4), (40, 30), (130, 3, 9)]
NUMPY = {torch.float64, torch.float32, torch.float16, torch.complex64, torch.complex128, torch.bool, torch.int8,
         torch.int16, torch.int32, torch.int64, torch.uint8, torch.uint16, torch.uint32, torch.uint64}
TOLERANCES = [(0, 0), (0, 1e-3), (0.5, 0), (1e-2, 0.1), (1e300, 0), (0, 1)]


def wide(tensor):
    """The values in float64 or complex128."""
    return tensor.to(torch.complex128 if tensor.dtype.is_complex else torch.float64).numpy()


def neighbour(rng, tensor, dtype):
    """A tensor of `dtype` with about the same values, some of them replaced, others a little off."""
    real = tensor.real if tensor.dtype.is_complex and not dtype.is_complex else tensor
    values = real.to(torch.complex128 if tensor.dtype.is_complex and dtype.is_complex else torch.float64)
    if tensor.dtype == dtype:
        near = tensor.clone()
    elif dtype in (torch.uint16, torch.uint32, torch.uint64):
        near = values.nan_to_num().clamp(0, 2**15).to(torch.int64).to(dtype)
    else:
        near = values.to(dtype)
    other = random_tensor(rng, dtype, tuple(tensor.shape)).reshape(tensor.shape)
    chosen = torch.tensor([rng.random() < 0.2 for _ in range(tensor.numel())], dtype=torch.bool).reshape(tensor.shape)
    mask = numpy.repeat(chosen.reshape(-1).numpy(), near.element_size())
    bits = numpy.where(mask, *(numpy.frombuffer(raw(each), numpy.uint8) for each in (other, near)))
    flat = torch.empty(tensor.numel(), dtype=dtype)
    flat.view(torch.uint8).numpy()[:] = bits
    return flat.reshape(tensor.shape)


def random_pair(rng, number):
    """(left, right): {name: tensor}; the shapes and dtypes of some names differ."""
    left, right = {}, {}
    for at, (dtype, name, _) in enumerate(DTYPES):
        shape = SHAPES[(at + number) % len(SHAPES)]
        tensor = random_tensor(rng, dtype, shape).reshape(shape).clone()
        other = rng.choice(DTYPES)[0] if rng.random() < 0.4 else dtype
        left[name] = tensor
        right[name] = tensor.clone() if rng.random() < 0.2 else neighbour(rng, tensor, other)
        if rng.random() < 0.1 and tensor.dim() > 1:
            right[name] = right[name].transpose(0, 1)
    left["only left"], right["only right"] = torch.ones(2), torch.zeros(3)
    return left, right


def write(rng, folder, name, tensors):
    """Writes a format that has the dtypes, in some layout. Returns the path."""
    dtypes = {tensor.dtype for tensor in tensors.values()}
    kinds = ["pt"] + ["safetensors"] * (dtypes <= set(SAFE_DTYPES)) + ["npz", "h5"] * (dtypes <= NUMPY)
    path = folder / f"{name}.{rng.choice(kinds)}"
    path.unlink(missing_ok=True)
    if path.suffix == ".pt":
        torch.save({key: strided(rng, tensor) for key, tensor in tensors.items()}, path)
    elif path.suffix == ".safetensors":
        save_file({key: tensor.contiguous() for key, tensor in tensors.items()}, path)
    else:
        archive = folder / f"{name}.npz"
        rng.choice((numpy.savez, numpy.savez_compressed))(
            archive, **{key: laid_out(rng, tensor.numpy()) for key, tensor in tensors.items()})
        if path.suffix == ".h5":
            done = heft("convert", "-q", "-f", archive, "-o", path)
            assert done.status == 0, done.line
    return path


def strided(rng, tensor):
    """The same values, perhaps not row-major."""
    if tensor.dim() < 2 or rng.random() < 0.5:
        return tensor
    return tensor.transpose(0, 1).contiguous().transpose(0, 1)


def laid_out(rng, array):
    array = array.astype(array.dtype.newbyteorder(rng.choice("<>")))
    return numpy.asfortranarray(array) if array.ndim and rng.random() < 0.3 else array


# ---- what numpy says ---------------------------------------------------------------------------

def magnitude(array):
    """numpy.abs; of complex numbers by the hypot of libm, from which NumPy's own may differ in the last bit."""
    return numpy.hypot(array.real, array.imag) if array.dtype.kind == "c" else numpy.abs(array)


def exact_gaps(left, right):
    """|a - b| of each element: of integers as integers, rounded once."""
    def numbers(tensor):
        return tensor.reshape(-1).tolist()

    def gap(a, b):
        if isinstance(a, int) and isinstance(b, int):
            return float(abs(a - b))
        if isinstance(a, complex) or isinstance(b, complex):
            a, b = complex(a), complex(b)
            return float(numpy.hypot(a.real - b.real, a.imag - b.imag))
        if not (math.isfinite(a) and math.isfinite(b)):
            return abs(float(a) - float(b))
        whole = math.trunc(a) - math.trunc(b)
        return abs(float(whole) + (float(a - math.trunc(a)) - float(b - math.trunc(b))))
    return numpy.array([gap(a, b) for a, b in zip(numbers(left), numbers(right))], numpy.float64)


def gaps(left, right):
    if torch.uint64 in (left.dtype, right.dtype) or torch.int64 in (left.dtype, right.dtype):
        return exact_gaps(left, right)
    with numpy.errstate(all="ignore"):
        return magnitude(wide(left).reshape(-1) - wide(right).reshape(-1))


def differing(left, right, tolerance):
    """Which elements differ."""
    if tolerance is None:
        size = left.element_size()
        a, b = (numpy.frombuffer(raw(tensor), numpy.uint8).reshape(-1, size) for tensor in (left, right))
        return (a != b).any(axis=1)
    atol, rtol = tolerance
    a, b = wide(left).reshape(-1), wide(right).reshape(-1)
    with numpy.errstate(all="ignore"):
        finite = numpy.isfinite(a) & numpy.isfinite(b)
        close = gaps(left, right) <= atol + rtol * magnitude(b)
        return ~numpy.where(finite, close, numpy.isclose(a, b, rtol=rtol, atol=atol, equal_nan=True))


def expected(left, right, tolerance):
    """The object of heft's JSON; None if the tensors are equal."""
    entry = {"dtype": [HEFT_NAME[left.dtype], HEFT_NAME[right.dtype]],
             "shape": [list(left.shape), list(right.shape)],
             "differing": None, "max_abs": None, "max_abs_at": None, "mean_abs": None, "nan": None}
    if left.shape != right.shape or (tolerance is None and left.dtype != right.dtype):
        return entry
    marks = differing(left, right, tolerance)
    if not marks.any():
        return None
    with numpy.errstate(all="ignore"):
        return {**entry, **figures(left, right, marks)}


def figures(left, right, marks):
    a, b, gap = wide(left).reshape(-1), wide(right).reshape(-1), gaps(left, right)
    finite = numpy.isfinite(a) & numpy.isfinite(b)
    counted = finite & (marks | (gap > 0))
    entry = {"differing": int(marks.sum()), "elements": left.numel(),
             "nan": [int((marks & numpy.isnan(x)).sum()) for x in (a, b)],
             "inf": [int((marks & numpy.isinf(x) & ~numpy.isnan(x)).sum()) for x in (a, b)]}
    if counted.any():
        at = int(numpy.flatnonzero(counted & (gap == gap[counted].max()))[0])
        entry.update(max_abs=float(gap[at]),
                     max_abs_at=[int(i) for i in numpy.unravel_index(at, tuple(left.shape))],
                     mean_abs=float(gap[finite].sum() / (left.numel() - int((marks & ~finite).sum()))))
    return entry


def number(value):
    return float(value.replace("Infinity", "inf")) if isinstance(value, str) else value


def is_same(got, want):
    got = {key: value for key, value in got.items() if key != "name"}
    if got.keys() != want.keys():
        return False
    mean, other = number(got.pop("mean_abs")), want["mean_abs"]
    same_mean = mean == other or (None not in (mean, other) and math.isclose(mean, other, rel_tol=1e-9))
    top = number(got.pop("max_abs"))
    return (same_mean and (top == want["max_abs"]) and
            got == {key: value for key, value in want.items() if key not in ("mean_abs", "max_abs")})


def compare(suite, label, left, right, paths, tolerance, threads):
    words = [] if tolerance is None else ["--atol", repr(tolerance[0]), "--rtol", repr(tolerance[1])]
    ran = heft("diff", "-q", "--json", *paths, *words, "-j", threads)
    wanted = {name: expected(left[name], right[name], tolerance) for name in left if name in right}
    wanted = {name: entry for name, entry in wanted.items() if entry}
    if not suite.check(ran.status == 1, label, ran.line):
        return
    got = {entry["name"]: entry for entry in ran.json["differ"]}
    suite.equal(sorted(got), sorted(wanted), f"{label}: names that differ")
    suite.equal((ran.json["only_a"], ran.json["only_b"]), (["only left"], ["only right"]), f"{label}: others")
    suite.equal(ran.json["equal"], len(left) - 1 - len(wanted), f"{label}: equal")
    for name in got.keys() & wanted.keys():
        suite.check(is_same(got[name], wanted[name]), f"{label}: {name}", f"expected {wanted[name]}, got {got[name]}")


def generated(suite, folder):
    for number_of in range(ROUNDS):
        rng = random.Random(f"diff {number_of}")
        left, right = random_pair(rng, number_of)
        if number_of % 3 == 0:  # only dtypes that NumPy has: archives
            left = {name: tensor for name, tensor in left.items() if tensor.dtype in NUMPY
                    and right.get(name, tensor).dtype in NUMPY}
            right = {name: tensor for name, tensor in right.items() if name in left or name == "only right"}
        paths = write(rng, folder, "left", left), write(rng, folder, "right", right)
        for tolerance in (None, rng.choice(TOLERANCES), rng.choice(TOLERANCES)):
            label = f"{number_of} {paths[0].suffix} {paths[1].suffix} {tolerance}"
            compare(suite, label, left, right, paths, tolerance, rng.choice((1, 2, 3)))


def run(folder):
    suite = Suite("diff beside numpy")
    generated(suite, folder)
    return suite
