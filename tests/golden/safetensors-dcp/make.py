"""Writes the directories beside it with torch's HuggingFaceStorageWriter: python3 make.py

Made with torch 2.13.0+cpu and safetensors 0.8.0, Python 3.11: a process for each rank, connected through a file
and gloo. expected/NAME.safetensors has the whole tensors; tests/cli/safetensors_dcp.case compares.

    ranks2        uneven rows, columns, an empty share, a replicated tensor, a scalar; two files a rank
    strided4      FSDP over tensor parallelism: shares of the first dimension interleave
    consolidated2 the same tensors as ranks2 after consolidation, and sharded/
"""
import shutil
import tempfile
import warnings
from pathlib import Path

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
import torch.multiprocessing as mp
from safetensors.torch import save_file
from torch.distributed.checkpoint.hf_storage import HuggingFaceStorageWriter
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

HERE = Path(__file__).resolve().parent


def counted(*shape, dtype=torch.float32):
    """1, 2, 3 … in that shape, so that a wrong position is detected."""
    return (torch.arange(torch.Size(shape).numel()) + 1).reshape(shape).to(dtype)


def mixed(world):
    mesh = init_device_mesh("cpu", (world,))
    return {"rows": distribute_tensor(counted(5, 3), mesh, [Shard(0)]),
            "columns": distribute_tensor(counted(2, 3, dtype=torch.bfloat16), mesh, [Shard(1)]),
            "middle": distribute_tensor(counted(2, 3, 2), mesh, [Shard(1)]),
            "one": distribute_tensor(counted(1, 4), mesh, [Shard(0)]),
            "same": distribute_tensor(counted(2, dtype=torch.float16), mesh, [Replicate()]),
            "scalar": torch.tensor(2.5)}


def strided(world):
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(2, 6), torch.nn.Linear(6, 3))
    mesh = init_device_mesh("cpu", (2, world // 2), mesh_dim_names=("data", "tensor"))
    parallelize_module(net, mesh["tensor"], {"0": ColwiseParallel(), "1": RowwiseParallel()})
    fully_shard(net, mesh=mesh["data"])
    return net.state_dict()


def save(rank, world, meeting, name, make, options):
    warnings.filterwarnings("ignore")
    dist.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=world)
    state = make(world)
    dcp.save(state, storage_writer=HuggingFaceStorageWriter(str(HERE / name), save_distributed=True, **options))
    whole = {key: (value.full_tensor() if isinstance(value, DTensor) else value).clone().contiguous()
             for key, value in state.items()}
    if rank == 0:
        save_file(whole, HERE / "expected" / f"{name}.safetensors")
    dist.barrier()
    dist.destroy_process_group()


CASES = {
    "ranks2": (2, mixed, {"fqn_to_index_mapping": {"rows": 1, "columns": 2, "middle": 1, "one": 2, "same": 1, "scalar": 2}}),
    "strided4": (4, strided, {}),
    "consolidated2": (2, mixed, {"enable_consolidation": True}),
}


if __name__ == "__main__":
    (HERE / "expected").mkdir(exist_ok=True)
    for name, (world, make, options) in CASES.items():
        shutil.rmtree(HERE / name, ignore_errors=True)
        with tempfile.TemporaryDirectory() as scratch:
            mp.spawn(save, (world, f"{scratch}/meeting", name, make, options), nprocs=world)
