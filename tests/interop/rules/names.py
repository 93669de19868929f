"""unwrap: names of real wrappers of torch become those of the model, in any order of wrapping."""

import os

import torch
from torch import nn
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import checkpoint_wrapper

from .tools import check, convert, load, randomize, refused, rows, same


def net():
    return nn.Sequential(nn.Linear(3, 4), nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4)), nn.Linear(4, 2))


def raw(module):
    """Parameters and buffers by their raw names: state_dict hooks of some wrappers take theirs off."""
    return {**dict(module.named_parameters()), **dict(module.named_buffers())}


def wrapped():
    from torch.nn.parallel import DistributedDataParallel
    compiled = lambda m: torch.compile(m)
    yield "DataParallel", lambda m: nn.DataParallel(m)
    yield "compile", compiled
    yield "compile of DataParallel", lambda m: compiled(nn.DataParallel(m))
    yield "DataParallel of compile", lambda m: nn.DataParallel(compiled(m))
    yield "DataParallel twice", lambda m: nn.DataParallel(nn.DataParallel(m))
    yield "checkpointing within", lambda m: nn.Sequential(m[0], checkpoint_wrapper(m[1]), m[2])
    yield "compile of a part", lambda m: nn.Sequential(m[0], compiled(m[1]), m[2])
    yield "AveragedModel's module", lambda m: nn.DataParallel(compiled(checkpoint_wrapper(m)))
    if torch.distributed.is_available():
        yield "DistributedDataParallel", lambda m: DistributedDataParallel(m)
        yield "compile of DistributedDataParallel", lambda m: compiled(DistributedDataParallel(m))


def wrappers(folder, scratch):
    if torch.distributed.is_available():
        store = f"file://{os.path.abspath(scratch / 'store')}"
        torch.distributed.init_process_group("gloo", init_method=store, rank=0, world_size=1)
    for what, wrap in wrapped():
        model = randomize(net(), 17)
        expected = dict(model.state_dict())
        names = raw(wrap(model))
        check(set(names) != set(expected), f"unwrap, {what}: names differ", sorted(names)[:2])
        torch.save({k: v.detach().clone() for k, v in names.items()}, scratch / "in.pt")
        if convert(f"unwrap, {what}", scratch / "in.pt", scratch / "out.pt", "--rules", "unwrap"):
            same(rows(scratch / "out.pt"), expected, f"unwrap, {what}: names and bytes")
            load(net(), rows(scratch / "out.pt"), f"unwrap, {what}")
    if torch.distributed.is_available():
        torch.distributed.destroy_process_group()


def nothing(folder, scratch):
    """Names without wrappers stay; there is no way back."""
    model = randomize(net(), 18)
    torch.save(model.state_dict(), scratch / "in.pt")
    if convert("unwrap, nothing to do", scratch / "in.pt", scratch / "out.pt", "--rules", "unwrap"):
        same(rows(scratch / "out.pt"), model.state_dict(), "unwrap, nothing to do: names and bytes")
    refused("unwrap: --reverse", "", scratch / "in.pt", scratch / "no.pt", "unwrap", "--reverse")


CASES = [wrappers, nothing]
