#!/usr/bin/env python3
"""Writes the seeds of the targets whose inputs are scripts (script.h) from tests/golden and tests/reject:
fuzz/corpus/convert_options, shards, dequantize and into.

    fuzz/make_seeds.py HEFT     HEFT: the command, for seeds that it converts

The names of seeds have no checksum, those of finds have one."""
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
GOLDEN, REJECT = HERE.parent / "tests/golden", HERE.parent / "tests/reject"


def script(lines, files):
    """lines: options; files: {name: contents}."""
    sizes = "".join(f"file {name} {len(data)}\n" for name, data in files.items())
    return ("".join(line + "\n" for line in lines) + sizes + "\n").encode() + b"".join(files.values())


def one(path, *lines, cut=None):
    return script(lines, {"in": (GOLDEN / path).read_bytes()[:cut]})


def folder(path, *lines, prefix=""):
    """All files of a directory, at most one directory deep."""
    files = {prefix + str(file.relative_to(path)): file.read_bytes() for file in sorted(path.rglob("*"))
             if file.is_file() and file.suffix != ".md"}
    return script(lines, {name: data for name, data in files.items() if name.count("/") < 2})


def convert_options():
    tied, dtypes = "safetensors/tied.safetensors", "safetensors/dtypes.safetensors"
    yield "cast", one(dtypes, "to safetensors", "cast * bf16", "cast f64 f16")
    yield "cast-torch", one("torch/dtypes.pt", "to safetensors", "cast * f32", "glob !*complex*")
    yield "drop", one("torch/nested.pt", "to safetensors", "glob !*bias", "empty")
    yield "rename", one("torch/linear.pt", "to npz", r"rename ^(.*)\.weight$ \1.kernel")
    yield "shard", one("torch/module.pt", "to safetensors", "output m", "shard 20", "pattern m{suffix}.safetensors")
    yield "shard-torch", one("torch-legacy/module.pt", "to torch", "output m.bin", "shard 64", "option torch-layout 2.1")
    yield "tied", one(tied, "to safetensors", "tied *", "metadata k v")
    yield "untied", one("torch/tied.pt", "to ptd", "option drop-values", "option segment-alignment 64")
    yield "root", one("torch/training.ckpt", "to safetensors", "root model")
    yield "slice", one("safetensors/numpy.safetensors", "to npy", "output x.npy", "glob x", "slice 1:2")
    yield "strict", one("npy/names.npz", "to safetensors", "strict")
    yield "texts", one("npy/texts.npz", "to tf", "option shards 2", "empty")
    yield "numbers", one("npy/numbers.npz", "to tf", "partition * 0:2", "option names keys")
    yield "ptd", one("ptd/mixed.ptd", "to ptd", "option drop-values")
    yield "raw", one("npy/scalar.npy", "to raw", "output x.bin")
    named = "metadata general.architecture x"
    yield "gguf", one("npy/numbers.npz", "to gguf", "output x.gguf", named, "metadata k f32[]:[1,2.5]", "cast f8 F16",
                      "cast b I8", "glob !u*", "glob !c*")
    yield "gguf-edit", one("gguf/kv.gguf", "to gguf", "output x.gguf", "metadata a.i16 [5]", "unmetadata a.str",
                           "metadata general.alignment 64")
    yield "gguf-split", one("gguf/whole.gguf", "to gguf", "output x.gguf", "shard 64", "option no-tensor-first-shard")
    yield "gguf-one", one("gguf/v1-le.gguf", "to gguf", "output x.gguf", "option max-shard-tensors 1", "metadata heft.answer 7")
    yield "gguf-quantize", one("gguf/types.gguf", "to gguf", "output x.gguf", "cast plain.bf16 F32", "cast q.* F16")
    yield "tree", one("torch/training.ckpt", "to torch", "output x.pt", "glob model.*")
    yield "pickle", one("pickle/arrays5.pkl", "to safetensors", "no-verify")
    yield "regex", one("torch-objects/modules.pt", "to safetensors", "regex (weight|bias)$", "glob !lazy*", "output x.safetensors")
    for name, path, cut in (("torch", "torch/linear.pt", 1200), ("storages", "torch/storages.pt", 1500),
                            ("safetensors", tied, 300), ("npz", "npy/numbers.npz", 900)):
        yield f"salvage-{name}", one(path, "salvage", "to safetensors", "empty", cut=cut)


def shards():
    for path in (GOLDEN / "safetensors/sharded", REJECT / "index/index-lacks-one", REJECT / "index/total-size-wrong",
                 REJECT / "index/path-in-sub-folder", REJECT / "index/group-good", REJECT / "index/shard-too-short",
                 REJECT / "index/shard-missing", GOLDEN / "torch-dcp/objects", GOLDEN / "tf-bundle/v1-sharded",
                 GOLDEN / "tf-bundle/partitioned"):
        yield path.name, folder(path, "to safetensors", "output m", "shard 40", "empty")
    sharded = GOLDEN / "safetensors/sharded"
    yield "salvage", folder(REJECT / "index/shard-missing", "salvage", "to safetensors", "empty")
    yield "merge", folder(sharded, "to torch", "output m.pt", *(f"open {path.name}" for path in sorted(sharded.glob("*.safetensors"))))
    yield "index", folder(sharded, "to npz", "open model.safetensors.index.json")


def into(heft, scratch):
    """The weights are those of the model, once from its bundle and once from a converted file."""
    for path in ("tf-restore/half_plus_two", "tf-restore/nested", "saved-model/v1", "saved-model/tf2"):
        model = {f"m/{file.relative_to(GOLDEN / path)}": file.read_bytes()
                 for file in sorted((GOLDEN / path).rglob("*")) if file.is_file()}
        name = path.split("/")[1]
        yield name, script(["option into m", "open m/variables/variables.index"], model)
        weights = scratch / f"{name}.safetensors"
        subprocess.run([heft, "convert", "-q", GOLDEN / path, "-o", weights], check=True)
        yield f"{name}-file", script(["option into m", "option keep-missing", "open w.safetensors"],
                                     {"w.safetensors": weights.read_bytes(), **model})


def dequantize():
    """Each golden model and each refused one, with its configuration."""
    models = HERE.parent / "tests/quantized"
    for path in sorted(models.glob("*/model.safetensors")) + sorted(models.glob("broken/*/model.safetensors")):
        configs = {file.name: file.read_bytes() for file in sorted(path.parent.glob("*.json"))}
        options = ["dequantize", "to safetensors", "output m.safetensors"]
        options += ["salvage", "empty"] if path.parent.name in ("scale-nan", "no-weight") else []
        yield path.parent.name, script(options, {**configs, path.name: path.read_bytes()})


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: fuzz/make_seeds.py HEFT")
    with tempfile.TemporaryDirectory() as scratch:
        for name, seeds in (("convert_options", convert_options()), ("shards", shards()), ("dequantize", dequantize()),
                            ("into", into(Path(sys.argv[1]).resolve(), Path(scratch)))):
            (HERE / "corpus" / name).mkdir(exist_ok=True)
            for seed, data in seeds:
                (HERE / "corpus" / name / seed).write_bytes(data)


if __name__ == "__main__":
    main()
