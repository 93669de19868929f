"""Writes megatron/ beside it with megatron-core's dist_checkpointing: python3 make_megatron.py

Made with megatron-core 0.16.1 and torch 2.13.0+cpu, Python 3.11. Two ranks; the layers of a model are one tensor with a
new first dimension, objects have a name for each shard, common.pt has what is not sharded. Two calls of
megatron-core into CUDA are replaced.
"""
import shutil
import tempfile
import types
from pathlib import Path

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

HERE = Path(__file__).resolve().parent


def save(rank, world, meeting, out):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=world)
    torch.cuda.synchronize, torch.cuda.current_device = lambda *a, **k: None, lambda: "cpu"
    from megatron.core import dist_checkpointing
    from megatron.core.dist_checkpointing import ShardedObject, ShardedTensor
    qkv, embedding = "decoder.layers.self_attention.linear_qkv", torch.arange(32.).view(8, 4).bfloat16()
    weight, state = torch.arange(24.).view(6, 4), {}
    for layer in range(2):
        part = (weight + 100 * layer)[rank * 3:rank * 3 + 3].clone()
        state[f"w{layer}"] = ShardedTensor.from_rank_offsets(qkv + ".weight", part, (0, layer, 2), (1, rank, world), prepend_axis_num=1)
        state[f"x{layer}"] = ShardedObject(qkv + "._extra_state", {"amax": layer}, (2,), (layer,), replica_id=rank)
    state["embedding"] = ShardedTensor.from_rank_offsets("embedding.word_embeddings.weight", embedding[rank * 4:rank * 4 + 4].clone(),
                                                         (0, rank, world), allow_shape_mismatch=True)
    state["norm"] = ShardedTensor.from_rank_offsets("decoder.final_layernorm.weight", torch.arange(4.), replica_id=rank)
    dist_checkpointing.save({"model": state, "iteration": 7, "checkpoint_version": 3.0,
                             "args": types.SimpleNamespace(tensor_model_parallel_size=world)}, out)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    shutil.rmtree(HERE / "megatron", ignore_errors=True)
    (HERE / "megatron").mkdir()
    with tempfile.TemporaryDirectory() as scratch:
        mp.spawn(save, (2, f"{scratch}/meeting", str(HERE / "megatron")), nprocs=2)
