"""Directories of torch.distributed.checkpoint that heft writes: torch loads them in any number of processes."""

import io
import json
import os
import pickle
import sys
import warnings

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
import torch.multiprocessing as mp
from torch.distributed.checkpoint import FileSystemReader, HuggingFaceStorageReader, HuggingFaceStorageWriter
from torch.distributed.checkpoint.format_utils import dcp_to_torch_save
from torch.distributed.checkpoint.metadata import TensorStorageMetadata
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor

import generate
from common import HEFT_NAME, SAFE_DTYPES, Suite, flatten, heft, listing, raw
from suite_dcp import leave

WORLDS = [1, 2, 4]
# Ranks and dimension of each conversion; 11 ranks are more than most tensors have rows.
CUTS = [(1, 0), (2, 0), (2, 1), (3, 0), (4, 1), (11, 0)]
PARTITIONS = ["--partition", "cols=1:2", "--partition", "big=whole"]


def tensors(dtypes):
    """Shapes of all kinds in dtypes that gloo can send; then one small matrix of each of the others."""
    rng = generate.source("dcp write")
    shapes = {"rows": (5, 3), "cols": (4, 7), "one": (9,), "scalar": (), "tiny": (1, 4), "empty": (0, 3),
              "hollow": (3, 0), "deep": (3, 4, 5), "big": (40, 24), "two": (2,), "éß\"\\": (3, 3), "\U0001f600": (7, 1),
              "six": (2, 1, 3, 1, 2, 3)}
    sent = [torch.float32, torch.bfloat16, torch.int64, torch.uint8]
    state = {name: generate.random_tensor(rng, sent[k % len(sent)], shape)
             for k, (name, shape) in enumerate(shapes.items())}
    state["turned"] = generate.random_tensor(rng, torch.float32, (6, 4)).t()
    state["strided"] = generate.random_tensor(rng, torch.float32, (9, 8))[1::2, ::3]
    state["tied"] = state["big"]
    for dtype in dtypes:
        state[f"dtype.{HEFT_NAME[dtype]}"] = generate.random_tensor(rng, dtype, (3, 4))
    return state


VALUES = {"step": 7, "lr": 0.125, "name": "ünï", "betas": (0.9, 0.999), "groups": [1, [2, 3], []], "none": None,
          "flag": True, "raw": b"\x00\xff\x80a", "void": b"", "huge": 1 << 70, "low": -(1 << 70), "small": -5,
          "set": {3, 4}, "five": (1, 2, 3, 4, 5)}


