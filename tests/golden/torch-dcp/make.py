"""Writes the directories beside it with torch.distributed.checkpoint: python3 make.py

Made with torch 2.13.0+cpu, Python 3.11. A checkpoint of several ranks is written by as many processes,
connected through a file and gloo.

    single    one process without a group: a module, its optimizer, objects, odd shapes
    rows      two ranks: rows in equal and unequal shares, a tensor that all have, one that one rank has
    mesh      four ranks, two by two: blocks, columns, a transposed block, a rank without a share
    objects   tensors within objects, which DCP pickles whole
    light.ckpt  the same layout as Lightning's directories: meta.pt has the rest of the state
"""
import functools
import os
import shutil
import sys
import tempfile
import warnings
from pathlib import Path

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
import torch.multiprocessing as mp
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor

HERE = Path(__file__).resolve().parent


def counted(*shape, dtype=torch.float32):
    """0, 1, 2 … in that shape, so that a wrong position is detected."""
    n = 1
    for extent in shape:
        n *= extent
    return torch.arange(n).reshape(shape).to(dtype)


def single():
    torch.manual_seed(1)
    model = torch.nn.Linear(2, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5, momentum=0.25)
    model(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    return {
        "model": model.state_dict(),
        "optim": optimizer.state_dict(),
        "half": counted(2, 3, dtype=torch.float16).t(),
        "empty": torch.zeros(0, 3),
        "scalar": torch.tensor(3.5, dtype=torch.float64),
        "step": 7,
    }


def objects():
    return {
        "pair": (counted(3), {"inner": counted(2, 2, dtype=torch.int64), "note": "text"}),
        "betas": (0.9, 0.999),
        "nothing": None,
    }


def rows(rank, world):
    mesh = init_device_mesh("cpu", (world,))
    return {
        "even": distribute_tensor(counted(4, 3), mesh, [Shard(0)]),
        "uneven": distribute_tensor(counted(5, 2, dtype=torch.bfloat16), mesh, [Shard(0)]),
        "shared": counted(3, dtype=torch.int32),
        "one": distribute_tensor(counted(1, 4), mesh, [Shard(0)]),
        "replicated": distribute_tensor(counted(2, 2), mesh, [Replicate()]),
        "epoch": 3,
    }


def mesh(rank, world):
    grid = init_device_mesh("cpu", (2, world // 2))
    transposed = distribute_tensor(counted(4, 6), grid, [Shard(0), Shard(1)])
    return {
        "blocks": distribute_tensor(counted(5, 3), grid, [Shard(0), Shard(1)]),
        "columns": distribute_tensor(counted(2, 5, dtype=torch.float64), grid,
                                     [Replicate(), Shard(1)]),
        "transposed": DTensor.from_local(transposed.to_local().t(), grid, [Shard(1), Shard(0)],
                                         shape=(6, 4), stride=(1, 6)),
        "scarce": distribute_tensor(counted(3, 2, 2), grid, [Shard(0), Shard(0)]),
        "complex": distribute_tensor(counted(4, dtype=torch.complex64) * (1 + 2j), grid,
                                     [Shard(0), Replicate()]),
    }


def write_rank(rank, world, path, meeting, state):
    warnings.filterwarnings("ignore")
    dist.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=world)
    dcp.save(state(rank, world), checkpoint_id=str(path))
    dist.destroy_process_group()


def write_ranks(state, world, path):
    with tempfile.TemporaryDirectory() as scratch:
        mp.spawn(write_rank, args=(world, path, os.path.join(scratch, "meeting"), state),
                 nprocs=world)


def write_alone(state, path):
    dcp.save(state(), checkpoint_id=str(path), no_dist=True)


def light(path):
    """lightning.fabric's FSDP strategy writes DCP and, into meta.pt, what is not sharded."""
    write_alone(lambda: {"state_dict": {"w": counted(2, 3)}}, path)
    torch.save({"epoch": 1, "global_step": 20, "pytorch-lightning_version": "2.6.0", "loops": {"fit_loop": {}}}, path / "meta.pt")


def main():
    warnings.filterwarnings("ignore")
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    writers = {
        "single": functools.partial(write_alone, single),
        "objects": functools.partial(write_alone, objects),
        "rows": functools.partial(write_ranks, rows, 2),
        "mesh": functools.partial(write_ranks, mesh, 4),
        "light.ckpt": light,
    }
    for name in sys.argv[1:] or writers:
        os.chdir(HERE)  # storage_meta contains the path: a relative one is the same on every machine
        shutil.rmtree(name, ignore_errors=True)
        writers[name](Path(name))


if __name__ == "__main__":
    main()
