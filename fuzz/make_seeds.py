#!/usr/bin/env python3
"""Writes the seeds of the targets whose inputs are scripts (script.h) from tests/golden and tests/reject:
fuzz/corpus/convert_options, shards, dequantize and into; and those of deepspeed, pickles of several files.

    fuzz/make_seeds.py HEFT     HEFT: the command, for seeds that it converts

The names of seeds have no checksum, those of finds have one."""
import io
import pickle
import subprocess
import sys
import tempfile
import types
from collections import OrderedDict
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
    yield "ranks", one("torch/nested.pt", "to dcp", "option ranks 3", "option shard-dim 1", "partition list* 0:2")
    yield "ranks-files", one("safetensors/shapes.safetensors", "to dcp", "option ranks 2", "shard 3000", "cast * F16")
    yield "ranks-hf", one(tied, "to dcp-hf", "option ranks 5", "shard 64", "partition * whole")
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
    ptd = {name: (GOLDEN / "ptd" / file).read_bytes() for name, file in (
        ("new.npz", "lowered-new.npz"), ("old.ptd", "lowered.ptd"), ("base.npz", "lowered-old.npz"))}
    options = ["output x.ptd", "option into old.ptd", "open new.npz"]
    yield "ptd", script([*options, "option base base.npz"], ptd)
    yield "ptd-missing", script([*options, "option keep-missing"], ptd)


def dequantize():
    """Each golden model and each refused one, with its configuration."""
    models = HERE.parent / "tests/quantized"
    for path in sorted(models.glob("*/model.safetensors")) + sorted(models.glob("broken/*/model.safetensors")):
        configs = {file.name: file.read_bytes() for file in sorted(path.parent.glob("*.json"))}
        options = ["dequantize", "to safetensors", "output m.safetensors"]
        options += ["salvage", "empty"] if path.parent.name in ("scale-nan", "no-weight") else []
        yield path.parent.name, script(options, {**configs, path.name: path.read_bytes()})


class Named:
    """A global of torch, which need not be installed: pickled as module.name."""

    def __init__(self, module, name):
        self.module, self.name = module, name


class View:
    """A tensor: a view of the one storage of fuzz_deepspeed.c, 16 floats."""

    def __init__(self, offset, *shape):
        self.offset, self.shape = offset, shape

    def __reduce__(self):
        strides, step = [], 1
        for extent in reversed(self.shape):
            strides.insert(0, step)
            step *= extent
        return rebuild, (Storage(), self.offset, self.shape, tuple(strides), False, OrderedDict())


class Storage:
    pass


def rebuild(*arguments):
    return arguments


def pickled(value):
    """As torch.save pickles: protocol 2, storages as persistent ids."""
    torch, utils = types.ModuleType("torch"), sys.modules.get("torch._utils") or types.ModuleType("torch._utils")
    torch.FloatStorage = type("FloatStorage", (), {"__module__": "torch"})
    rebuild.__module__, rebuild.__qualname__ = "torch._utils", "_rebuild_tensor_v2"
    utils._rebuild_tensor_v2 = rebuild

    class Pickler(pickle.Pickler):
        def persistent_id(self, item):
            return ("storage", torch.FloatStorage, "0", "cpu", 16) if isinstance(item, Storage) else None

    out = io.BytesIO()
    sys.modules.update({"torch": torch, "torch._utils": utils})
    Pickler(out, 2).dump(value)
    return out.getvalue()


def pickles(kind, *values):
    data = [pickled(value) for value in values]
    return bytes([kind]) + b"".join(len(one).to_bytes(2, "little") + one for one in data[:-1]) + data[-1]


