"""torch 1.13 (Debian's python3-torch): heft reads its files, and it reads heft's."""

import base64

import torch

import environment
import generate
from common import HEFT_NAME, Suite, heft, raw, read_safetensors
from peers import Peer

OLD_DTYPES = [torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int8, torch.int16,
              torch.int32, torch.int64, torch.uint8, torch.bool, torch.complex64]
STATES = 60


def rows_of(answer):
    """Tensors as the old torch reports them: name → (dtype, shape, bytes)."""
    return {name: (HEFT_NAME[getattr(torch, dtype)], shape, base64.b64decode(data))
            for name, dtype, shape, data in answer["tensors"]}


def heft_rows(folder, path, expected):
    """Tensors as heft reads them, or its error. safetensors cannot store complex128."""
    rows = {}
    safe = [name for name, row in expected.items() if row[0] != "C128"]
    if safe:
        out = folder / "rows.safetensors"
        words = [word for name, row in expected.items() if row[0] == "C128"
                 for word in ("-g", "!" + name)]
        ran = heft("convert", path, "-o", out, "-f", "-q", *words)
        if ran.status != 0:
            return ran.line
        metadata, rows = read_safetensors(out)
        for dropped, kept in metadata.items():
            if dropped in expected and kept in rows:
                rows[dropped] = rows[kept]
    for name, row in expected.items():
        if row[0] == "C128":
            got = heft("get", path, name, "-o", "-")
            rows[name] = ("C128", row[1], got.out) if got.status == 0 else got.line
    return rows


def read_check(suite, folder, old, do, what, **more):
    path = folder / "old.pt"
    expected = rows_of(old.ask(do, path=str(path), **more))
    rows = heft_rows(folder, path, expected)
    if not suite.check(isinstance(rows, dict), what, rows):
        return
    suite.equal(sorted(rows), sorted(expected), f"{what}: names")
    for name, row in expected.items():
        got = rows.get(name)
        suite.check(got is not None and list(got) == list(row), f"{what}: {name}",
                    f"expected {row[:2]}, got {got[:2] if got else None}")


def read_all(suite, folder, old):
    for seed in range(STATES):
        legacy, protocol = seed % 3 == 1, 2 + seed % 4
        if seed % 3 == 2:
            read_check(suite, folder, old, "save_plain", f"plain pickle {seed}", seed=seed,
                       protocol=protocol)
        else:
            read_check(suite, folder, old, "save_state", f"{'legacy' if legacy else 'zip'} {seed}",
                       seed=seed, legacy=legacy, protocol=protocol)
    for legacy in (False, True):
        kind = "legacy" if legacy else "zip"
        read_check(suite, folder, old, "save_module", f"module, {kind}", legacy=legacy)
        read_check(suite, folder, old, "save_quantized", f"quantized, {kind}", legacy=legacy)
        read_check(suite, folder, old, "save_sparse", f"sparse, {kind}", legacy=legacy)
    read_check(suite, folder, old, "save_script", "scripted module")
    read_check(suite, folder, old, "save_script", "traced module", trace=True)
    read_check(suite, folder, old, "save_tar", "tar")


def write_check(suite, folder, old, seed, how):
    """A state dict of the new torch, written by heft, read by the old one."""
    state = generate.flat_dict(generate.source(seed), OLD_DTYPES)
    source, out = folder / "new.pt", folder / "heft.pt"
    torch.save(state, source)
    ran = heft("convert", source, "-o", out, "-f", "-q", *how)
    what = f"state {seed} {' '.join(how)}"
    if not suite.check(ran.status == 0, what, ran.line):
        return
    answer = old.ask("load", path=str(out))
    expected = {name: (HEFT_NAME[t.dtype], list(t.shape), raw(t)) for name, t in state.items()}
    suite.equal(rows_of(answer), expected, what)


def write_all(suite, folder, old):
    layouts = [("--to", "torch"), ("--to", "torch", "--torch-layout", "1.6"),
               ("--to", "torch", "--torch-layout", "2.1"), ("--to", "torch-legacy")]
    for seed in range(STATES):
        write_check(suite, folder, old, 9000 + seed, layouts[seed % len(layouts)])


def run(folder):
    suite = Suite("the distribution's torch, 1.13")
    try:
        old = Peer(environment.old_torch(), environment.HERE / "old_torch.py")
    except environment.Unavailable as reason:
        suite.skip(str(reason))
        return suite
    read_all(suite, folder, old)
    write_all(suite, folder, old)
    old.close()
    return suite
