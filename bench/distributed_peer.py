"""Process for the bench of distributed checkpoints: writes them as two ranks do (tests/interop/answer.py)."""

import multiprocessing
import os
import pathlib
import sys

TESTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests")
sys.path[:0] = [os.path.join(TESTS, "interop")]
from answer import serve  # noqa: E402

RANKS, SIDE = 2, 2048


def rank_of(rank, kind, folder, tensors):
    """Half of the tensors are cut by rows, half by columns."""
    import torch
    import torch.distributed as dist
    import torch.distributed.checkpoint as dcp
    from torch.distributed.checkpoint.hf_storage import HuggingFaceStorageWriter
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import DTensor, Shard
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}.meeting", rank=rank, world_size=RANKS)
    mesh, g = init_device_mesh("cpu", (RANKS,)), torch.Generator().manual_seed(rank)
    state = {}
    for index in range(tensors):
        dim = 0 if kind == "rows" else index % 2
        shape = [SIDE, SIDE]
        shape[dim] //= RANKS
        state[f"w{index}"] = DTensor.from_local(torch.rand(shape, generator=g), mesh, [Shard(dim)])
    if kind == "hf":
        dcp.save(state, storage_writer=HuggingFaceStorageWriter(folder, save_distributed=True))
    else:
        dcp.save(state, checkpoint_id=folder)
    dist.barrier()
    os._exit(0)


def make(kind, folder, tensors):
    path = pathlib.Path(folder)
    path.parent.mkdir(parents=True, exist_ok=True)
    if kind == "zero":
        return make_zero(path, tensors)
    ranks = [multiprocessing.get_context("spawn").Process(target=rank_of, args=(rank, kind, folder, tensors)) for rank in range(RANKS)]
    for rank in ranks:
        rank.start()
    for rank in ranks:
        rank.join()
    return {}


def make_zero(folder, tensors):
    """Stage 2 as DeepSpeed writes it, with the keys that are read; the vector is cut within a row."""
    import torch
    folder.mkdir()
    g, each = torch.Generator().manual_seed(1), SIDE * SIDE
    torch.save({"module": {}, "buffer_names": [], "param_shapes": [{f"w{i}": torch.Size([SIDE, SIDE]) for i in range(tensors)}],
                "frozen_param_shapes": None, "shared_params": {}, "ds_version": "0.19.8"}, folder / "mp_rank_00_model_states.pt")
    cut = each * tensors // RANKS // 2 * 2 - 2
    for rank, n in enumerate((cut, each * tensors - cut)):
        torch.save({"optimizer_state_dict": {"zero_stage": 2, "partition_count": [RANKS],
                                             "single_partition_of_fp32_groups": [torch.rand(n, generator=g)]}},
                   folder / f"zero_pp_rank_{rank}_mp_rank_00_optim_states.pt")
    return {}


if __name__ == "__main__":
    serve({"make": make})