def deepspeed():
    model = {"module": OrderedDict(a=View(0, 2, 3), b=View(6, 3), n=View(15), t=View(0, 2, 3)), "buffer_names": ["n"],
             "param_shapes": [OrderedDict(a=(2, 3), b=(3,))], "shared_params": {"t": "a"}, "ds_version": "1"}

    def rank(stage, key, count, part, **more):
        return {"optimizer_state_dict": {"zero_stage": stage, "partition_count": count, key: [part], **more}}

    state = {"state": {0: {"exp_avg": View(0, 5), "step": View(3)}}}
    single, flat = "single_partition_of_fp32_groups", "fp32_flat_groups"
    yield "stage2", pickles(0, model, rank(2, single, [2], View(0, 5), base_optimizer_state=state,
                                           param_alignment_paddings=[[0, 0]]),
                            rank(2, single, [2], View(5, 4), base_optimizer_state=state))
    emptied = dict(model, module=OrderedDict(a=View(0, 0), b=View(0, 0), n=View(15)), frozen_param_shapes=OrderedDict(f=(3,)),
                   frozen_param_fragments={"f": View(9, 2)})
    yield "stage3", pickles(1, emptied, emptied, rank(3, flat, 2, View(0, 5), optimizer_state_dict=state),
                            rank(3, flat, 2, View(5, 5), optimizer_state_dict=state))
    yield "stage0", pickles(0, dict(model, param_shapes=None))
    universal = dict(model, param_shapes=[OrderedDict(a=(2, 3)), {"b.c": (3,)}])
    class Object:
        """An object of a class of torch, with attributes."""

        def __init__(self, kind, **attributes):
            self.kind, self.attributes = kind, attributes

        def __reduce__(self):
            return self.kind, (), self.attributes

    def kind(module, name):
        """A class that is pickled as module.name."""
        out = type(name, (), {"__module__": module})
        made = sys.modules.setdefault(module, types.ModuleType(module))
        setattr(made, name, out)
        return out

    def wrapped(class_, state):
        class Wrapped:
            def __reduce__(self):
                return from_type, (wrapper, class_, (class_, None, (4, 2), (2, 1)), state)
        return Wrapped()

    from_type, wrapper = kind("torch._tensor", "_rebuild_from_type_v2"), kind("torch._utils", "_rebuild_wrapper_subclass")
    tensor, shard = kind("torch.a", "ShardedTensor"), kind("torch.a", "ShardMetadata")
    boxes = [Object(shard, shard_offsets=[2 * r, 0], shard_sizes=[2, 2], placement=Object(shard, _rank=r)) for r in range(2)]
    yield "sharded", pickles(4, *({"w": wrapped(tensor, ([Object(shard, tensor=View(4 * r, 2, 2), metadata=boxes[r])],
                                                         Object(shard, shards_metadata=boxes, size=(4, 2)))), "p": View(0, 3)}
                                  for r in range(2)))
    dtensor, rows = kind("torch.a", "DTensor"), kind("torch.a", "Shard")
    yield "dtensor", pickles(4, *({"m": {"w": wrapped(dtensor, {"_local_tensor": View(4 * r, 2, 2), "_spec": Object(
        shard, mesh={"_layout": {"shape": (2,)}, "_coordinate_on_dim": [r], "_rank": r}, placements=(Object(rows, dim=0),),
        tensor_meta={"args": ((4, 2),)})})}} for r in range(2)))
    yield "universal", pickles(2, universal, {"param": View(0, 6), "cat_dim": 0}, {"param": View(6, 6)}, {"param": View(1, 3)})


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: fuzz/make_seeds.py HEFT")
    with tempfile.TemporaryDirectory() as scratch:
        for name, seeds in (("convert_options", convert_options()), ("shards", shards()), ("dequantize", dequantize()),
                            ("deepspeed", deepspeed()), ("into", into(Path(sys.argv[1]).resolve(), Path(scratch)))):
            (HERE / "corpus" / name).mkdir(exist_ok=True)
            for seed, data in seeds:
                (HERE / "corpus" / name / seed).write_bytes(data)


if __name__ == "__main__":
    main()
