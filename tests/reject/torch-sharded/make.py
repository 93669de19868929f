"""Writes the directories beside it, pickles of two ranks that do not fit: python3 make.py (torch 2.13, see expect.tsv).

The objects are pickled as ShardedTensor and DTensor pickle themselves, without a process group.
"""
import io
import shutil
import zipfile
from pathlib import Path

import torch
from torch.distributed._shard.sharded_tensor import ShardedTensor
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard
from torch.distributed.tensor.placement_types import _StridedShard

HERE = Path(__file__).resolve().parent


class Wrapper:
    def __init__(self, kind, shape, state):
        self.kind, self.shape, self.state = kind, shape, state

    def __reduce__(self):
        return torch._tensor._rebuild_from_type_v2, (
            torch._utils._rebuild_wrapper_subclass, self.kind,
            (self.kind, torch.float32, torch.Size(self.shape), (1,) * len(self.shape), 0, torch.strided, "cpu", False), self.state)


class Namespace:
    """An object with attributes."""


def thing(**attributes):
    out = Namespace()
    out.__dict__.update(attributes)
    return out


def box(start, sizes, rank):
    return thing(shard_offsets=list(start), shard_sizes=list(sizes), placement=thing(_rank=rank))


def sharded(rank, shape, boxes, local=None, size=None, metadata=None):
    """boxes: (start, sizes) by rank; local: the tensor of this rank."""
    all_boxes = [box(*one, k) for k, one in enumerate(boxes)]
    tensor = torch.zeros(boxes[rank][1]) if local is None else local
    shard = thing(tensor=tensor, metadata=all_boxes[rank] if metadata is None else metadata)
    return Wrapper(ShardedTensor, shape, ([shard], thing(shards_metadata=all_boxes, size=torch.Size(shape) if size is None else size),
                                          None, None, False))


def dtensor(rank, shape, placements, local, mesh=(2,), at=None):
    spec = {"mesh": {"_layout": {"shape": mesh}, "_coordinate_on_dim": [rank] if at is None else at, "_rank": rank},
            "placements": placements, "tensor_meta": {"args": (torch.Size(shape),)}}
    return Wrapper(DTensor, shape, {"_local_tensor": local, "_spec": spec})


def saved(value):
    whole, out = io.BytesIO(), io.BytesIO()
    torch.save(value, whole)
    with zipfile.ZipFile(whole) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            if name.split("/", 1)[1] in ("data.pkl", "version") or "/data/" in name:
                new.writestr(zipfile.ZipInfo("a/" + name.split("/", 1)[1]), old.read(name))
    return out.getvalue()


HALVES = [((0, 0), (2, 2)), ((2, 0), (1, 2))]
Z = torch.zeros


def both(make):
    return [make(0), make(1)]


