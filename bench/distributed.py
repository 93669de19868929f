"""Part of the bench: checkpoints of several ranks merged, against torch's dcp_to_torch_save and cp; and written,
against cp."""

import shutil

from copying import QUIET, fresh, settle
from measure import HEFT, STORE, Peer, alternate, bytes_of, command, interpreter, median

NAMES = {"rows": "DCP, rows", "columns": "DCP, rows and columns", "hf": "HuggingFaceStorageWriter, rows and columns",
         "zero": "ZeRO stage 2"}
TORCH = "torch.distributed.checkpoint.format_utils"
FASTER = 5
COPY, GATHER, MEMORY = 1.15, 4, 64 << 20


def files_of(folder):
    return [path for path in sorted(folder.iterdir()) if path.is_file()]


def copy(folder):
    out = fresh()
    return command("cp", *files_of(folder), out)[0]


def merge(folder, *more):
    return command(HEFT, "convert", folder, "-o", fresh() / "model.safetensors", "--no-sync", *QUIET, *more)


def compare(table, peer, kind, tensors, rounds):
    folder = STORE / "distributed" / kind
    shutil.rmtree(folder, ignore_errors=True)
    peer.ask("make", kind=kind, folder=str(folder), tensors=tensors)
    size = sum(path.stat().st_size for path in files_of(folder))
    work = f"{NAMES[kind]}, 2 ranks, {bytes_of(size)} to safetensors, `--no-sync`"
    alternate(1, lambda: merge(folder), lambda: copy(folder))
    heft, cp = alternate(rounds, lambda: merge(folder), lambda: copy(folder), settle)
    table.within(work, "cp of the files", median([seconds for seconds, _ in heft]), median(cp), COPY)
    table.below(f"{work}: peak RSS", max(peak for _, peak in heft), MEMORY, bytes_of)
    if kind in ("rows", "columns"):
        heft, torch = alternate(3, lambda: merge(folder)[0],
                                lambda: command(interpreter("main"), "-m", TORCH, "dcp_to_torch", folder, fresh() / "model.pt")[0], settle)
        table.faster(work, "torch's dcp_to_torch_save, a command, too", median(heft), median(torch), FASTER)
    shutil.rmtree(folder)


def divide(source, to, dim):
    return command(HEFT, "convert", source, "-o", fresh() / "ranks", "--to", to, "--ranks", "2", "--shard-dim", dim,
                   "--no-sync", *QUIET)


def write(table, peer, tensors, rounds):
    """One file divided for two ranks: rows are copied, columns are gathered."""
    folder = STORE / "distributed" / "rows"
    shutil.rmtree(folder, ignore_errors=True)
    peer.ask("make", kind="rows", folder=str(folder), tensors=tensors)
    source = folder.with_suffix(".safetensors")
    command(HEFT, "convert", folder, "-o", source, "-f", "--no-sync", *QUIET)
    shutil.rmtree(folder)
    size = source.stat().st_size
    for to in ("dcp", "dcp-hf"):
        for dim, what in (("0", "rows"), ("1", "columns")):
            work = f"safetensors, {bytes_of(size)} to {to}, 2 ranks, {what}, `--no-sync`"
            heft, cp = alternate(rounds, lambda to=to, dim=dim: divide(source, to, dim),
                                 lambda: command("cp", source, fresh() / "copy")[0], settle)
            table.within(work, "cp of the file", median([seconds for seconds, _ in heft]), median(cp),
                         COPY if dim == "0" else GATHER)
            table.below(f"{work}: peak RSS", max(peak for _, peak in heft), MEMORY, bytes_of)
    source.unlink()


def part_distributed(table, quick):
    """distributed: checkpoints of two ranks to one file and back, against torch's dcp_to_torch_save and cp"""
    tensors, rounds = 8 if quick else 32, 3 if quick else 9
    with Peer("main", "distributed_peer.py") as peer:
        for kind in NAMES:
            compare(table, peer, kind, tensors, rounds)
        write(table, peer, tensors, rounds)