def same(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and raw(a) == raw(b)


# ---- loading in several processes ------------------------------------------------------------------------


def targets(expected, mesh, kind):
    """Zeroed tensors of the same shapes, placed in that way."""
    state = {}
    for name, value in expected.items():
        zero = torch.zeros(value.shape, dtype=value.dtype)
        if kind == "plain" or value.dim() == 0:
            state[name] = zero
        else:
            place = Replicate() if kind == "replicate" else Shard(min(int(kind), value.dim() - 1))
            state[name] = distribute_tensor(zero, mesh, [place])
    return state


def load_rank(rank, world, folder, jobs):
    warnings.filterwarnings("ignore")
    dist.init_process_group("gloo", init_method=f"file://{folder}/meeting-load{world}", rank=rank, world_size=world)
    mesh = init_device_mesh("cpu", (world,))
    expected = torch.load(f"{folder}/sent.pt")
    bad = []
    for path, is_hf in jobs:
        for kind in ("0", "1", "replicate", "plain"):
            state = targets(expected, mesh, kind)
            reader = HuggingFaceStorageReader(path=path) if is_hf else FileSystemReader(path)
            dcp.load(state, storage_reader=reader)
            for name, value in state.items():
                full = value.full_tensor() if isinstance(value, DTensor) else value
                if not same(full, expected[name]):
                    bad.append(f"{os.path.basename(path)} as {kind}: {name}")
    with open(f"{folder}/loaded{world}-{rank}.json", "w", encoding="utf-8") as out:
        json.dump(bad, out)
    leave(f"{folder}/done-load{world}-{rank}")


def check_loads(suite, folder, jobs):
    for world in WORLDS:
        mp.spawn(load_rank, args=(world, str(folder), jobs), nprocs=world)
        for rank in range(world):
            path = folder / f"loaded{world}-{rank}.json"
            if suite.check(path.exists(), f"rank {rank} of {world} has loaded everything"):
                suite.equal(json.loads(path.read_text()), [], f"loaded in rank {rank} of {world}")


# ---- what torch writes -----------------------------------------------------------------------------------


def save_rank(rank, world, folder, cuts, numbers):
    warnings.filterwarnings("ignore")
    dist.init_process_group("gloo", init_method=f"file://{folder}/meeting-save{world}", rank=rank, world_size=world)
    mesh = init_device_mesh("cpu", (world,))
    sent = torch.load(f"{folder}/sent.pt")
    for dim in cuts:
        state = {name: value.contiguous() if value.dim() == 0 else
                 distribute_tensor(value.contiguous(), mesh, [Shard(min(dim, value.dim() - 1))])
                 for name, value in sent.items()}
        dcp.save(state, checkpoint_id=f"{folder}/torch-{world}-{dim}")
        for label, mapping in (("hf", None), ("hfk", numbers)):
            writer = HuggingFaceStorageWriter(path=f"{folder}/torch-{label}-{world}-{dim}", save_distributed=True,
                                              fqn_to_index_mapping=mapping)
            dcp.save(state, storage_writer=writer)
    leave(f"{folder}/done-save{world}-{rank}")


def split_header(path):
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8:8 + length])
    metadata = header.pop("__metadata__")
    return length, metadata, list(header.items()), data[8 + length:]


def check_hf(suite, ours, theirs):
    suite.equal(sorted(p.name for p in ours.iterdir()), sorted(p.name for p in theirs.iterdir()),
                f"{ours.name}: the files of torch")
    for path in sorted(ours.iterdir()):
        suite.check((theirs / path.name).exists() and split_header(path) == split_header(theirs / path.name),
                    f"{ours.name}: {path.name} has the bytes of torch's, but for the order of the metadata")


def chunks_of(folder):
    """{(name, offsets): bytes of the archive}, and the metadata."""
    with open(folder / ".metadata", "rb") as file:
        metadata = pickle.load(file)
    found = {}
    for index, place in metadata.storage_data.items():
        data = (folder / place.relative_path).read_bytes()[place.offset:place.offset + place.length]
        found[index.fqn, None if index.offset is None else tuple(index.offset)] = data
    return found, metadata


def boxes(entry):
    """Chunks that have elements."""
    return {(tuple(c.offsets), tuple(c.sizes)) for c in entry.chunks if 0 not in c.sizes}


def check_archives(suite, ours, theirs):
    """The archive of each chunk is the one that torch writes."""
    got, metadata = chunks_of(ours)
    wanted, reference = chunks_of(theirs)
    suite.equal(sorted(metadata.state_dict_metadata), sorted(reference.state_dict_metadata), f"{ours.name}: names")
    for name, entry in reference.state_dict_metadata.items():
        own = metadata.state_dict_metadata[name]
        suite.equal((own.properties, own.size, boxes(own)), (entry.properties, entry.size, boxes(entry)),
                    f"{ours.name}: metadata of {name}")
        for offsets, _ in boxes(entry):
            suite.check(got.get((name, offsets)) == wanted[name, offsets], f"{ours.name}: archive of {name} {offsets}")


# ---- one directory ---------------------------------------------------------------------------------------


def check_zips(suite, folder):
    """Each archive is loaded with weights_only, and has no more than its tensor."""
    found, metadata = chunks_of(folder)
    for (name, offsets), data in found.items():
        if offsets is None:
            suite.check(not isinstance(torch.load(io.BytesIO(data), weights_only=False), torch.Tensor),
                        f"{folder.name}: object {name}")
            continue
        tensor = torch.load(io.BytesIO(data), weights_only=True)
        suite.equal(tensor.untyped_storage().nbytes(), tensor.numel() * tensor.element_size(),
                    f"{folder.name}: storage of {name}")
    for name, entry in metadata.state_dict_metadata.items():
        if isinstance(entry, TensorStorageMetadata):
            suite.check(entry.chunks, f"{folder.name}: {name} has chunks")


