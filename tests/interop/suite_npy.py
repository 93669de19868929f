"""Tensors fetched as .npy, whole and sliced, as numpy reads them."""

import numpy
import torch

import generate
from common import HEFT_NAME, Suite, heft, raw

# dtypes of torch that numpy has
HAVE = [torch.float64, torch.float32, torch.float16, torch.complex64, torch.complex128, torch.bool,
        torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8, torch.uint16, torch.uint32,
        torch.uint64]
LACK = [torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2]
SHAPES = [(), (1,), (7,), (0,), (3, 0, 2), (4, 5), (2, 3, 4), (2, 1, 3, 2), (1,) * 9]
SLICES = [("0:2", numpy.s_[0:2]), (":,1", numpy.s_[:, 1]), ("1", numpy.s_[1]),
          ("-2:,:,0", numpy.s_[-2:, :, 0]), ("0:0", numpy.s_[0:0]), (":,:,1:3", numpy.s_[:, :, 1:3]),
          ("-1,-1,-1", numpy.s_[-1, -1, -1]), ("1:3,0:2,-3:-1", numpy.s_[1:3, 0:2, -3:-1])]


def array_of(tensor):
    return tensor.detach().resolve_conj().resolve_neg().numpy()


def same(left, right):
    """dtype, shape and bits (including NaN payloads)."""
    return (left.dtype == right.dtype and left.shape == right.shape
            and numpy.ascontiguousarray(left).tobytes() == numpy.ascontiguousarray(right).tobytes())


def fetch(suite, label, path, name, out, *words):
    ran = heft("get", "-o", out, "-f", *words, "--", path, name)
    if not suite.check(ran.status == 0, label, ran.line):
        return None
    return numpy.load(out, allow_pickle=False)


def whole(suite, folder):
    out = folder / "out.npy"
    for dtype in HAVE:
        rng = generate.source(f"npy {dtype}")
        state = {f"t{number}": generate.random_tensor(rng, dtype, shape)
                 for number, shape in enumerate(SHAPES)}
        state["strided"] = generate.random_tensor(rng, dtype, (6, 5)).t()[1:4]
        path = folder / "in.pt"
        torch.save(state, path)
        for name, tensor in state.items():
            label = f"{HEFT_NAME[dtype]} {tuple(tensor.shape)}"
            got = fetch(suite, label, path, name, out)
            if got is not None:
                suite.check(same(got, array_of(tensor)), f"{label}: values",
                            f"{got.dtype} {got.shape}")


def sliced(suite, folder):
    out, path = folder / "out.npy", folder / "in.pt"
    rng = generate.source("npy slices")
    state = {"plain": generate.random_tensor(rng, torch.float32, (4, 5, 6)),
             "turned": generate.random_tensor(rng, torch.int16, (6, 5, 4)).permute(2, 1, 0)}
    torch.save(state, path)
    for name, tensor in state.items():
        for text, index in SLICES:
            label = f"{name}[{text}]"
            got = fetch(suite, label, path, name, out, f"--slice={text}")
            if got is not None:
                suite.check(same(got, array_of(tensor)[index]), f"{label}: values",
                            f"{got.dtype} {got.shape}")
        ran = heft("get", "-o", "-", "--slice=1:3", "--", path, name)
        suite.check(ran.out == raw(tensor[1:3]), f"{name}[1:3] raw", ran.line)
    for text in ("4", "0:5", "::2", "0,0,0,0", "x", "-5"):
        ran = heft("get", "-o", out, "-f", f"--slice={text}", "--", path, "plain")
        suite.equal(ran.status, 2, f"plain[{text}] is refused ({ran.line})")


def lacking(suite, folder):
    """A dtype without a name in numpy is refused, never written as another one."""
    path = folder / "in.pt"
    for dtype in LACK:
        torch.save({"a": torch.ones(3).to(dtype)}, path)
        ran = heft("get", "-o", folder / "no.npy", "--", path, "a")
        suite.check(ran.status == 2 and not (folder / "no.npy").exists(),
                    f"{HEFT_NAME[dtype]} as .npy", ran.line)


def run(folder):
    suite = Suite(".npy files as numpy reads them")
    whole(suite, folder)
    sliced(suite, folder)
    lacking(suite, folder)
    return suite
