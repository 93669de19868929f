"""Files written by torch, read by heft bit for bit: listed, fetched one by one, and converted."""

import torch
from torch.utils.serialization import config

import generate
from common import DTYPES, HEFT_NAME, Suite, flatten, heft, listing, raw, read_safetensors

FLAT, NESTED = 90, 40


def dicts():
    every = [dtype for dtype, _, _ in DTYPES]
    rng = generate.source("each dtype")
    for dtype in every:
        name = HEFT_NAME[dtype]
        yield f"dtype {name}", {
            "plain": generate.random_tensor(rng, dtype, (5, 7)),
            "scalar": generate.random_tensor(rng, dtype, ()),
            "empty": generate.random_tensor(rng, dtype, (0, 3)),
            "view": generate.random_tensor(rng, dtype, (6, 4)).t()[1:3],
        }
    yield "nothing", {}
    for seed in range(FLAT):
        rng = generate.source(f"flat {seed}")
        yield f"flat {seed}", generate.flat_dict(rng, every, specials=0.1)
    for seed in range(NESTED):
        yield f"nested {seed}", generate.nested(generate.source(f"nested {seed}"))


def save(state, path, seed):
    """The variants in which torch.save writes a zip file, in turn."""
    torch.serialization.set_crc32_options(seed % 5 != 4)
    with config.patch({"save.storage_alignment": 64 if seed % 3 else 4096}):
        torch.save(state, path, pickle_protocol=2 + seed % 4)


def check_rows(suite, label, path, rows):
    """`ls --json`: names in order, dtypes, shapes and bytes; `get`: every value."""
    found, ran = listing(path)
    if not suite.check(found is not None, f"{label}: ls", ran.line):
        return
    if not suite.equal(list(found), list(rows), f"{label}: names"):
        return
    for name, tensor in rows.items():
        row = found[name]
        got = (row["dtype"], row["shape"], row["bytes"])
        data = raw(tensor)
        suite.equal(got, (HEFT_NAME[tensor.dtype], list(tensor.shape), len(data)),
                    f"{label}: row {name!r}")
        ran = heft("get", "-o", "-", "--", path, name)
        if suite.equal(ran.status, 0, f"{label}: get {name!r}: {ran.line}"):
            suite.check(ran.out == data, f"{label}: bytes of {name!r}",
                        f"{tensor.dtype} {tuple(tensor.shape)} strides {tensor.stride()}")


def check_convert(suite, label, path, rows, folder):
    """One safetensors file: each tensor, or one that it was tied to with the same value."""
    out = folder / "out.safetensors"
    ran = heft("convert", path, "-o", out, "-f", "--no-sync", "-q")
    lacking = [name for name, tensor in rows.items()
               if tensor.dtype in (torch.complex128, torch.complex32)]
    if lacking:
        suite.equal(ran.status, 2, f"{label}: a dtype that safetensors lacks is refused")
        return
    if not rows:
        suite.equal(ran.status, 2, f"{label}: a file without tensors is not written")
        return
    if not suite.check(ran.status == 0, f"{label}: convert", ran.line):
        return
    metadata, got = read_safetensors(out)
    for name, tensor in rows.items():
        kept = name if name in got else metadata.get(name)
        if not suite.check(kept in got, f"{label}: {name!r} is neither kept nor recorded"):
            continue
        dtype, shape, data = got[kept]
        good = (dtype, shape) == (HEFT_NAME[tensor.dtype], list(tensor.shape))
        suite.check(good and data == raw(tensor), f"{label}: converted {name!r}")


def check_float4(suite, folder):
    """Two values per byte: safetensors counts values, torch bytes."""
    path = folder / "float4.pt"
    data = torch.arange(8, dtype=torch.uint8)
    torch.save({"a": data.view(torch.float4_e2m1fn_x2).reshape(2, 4)}, path)
    found, ran = listing(path)
    if not suite.check(found is not None, "float4: ls", ran.line):
        return
    if not suite.check("a" in found, "float4: is read", ran.line):
        return
    suite.equal((found["a"]["dtype"], found["a"]["shape"]), ("F4", [2, 8]), "float4: row")
    suite.equal(heft("get", "-o", "-", "--", path, "a").out, bytes(range(8)), "float4: bytes")
    back = folder / "float4-back.pt"
    if suite.equal(heft("convert", path, "-o", back).status, 0, "float4: back to torch"):
        again = torch.load(back, weights_only=True)["a"]
        suite.equal((again.dtype, list(again.shape)), (torch.float4_e2m1fn_x2, [2, 4]), "float4: dtype")
        suite.check(torch.equal(again.view(torch.uint8), data.reshape(2, 4)), "float4: bytes in torch")
    turned = folder / "float4-turned.pt"
    torch.save({"a": data.view(torch.float4_e2m1fn_x2).reshape(2, 4).t()}, turned)
    ran = heft("convert", turned, "-o", folder / "float4.safetensors", "-q")
    suite.equal(ran.status, 2, "float4: convert does not drop what it cannot read in silence")


def run(folder):
    suite = Suite("what torch writes, heft reads")
    for seed, (label, state) in enumerate(dicts()):
        path = folder / "in.pt"
        save(state, path, seed)
        rows = dict(flatten(torch.load(path, weights_only=False)))
        check_rows(suite, label, path, rows)
        check_convert(suite, label, path, rows, folder)
        ran = heft("verify", "-q", path)
        suite.equal(ran.status, 0, f"{label}: verify ({ran.out.decode('utf-8', 'replace')})")
    torch.serialization.set_crc32_options(True)
    check_float4(suite, folder)
    return suite