def check_whole(suite, folder, expected, values):
    whole = folder.with_suffix(".pt")
    dcp_to_torch_save(folder, whole)
    loaded = torch.load(whole, weights_only=False)
    rows = dict(flatten(loaded))
    suite.equal(sorted(rows), sorted(expected), f"{folder.name}: names in torch")
    for name, tensor in expected.items():
        suite.check(name in rows and same(rows[name], tensor), f"{folder.name}: values of {name!r} in torch")
    for name, value in values.items():
        suite.equal(loaded.get(name, "absent"), value, f"{folder.name}: value {name}")


def convert(suite, source, out, *words):
    ran = heft("convert", source, "-o", out, "--no-sync", "--verify", *words)
    return suite.check(ran.status == 0, f"convert to {out.name}", ran.line)


def files_of(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def check_dcp(suite, folder, sent):
    """Writes directories with each cut; returns those to load."""
    made = []
    for ranks, dim in CUTS:
        out, again = folder / f"dcp-{ranks}-{dim}", folder / f"again-{ranks}-{dim}"
        words = ["--to", "dcp", "--ranks", str(ranks), "--shard-dim", str(dim)]
        if not convert(suite, folder / "sent.pt", out, *words):
            continue
        made.append((str(out), False))
        suite.check(convert(suite, folder / "sent.pt", again, *words) and files_of(out) == files_of(again),
                    f"{out.name}: the same bytes again")
        check_whole(suite, out, sent, {})
        suite.equal(heft("verify", "-q", out).status, 0, f"{out.name}: verify")
        if (folder / f"torch-{ranks}-{dim}").exists():
            check_archives(suite, out, folder / f"torch-{ranks}-{dim}")
    check_zips(suite, folder / "dcp-3-0")
    out = folder / "dcp-partition"
    if convert(suite, folder / "sent.pt", out, "--to", "dcp", "--ranks", "4", *PARTITIONS):
        made.append((str(out), False))
        _, metadata = chunks_of(out)
        suite.equal(boxes(metadata.state_dict_metadata["cols"]), {((0, 0), (4, 4)), ((0, 4), (4, 3))}, "partition 1:2")
        suite.equal(len(metadata.state_dict_metadata["big"].chunks), 1, "partition whole")
    return made


def check_reshard(suite, folder, sent):
    """From one number of ranks to another; several files a rank."""
    out = folder / "dcp-resharded"
    if not convert(suite, folder / "dcp-4-1", out, "--to", "dcp", "--ranks", "3", "--max-shard-size", "3KB"):
        return []
    check_whole(suite, out, sent, {})
    suite.check((out / "__0_1.distcp").exists(), "a rank with several files")
    return [(str(out), False)]


def check_hf_all(suite, folder):
    made = []
    for ranks, dim in CUTS:
        for label, more in (("hf", []), ("hfk", ["--max-shard-size", "1KB"])):
            out = folder / f"{label}-{ranks}-{dim}"
            if convert(suite, folder / "sent.pt", out, "--to", "dcp-hf", "--ranks", str(ranks), "--shard-dim", str(dim),
                       *more):
                made.append((str(out), True))
                if (folder / f"torch-{label}-{ranks}-{dim}").exists():
                    check_hf(suite, out, folder / f"torch-{label}-{ranks}-{dim}")
    return made


def check_dtypes(suite, folder):
    """All dtypes, in torch's own loader without processes, and values beside tensors."""
    every = tensors(HEFT_NAME)
    torch.save({**every, **VALUES}, folder / "every.pt")
    out = folder / "dcp-every"
    if convert(suite, folder / "every.pt", out, "--to", "dcp", "--ranks", "2"):
        check_whole(suite, out, every, VALUES)
        check_zips(suite, out)
        single = folder / "torch-every"
        dcp.save({k: v.contiguous() if isinstance(v, torch.Tensor) else v for k, v in {**every, **VALUES}.items()},
                 checkpoint_id=single, no_dist=True)
        alone = folder / "dcp-alone"
        convert(suite, folder / "every.pt", alone, "--to", "dcp")
        got, metadata = chunks_of(alone)
        wanted, reference = chunks_of(single)
        suite.equal({k for k, v in got.items() if v != wanted[k]}, set(), "all archives are torch's, those of values, too")
        suite.equal(metadata.state_dict_metadata, reference.state_dict_metadata, "state_dict_metadata")
        suite.equal(metadata.planner_data, reference.planner_data, "planner_data")
    safe = tensors(SAFE_DTYPES)
    torch.save(safe, folder / "safe.pt")
    out = folder / "hf-every"
    if convert(suite, folder / "safe.pt", out, "--to", "dcp-hf"):
        state = {name: torch.zeros(value.shape, dtype=value.dtype) for name, value in safe.items()
                 if HEFT_NAME[value.dtype] not in ("F8_E8M0", "F8_E4M3FNUZ", "F8_E5M2FNUZ", "C64")}
        found, ran = listing(out / "shard-00001-model-00001-of-00001.safetensors")
        suite.equal(sorted(found or {}), sorted(safe), f"names of all dtypes ({ran.line})")
        suite.check(state, "some dtypes")


def check_nested(suite, folder):
    """Nested dictionaries and lists, as training scripts save them: the same tree comes back."""
    model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2))
    optimizer = torch.optim.AdamW(model.parameters())
    model(torch.ones(4, 3)).sum().backward()
    optimizer.step()
    state = {"model": dict(model.state_dict()), "optim": optimizer.state_dict(), **VALUES,
             "args": {3: None, "list": [torch.ones(2), 3], "dot.ted": {"x.y": torch.ones(1), "z": (1, 2)}}}
    torch.save(state, folder / "nested.pt")
    reference, out = folder / "torch-nested", folder / "dcp-nested"
    dcp.save(state, checkpoint_id=reference, no_dist=True)
    if convert(suite, folder / "nested.pt", out, "--to", "dcp", "--ranks", "2"):
        suite.equal(chunks_of(out)[1].planner_data, chunks_of(reference)[1].planner_data, "planner_data of a tree")
        check_whole(suite, out, dict(flatten(state)), VALUES)
    part = folder / "dcp-part"
    if convert(suite, folder / "nested.pt", part, "--to", "dcp", "-g", "model.*"):
        check_whole(suite, part, {f"model.{name}": value for name, value in model.state_dict().items()}, {})


