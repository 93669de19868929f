"""Checkpoints of torch.distributed.checkpoint: heft reads them as torch's own dcp_to_torch_save does."""

import os
import sys
import warnings

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
import torch.multiprocessing as mp
from torch.distributed.checkpoint.format_utils import dcp_to_torch_save
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor

import generate
from common import HEFT_NAME, Suite, flatten, heft, listing, raw, read_safetensors

ALONE, RANKS = 12, {2: 4, 4: 4}
# Dtypes that gloo can send between ranks.
SENT = [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int32, torch.int64,
        torch.uint8, torch.int8, torch.complex64]


def random_shape(rng):
    return tuple(rng.randint(1, 9) for _ in range(rng.choice([1, 2, 2, 3, 4])))


def placements_of(rng, dims, rank):
    return [Shard(rng.randrange(rank)) if rng.random() < 0.75 else Replicate()
            for _ in range(dims)]


def sharded_dict(rng, world):
    """The same on every rank, as each rank draws the same random numbers."""
    meshes = [init_device_mesh("cpu", (world,))]
    if world == 4:
        meshes.append(init_device_mesh("cpu", (2, 2)))
    state = {}
    for index in range(12):
        mesh = rng.choice(meshes)
        value = generate.random_tensor(rng, rng.choice(SENT), random_shape(rng))
        kind = rng.random()
        if kind < 0.15:
            state[f"plain.{index}"] = value
            continue
        placed = distribute_tensor(value, mesh, placements_of(rng, mesh.ndim, value.dim()))
        if kind < 0.3 and value.dim() == 2 and placed.placements[0] == Shard(0) and mesh.ndim == 1:
            placed = DTensor.from_local(placed.to_local().t(), mesh, [Shard(1)],
                                        shape=value.t().shape, stride=(1, value.shape[1]))
        state[f"layer.{index}"] = placed
    return {"model": state, "step": rng.randint(0, 10 ** 6)}


def train(rank, world, path):
    """Fully sharded layers and their optimizer, as training scripts save them."""
    from torch.distributed.checkpoint.state_dict import get_state_dict
    from torch.distributed.fsdp import fully_shard
    torch.manual_seed(3)
    mesh = init_device_mesh("cpu", (world,))
    model = torch.nn.Sequential(torch.nn.Linear(7, 5), torch.nn.ReLU(), torch.nn.Linear(5, 3))
    for layer in (model[0], model[2], model):
        fully_shard(layer, mesh=mesh)
    optimizer = torch.optim.AdamW(model.parameters())
    model(torch.ones(2, 7)).sum().backward()
    optimizer.step()
    weights, rest = get_state_dict(model, optimizer)
    dcp.save({"model": weights, "optim": rest}, checkpoint_id=path)


def write_rank(rank, world, folder, rounds):
    warnings.filterwarnings("ignore")
    dist.init_process_group("gloo", init_method=f"file://{folder}/meeting{world}", rank=rank,
                            world_size=world)
    for seed in range(rounds):
        dcp.save(sharded_dict(generate.source(f"dcp {world} {seed}"), world),
                 checkpoint_id=f"{folder}/ranks{world}-{seed}")
    train(rank, world, f"{folder}/train{world}")
    leave(f"{folder}/done{world}-{rank}")


def leave(marker):
    """Ends a rank that has written all of its files, and signals that by a file.

    Without destroy_process_group and without the interpreter's own shutdown: gloo's threads race with
    both, and sometimes a rank aborts there ("terminate called without an active exception")."""
    dist.barrier()
    with open(marker, "x", encoding="ascii"):
        pass
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def write_all(folder):
    every = [dtype for dtype, name in HEFT_NAME.items()]
    for seed in range(ALONE):
        rng = generate.source(f"dcp {seed}")
        state = (generate.nested(rng) if seed % 2 else
                 {str(k): generate.random_tensor(rng, rng.choice(every), random_shape(rng))
                  for k in range(6)})
        dcp.save(state, checkpoint_id=f"{folder}/alone-{seed}", no_dist=True)
    for world, rounds in RANKS.items():
        mp.spawn(write_rank, args=(world, str(folder), rounds), nprocs=world)
        missing = [rank for rank in range(world) if not (folder / f"done{world}-{rank}").exists()]
        if missing:
            raise RuntimeError(f"of {world} ranks, {missing} ended before everything was written")


def check_folder(suite, folder):
    label = folder.name
    whole = folder.with_suffix(".pt")
    dcp_to_torch_save(folder, whole)
    rows = dict(flatten(torch.load(whole, weights_only=False)))
    found, ran = listing(folder)
    if not suite.check(found is not None, f"{label}: ls", ran.line):
        return
    suite.equal(sorted(found), sorted(rows), f"{label}: names")
    for name, tensor in rows.items():
        if name not in found:
            continue
        row = found[name]
        suite.equal((row["dtype"], row["shape"]), (HEFT_NAME[tensor.dtype], list(tensor.shape)),
                    f"{label}: row {name!r}")
        ran = heft("get", "-o", "-", "--", folder, name)
        suite.check(ran.status == 0 and ran.out == raw(tensor), f"{label}: bytes of {name!r}",
                    f"{ran.line} {row}")
    ran = heft("verify", "-q", folder)
    suite.equal(ran.status, 0, f"{label}: verify ({ran.out.decode('utf-8', 'replace')})")
    check_convert(suite, folder, whole, rows)


def check_convert(suite, folder, whole, rows):
    """The same file, from the directory and from torch's conversion of it."""
    out = folder.with_suffix(".safetensors")
    ran = heft("convert", folder, "-o", out, "-f", "--no-sync", "-q")
    if any(tensor.dtype in (torch.complex128, torch.complex32) for tensor in rows.values()):
        suite.equal(ran.status, 2, f"{folder.name}: a dtype that safetensors lacks is refused")
        return
    if not suite.check(ran.status == 0, f"{folder.name}: convert", ran.line):
        return
    _, got = read_safetensors(out)
    suite.equal(sorted(got), sorted(rows), f"{folder.name}: names converted")
    for name, tensor in rows.items():
        suite.check(got.get(name, (0, 0, 0))[2] == raw(tensor), f"{folder.name}: converted {name!r}")


def run(folder):
    suite = Suite("what torch.distributed.checkpoint writes, heft reads")
    warnings.filterwarnings("ignore")
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    if not dist.is_available() or not dist.is_gloo_available():
        suite.skip("torch was built without gloo")
        return suite
    write_all(folder)
    sharded = 0
    for path in sorted(folder.iterdir()):
        if path.is_dir():
            check_folder(suite, path)
            found, _ = listing(path)
            sharded += sum("parts" in row for row in (found or {}).values())
    suite.check(sharded > 20, "some of the tensors have parts", f"{sharded}")
    return suite
