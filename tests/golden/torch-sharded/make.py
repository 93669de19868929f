"""Writes the directories beside it: each rank saves its own state dict with torch.save: python3 make.py

Made with torch 2.13.0+cpu, Python 3.11: a process for each rank, connected through a file and gloo.
expected/NAME.safetensors has the whole tensors; tests/cli/sharded.case compares.

    fsdp     two ranks: ShardedTensor objects of FSDP's SHARDED_STATE_DICT
    dtensor  two ranks: DTensors by rows and columns, with an empty share, replicated, and a plain tensor
    grid     four ranks, two by two: DTensors in blocks, and cut twice along one dimension
"""
import shutil
import tempfile
import warnings
from pathlib import Path

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from safetensors.torch import save_file
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FullyShardedDataParallel, StateDictType
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor

HERE = Path(__file__).resolve().parent


def counted(*shape, dtype=torch.float32):
    """1, 2, 3 … in that shape, so that a wrong position is detected."""
    return (torch.arange(torch.Size(shape).numel()) + 1).reshape(shape).to(dtype)


def fsdp(world):
    torch.manual_seed(2)
    net = FullyShardedDataParallel(torch.nn.Linear(3, 5), device_id=torch.device("cpu"))
    with FullyShardedDataParallel.state_dict_type(net, StateDictType.FULL_STATE_DICT):
        whole = {key: value.clone() for key, value in net.state_dict().items()}
    with FullyShardedDataParallel.state_dict_type(net, StateDictType.SHARDED_STATE_DICT):
        return dict(net.state_dict()), whole


def dtensor(world):
    mesh = init_device_mesh("cpu", (world,))
    state = {"rows": distribute_tensor(counted(5, 3), mesh, [Shard(0)]),
             "columns": distribute_tensor(counted(2, 3, dtype=torch.bfloat16), mesh, [Shard(1)]),
             "one": distribute_tensor(counted(1, 4), mesh, [Shard(0)]),
             "same": distribute_tensor(counted(2), mesh, [Replicate()])}
    return {"model": state, "plain": counted(3), "step": 7}, None


def grid(world):
    mesh = init_device_mesh("cpu", (2, world // 2))
    return {"blocks": distribute_tensor(counted(5, 3), mesh, [Shard(0), Shard(1)]),
            "twice": distribute_tensor(counted(7, 2), mesh, [Shard(0), Shard(0)])}, None


def full(state, prefix=""):
    out = {}
    for key, value in state.items():
        if isinstance(value, dict):
            out.update(full(value, f"{prefix}{key}."))
        elif isinstance(value, torch.Tensor):
            out[prefix + key] = (value.full_tensor() if isinstance(value, DTensor) else value).clone().contiguous()
    return out


def save(rank, world, meeting, name, make):
    warnings.filterwarnings("ignore")
    dist.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=world)
    state, whole = make(world)
    torch.save(state, HERE / name / f"model_rank{rank}.bin")
    whole = whole or full(state)
    if rank == 0:
        save_file(whole, HERE / "expected" / f"{name}.safetensors")
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    (HERE / "expected").mkdir(exist_ok=True)
    for case, ranks, writer in (("fsdp", 2, fsdp), ("dtensor", 2, dtensor), ("grid", 4, grid)):
        shutil.rmtree(HERE / case, ignore_errors=True)
        (HERE / case).mkdir()
        with tempfile.TemporaryDirectory() as scratch:
            mp.spawn(save, (ranks, f"{scratch}/meeting", case, writer), nprocs=ranks)