def numbers_of(folder, sent):
    """The file of the model that each tensor belongs to, if each counts by itself."""
    from huggingface_hub import split_torch_state_dict_into_shards
    copies = {name: value.clone().contiguous() for name, value in sent.items()}
    split = split_torch_state_dict_into_shards(copies, max_shard_size="1KB")
    return {name: int(file.split("-")[1]) if split.is_sharded else 1 for name, file in split.tensor_to_filename.items()}


def run(folder):
    suite = Suite("what heft writes, torch.distributed.checkpoint loads")
    warnings.filterwarnings("ignore")
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    if not dist.is_available() or not dist.is_gloo_available():
        suite.skip("torch was built without gloo")
        return suite
    sent = tensors([])
    torch.save(sent, folder / "sent.pt")
    numbers = numbers_of(folder, sent)
    for world in sorted({ranks for ranks, _ in CUTS}):
        cuts = [dim for ranks, dim in CUTS if ranks == world]
        mp.spawn(save_rank, args=(world, str(folder), cuts, numbers), nprocs=world)
    made = check_dcp(suite, folder, sent)
    made += check_reshard(suite, folder, sent)
    made += check_hf_all(suite, folder)
    check_loads(suite, folder, made)
    check_dtypes(suite, folder)
    check_nested(suite, folder)
    sys.stdout.flush()
    return suite