CASES = [  # name, code, text, values of the ranks
    ("sound", "ok", "", both(lambda r: {"w": sharded(r, (3, 2), HALVES)})),
    ("sound-dtensor", "ok", "", both(lambda r: {"w": dtensor(r, (3, 2), (Shard(0),), Z(2 - r, 2))})),
    ("sound-replicas", "note", "1 tensor that several ranks have: the first file's is taken",
     both(lambda r: {"w": dtensor(r, (3, 2), (Replicate(),), Z(3, 2)), "p": Z(2), "v": dtensor(r, (2, 2), (Shard(1),), Z(2, 1))})),
    ("rank-missing", "malformed", "tensor w: its part [3,0]+[1,2] is in none of the files: that of rank 2 is missing",
     both(lambda r: {"w": sharded(r, (4, 2), [*HALVES, ((3, 0), (1, 2))])})),
    ("rank-missing-dtensor", "malformed", "tensor w: its part [2]+[1] is in none of the files: that of rank 2 is missing",
     both(lambda r: {"w": dtensor(r, (3,), (Shard(0),), Z(1), mesh=(3,))})),
    ("overlap", "malformed", "tensor w: element [1,0] is in 2 of its parts, in overlap/model_rank0.bin and in overlap/model_rank1.bin",
     both(lambda r: {"w": sharded(r, (3, 2), [((0, 0), (2, 2)), ((1, 0), (2, 2))])})),
    ("gap", "malformed", "tensor w: element [1,0] is in none of its 2 parts",
     both(lambda r: {"w": sharded(r, (3, 2), [((0, 0), (1, 2)), ((2, 0), (1, 2))])})),
    ("sizes-differ", "malformed", "tensor w: its parts differ in dtype or in the shape of the tensor",
     both(lambda r: {"w": sharded(r, (3 + r, 2), HALVES)})),
    ("dtypes-differ", "malformed", "tensor w: its parts differ in dtype or in the shape of the tensor",
     both(lambda r: {"w": sharded(r, (3, 2), HALVES, Z(HALVES[r][1], dtype=(torch.float32, torch.float16)[r]))})),
    ("tensor-of-other-shape", "malformed", "tensor w: its parts differ in dtype or in the shape of the tensor",
     both(lambda r: {"w": sharded(r, (3, 2), HALVES, Z(2, 1))})),
    ("box-outside", "malformed", "tensor w: a shard of a ShardedTensor has no tensor, or no offsets and sizes inside the tensor",
     both(lambda r: {"w": sharded(r, (3, 2), HALVES, metadata=box((2, 1), (1, 2), r))})),
    ("box-negative", "malformed", "tensor w: a shard of a ShardedTensor has no tensor, or no offsets and sizes inside the tensor",
     both(lambda r: {"w": sharded(r, (3, 2), HALVES, metadata=box((-1, 0), (1, 2), r))})),
    ("box-overflows", "malformed", "tensor w: a shard of a ShardedTensor has no tensor, or no offsets and sizes inside the tensor",
     both(lambda r: {"w": sharded(r, (3, 2), HALVES, metadata=box((2**63 - 1, 0), (2**63 - 1, 2), r))})),
    ("box-of-other-rank", "malformed", "tensor w: a shard of a ShardedTensor has no tensor, or no offsets and sizes inside the tensor",
     both(lambda r: {"w": sharded(r, (3, 2), HALVES, metadata=box((0,), (1,), r))})),
    ("size-text", "malformed", "tensor w: a ShardedTensor without a size", both(lambda r: {"w": sharded(r, (3, 2), HALVES, size="3")})),
    ("flat-parameter", "unsupported", "tensor a._flat_param: a flat parameter of FSDP's LOCAL_STATE_DICT",
     both(lambda r: {"a._flat_param": sharded(r, (3, 2), HALVES)})),
    ("partial", "unsupported", "tensor w: a DTensor with a placement other than Shard and Replicate",
     both(lambda r: {"w": dtensor(r, (3, 2), (Partial(),), Z(3, 2))})),
    ("strided", "unsupported", "tensor w: a DTensor with a placement other than Shard and Replicate",
     both(lambda r: {"w": dtensor(r, (4, 2), (_StridedShard(0, split_factor=2),), Z(2, 2))})),
    ("local-of-other-shape", "malformed", "tensor w: a DTensor whose local tensor has another shape than its placements give",
     both(lambda r: {"w": dtensor(r, (3, 2), (Shard(0),), Z(2, 2))})),
    ("dimension-outside", "malformed", "tensor w: a DTensor is sharded along no dimension of it",
     both(lambda r: {"w": dtensor(r, (3, 2), (Shard(2),), Z(2, 2))})),
    ("placements-too-many", "malformed", "tensor w: a DTensor with other numbers of placements and of dimensions of its mesh",
     both(lambda r: {"w": dtensor(r, (3, 2), (Shard(0), Shard(1)), Z(2, 2))})),
    ("placements-too-few", "malformed", "tensor w: a DTensor with other numbers of placements and of dimensions of its mesh",
     both(lambda r: {"w": dtensor(r, (3, 2), (), Z(2, 2))})),
    ("coordinate-outside", "unsupported", "tensor w: a DTensor whose mesh has no sizes and coordinates",
     both(lambda r: {"w": dtensor(r, (3, 2), (Shard(0),), Z(2, 2), at=[2])})),
    ("mesh-huge", "limit", "the meshes of the DTensors have more parts than 4 × limits.tensors",
     both(lambda r: {"w": dtensor(r, (2, 2), (Shard(0), Shard(1)), Z(1, 1), mesh=(2**32, 2**32), at=[0, r])})),
]


if __name__ == "__main__":
    Namespace.__module__ = "types"  # so that the pickles do not depend on the name of this program
    Namespace.__qualname__ = Namespace.__name__ = "SimpleNamespace"
    import types
    real, types.SimpleNamespace = types.SimpleNamespace, Namespace
    lines = ["# file, code, offset, text: see tests/suites/reject.py; written by make.py, torch 2.13"]
    for name, code, text, values in CASES:
        shutil.rmtree(HERE / name, ignore_errors=True)
        (HERE / name).mkdir()
        for rank, value in enumerate(values):
            (HERE / name / f"model_rank{rank}.bin").write_bytes(saved(value))
        lines.append("\t".join((name, code, "*", text)))
    types.SimpleNamespace = real
    (HERE / "expect.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
