"""Writes shares3 beside it and in ../safetensors-dcp: python3 make_shares.py

Made with torch 2.13.0+cpu, Python 3.11: three ranks save tensors that are all Shard(0), with both storages. heft must
write the same files (tests/cli/dcp_write.case). The scalars are last, because .metadata lists what rank 0 has first.
The order of the texts in the headers of safetensors, which is random, is made that of their keys.
"""
import json
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
from torch.distributed.checkpoint import HuggingFaceStorageWriter
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Shard, distribute_tensor

HERE = Path(__file__).resolve().parent
DCP, HF = HERE / "shares3", HERE.parent / "safetensors-dcp" / "shares3"


def state(mesh):
    def cut(*shape, dtype=torch.float32):
        n = 1
        for extent in shape:
            n *= extent
        return distribute_tensor(torch.arange(n).reshape(shape).to(dtype), mesh, [Shard(0)])
    return {"even": cut(6, 2), "uneven": cut(7, 3, dtype=torch.bfloat16), "one": cut(5), "é\"": cut(3, 1, 2, dtype=torch.uint8),
            "scalar": torch.tensor(2.5), "count": torch.tensor(7)}


def save(rank, world, folder):
    warnings.filterwarnings("ignore")
    dist.init_process_group("gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=world)
    mesh = init_device_mesh("cpu", (world,))
    dcp.save(state(mesh), checkpoint_id=str(DCP))
    dcp.save(state(mesh), storage_writer=HuggingFaceStorageWriter(path=str(HF), save_distributed=True))
    dist.barrier()
    sys.stdout.flush()
    os._exit(0)


def sort_texts(path):
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8:8 + length])
    header["__metadata__"] = dict(sorted(header["__metadata__"].items()))
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    path.write_bytes(data[:8] + text.ljust(length) + data[8 + length:])


if __name__ == "__main__":
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    for place in (DCP, HF):
        shutil.rmtree(place, ignore_errors=True)
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(save, args=(3, folder), nprocs=3)
    for path in HF.iterdir():
        sort_texts(path)
