"""Quantized checkpoints: `convert --dequantize` gives the values of the reference implementations, bit for bit, and
refuses what it does not understand.

Each directory of tests/quantized has model.safetensors, its configuration, and expected.safetensors with the values
of the reference (make.py). Each refused_*.py of tests/quantized has a list CASES of (name, golden directory, edit,
exit status, part of the message), or the same with options: the edited copy is converted, and must be refused, with
nothing written; status 0 means that it is converted, and the text is part of what is printed.
"""
import importlib
import json
import shutil
import struct
import sys

from .common import Fail, TESTS, must_succeed, run, text_of

FOLDER = TESTS / "quantized"
# References whose values are F32: the cast of the configuration's dtype comes after them.
WIDER = {"ct-float": ["--cast", "block.weight=F32", "--cast", "channelf32.weight=F32"], "bnb-int8": ["--cast", "*=F32"]}
# References with +0 for the code of -0: compared as numbers.
AS_NUMBERS = {"nvfp4-modelopt"}

sys.path.insert(0, str(FOLDER))
import edit  # noqa: E402


def jobs(ctx):
    for folder in sorted(path for path in FOLDER.iterdir() if (path / "model.safetensors").exists()):
        yield f"values of {folder.name}", lambda folder=folder: check_values(ctx, folder, [])
        yield f"values of {folder.name}, in shards", lambda folder=folder: check_again(ctx, folder, "shards/", "--max-shard-size", "700")
        yield f"values of {folder.name}, of torch.save", lambda folder=folder: check_again(ctx, folder, "model.pt")
        yield f"values of {folder.name} in pieces", lambda folder=folder: check_values(ctx, folder, ["-j", "2", "-M", "16MiB"])
    for table in sorted(FOLDER.glob("refused_*.py")):
        for case in importlib.import_module(table.stem).CASES:
            yield case[0], lambda case=case: check_case(ctx, *case)
    for table in sorted(FOLDER.glob("made_*.py")):
        for case in importlib.import_module(table.stem).CASES:
            yield f"made: {case[0]}", lambda case=case: check_made(ctx, *case)


def check_values(ctx, folder, options):
    out = ctx.folder("quantized") / "out.safetensors"
    must_succeed(ctx, [ctx.heft, "convert", folder / "model.safetensors", "-o", out, "--dequantize", "--verify", "-q",
                       *WIDER.get(folder.name, []), *options])
    compare(folder, edit.load(out))


def check_again(ctx, folder, name, *options):
    """Converts the model as it is stored first: companions may lie in other shards than their weights."""
    scratch = ctx.folder("quantized")
    must_succeed(ctx, [ctx.heft, "convert", folder / "model.safetensors", "-o", f"{scratch}/{name}", "-q", *options])
    shutil.copy(folder / "config.json", scratch / name if name.endswith("/") else scratch)
    out = scratch / "out.safetensors"
    must_succeed(ctx, [ctx.heft, "convert", f"{scratch}/{name}", "-o", out, "--dequantize", "-q", *WIDER.get(folder.name, [])])
    compare(folder, edit.load(out))


def compare(folder, actual):
    expected = edit.load(folder / "expected.safetensors")
    if set(actual) != set(expected):
        raise Fail(f"tensors {sorted(actual)}, expected {sorted(expected)}")
    for name, (dtype, shape, data) in expected.items():
        if actual[name][:2] != (dtype, shape):
            raise Fail(f"{name}: {actual[name][:2]}, expected {(dtype, shape)}")
        if plain(folder, actual[name][2]) != plain(folder, data):
            raise Fail(f"{name}: other bytes than those of the reference")


def plain(folder, data):
    """BF16 with one zero, where the reference has no other one."""
    if folder.name not in AS_NUMBERS:
        return data
    return b"".join(b"\0\0" if data[i:i + 2] == b"\0\x80" else data[i:i + 2] for i in range(0, len(data), 2))


def check_case(ctx, name, base, change, status, text, options=()):
    folder = ctx.folder("quantized") / "in"
    shutil.copytree(FOLDER / base, folder)
    tensors, config = edit.load(folder / "model.safetensors"), json.loads((folder / "config.json").read_text())
    change(tensors, config)
    edit.save(folder / "model.safetensors", tensors)
    (folder / "config.json").write_text(config if isinstance(config, str) else json.dumps(config))
    out = folder.parent / "out.safetensors"
    done = run(ctx, [ctx.heft, "convert", folder / "model.safetensors", "-o", out, "--dequantize", *options])
    said = text_of(done.stderr) + text_of(done.stdout)
    if done.returncode != status or (text != "=" and text not in said):
        raise Fail(f"exit {done.returncode}, expected {status} and \"{text}\"\n{said}")
    if text == "=":
        compare(FOLDER / base, edit.load(out))
    if status == 2 and (out.exists() or list(folder.parent.glob(".*"))):
        raise Fail("something was written")


def check_made(ctx, name, make, options=("--dequantize=F32",)):
    folder = ctx.folder("quantized")
    tensors, config, expected = make()
    edit.save(folder / "model.safetensors", tensors)
    (folder / "config.json").write_text(json.dumps(config))
    out = folder / "out.safetensors"
    must_succeed(ctx, [ctx.heft, "convert", folder / "model.safetensors", "-o", out, *options, "--verify", "-q"])
    actual = edit.load(out)
    for key, (shape, numbers) in expected.items():
        dtype, found_shape, data = actual[key]
        if (dtype, found_shape) != ("F32", shape):
            raise Fail(f"{key}: {dtype} {found_shape}, expected F32 {shape}")
        found = struct.unpack(f"<{len(data) // 4}f", data)
        wrong = [i for i, (a, b) in enumerate(zip(found, numbers)) if a != b]
        if wrong or len(found) != len(numbers):
            raise Fail(f"{key}: {len(wrong)} of {len(numbers)} values differ, the first is element {wrong[:1]}")
