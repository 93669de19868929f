"""Shards of torch's HuggingFaceStorageWriter: heft reads them as the whole tensors, and as torch consolidates them.

torch 2.13 has two faults there, which are expected: tensors without dimensions become zero, and integers make
it raise.
"""

import logging
import os
import warnings

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
import torch.multiprocessing as mp
from safetensors.torch import load_file, save_file
from torch.distributed.checkpoint._consolidate_hf_safetensors import consolidate_safetensors_files
from torch.distributed.checkpoint.hf_storage import HuggingFaceStorageWriter
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor

import generate
from common import HEFT_NAME, Suite, heft, listing, raw, read_safetensors
from suite_dcp import leave, random_shape

RANKS = {2: 3, 3: 1, 4: 2}
FLOATS = [torch.float32, torch.float64, torch.float16, torch.bfloat16]
INTEGERS = [torch.int64, torch.uint8, torch.int32]


def state_of(rng, world, dtypes):
    meshes = [init_device_mesh("cpu", (world,))] + ([init_device_mesh("cpu", (2, 2))] if world == 4 else [])
    state = {"scalar": torch.tensor(2.5), "none": torch.zeros(0, 3)}
    for index in range(10):
        value = generate.random_tensor(rng, rng.choice(dtypes), random_shape(rng))
        mesh = rng.choice(meshes)
        placements = [Shard(rng.randrange(value.dim())) if rng.random() < 0.75 else Replicate() for _ in range(mesh.ndim)]
        state[f"layer.{index}"] = value if rng.random() < 0.2 else distribute_tensor(value, mesh, placements)
    return state


def options_of(rng, state):
    if rng.random() < 0.5:
        return {}
    return {"fqn_to_index_mapping": {name: 1 + index % 3 for index, name in enumerate(state)}}


def write_rank(rank, world, folder, rounds):
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    dist.init_process_group("gloo", init_method=f"file://{folder}/meeting{world}", rank=rank, world_size=world)
    for seed in range(rounds):
        rng = generate.source(f"hf {world} {seed}")
        state = state_of(rng, world, FLOATS + (INTEGERS if seed % 2 else []))
        path = f"{folder}/ranks{world}-{seed}"
        dcp.save(state, storage_writer=HuggingFaceStorageWriter(path, save_distributed=True, **options_of(rng, state)))
        whole = {name: (value.full_tensor() if isinstance(value, DTensor) else value).clone().contiguous()
                 for name, value in state.items()}
        if rank == 0:
            save_file(whole, f"{path}.safetensors")
    leave(f"{folder}/done{world}-{rank}")


def check_folder(suite, folder):
    label, whole = folder.name, load_file(f"{folder}.safetensors")
    found, ran = listing(folder)
    if not suite.check(found is not None, f"{label}: ls", ran.line):
        return
    suite.equal(sorted(found), sorted(whole), f"{label}: names")
    for name, tensor in whole.items():
        row = found.get(name, {})
        suite.equal((row.get("dtype"), row.get("shape")), (HEFT_NAME[tensor.dtype], list(tensor.shape)), f"{label}: row {name}")
        ran = heft("get", "-o", "-", "--", folder, name)
        suite.check(ran.status == 0 and ran.out == raw(tensor), f"{label}: bytes of {name}", ran.line)
    out = folder.with_suffix(".out.safetensors")
    ran = heft("convert", folder, "-o", out, "-f", "--no-sync", "-q")
    if suite.check(ran.status == 0, f"{label}: convert", ran.line):
        _, got = read_safetensors(out)
        suite.check(all(got[name][2] == raw(tensor) for name, tensor in whole.items()), f"{label}: converted")
    check_consolidated(suite, folder, whole)


def check_consolidated(suite, folder, whole):
    """torch's own consolidation, but for its two faults."""
    out = folder.with_name(folder.name + "-consolidated")
    out.mkdir()
    try:
        consolidate_safetensors_files(str(folder), str(out), dict.fromkeys(whole, 1))
    except TypeError as error:
        suite.check("torch.finfo" in str(error) and any(not t.dtype.is_floating_point for t in whole.values()),
                    f"{folder.name}: torch raises for integers", str(error))
        return
    ran = heft("diff", "--json", folder, out)
    differ = [row["name"] for row in ran.json["differ"]]
    suite.equal((differ, ran.json["only_a"], ran.json["only_b"]), (["scalar"], [], []),
                f"{folder.name}: torch's consolidation differs in the tensor without dimensions only")


def run(folder):
    suite = Suite("shards of HuggingFaceStorageWriter")
    warnings.filterwarnings("ignore")
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    for world, rounds in RANKS.items():
        mp.spawn(write_rank, args=(world, str(folder), rounds), nprocs=world)
    for path in sorted(folder.iterdir()):
        if path.is_dir():
            check_folder(suite, path)
    suite.check(suite.passed > 60, "there were shards to read", f"{suite.passed}")
    return suite
