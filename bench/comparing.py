"""Part of the bench: heft diff against cmp."""

import shutil

import inputs
from copying import GB, QUIET, convert_size
from measure import HEFT, STORE, Peer, alternate, bytes_of, command, median


def pair(size):
    """A torch file, its conversion to safetensors, and a copy of that."""
    with Peer() as peer:
        torch = inputs.real(peer, size)
    safe, copy = STORE / f"real-{size // 10**6}MB.safetensors", STORE / f"copy-{size // 10**6}MB.safetensors"
    inputs.made(safe, lambda part: command(HEFT, "convert", torch, "-o", part, "--to", "safetensors", *QUIET), size)
    inputs.made(copy, lambda part: shutil.copyfile(safe, part), size)
    for path in (torch, safe, copy):
        inputs.warm(path)
    return torch, safe, copy


def part_diff(table, quick):
    """diff: equal files of 1 GB, of one format and of two, against cmp; a million tensors"""
    torch, safe, copy = pair(min(convert_size(quick), GB))
    size = safe.stat().st_size / GB
    for other, what in ((copy, "two `.safetensors`"), (torch, "`.safetensors` and `.pth`")):
        mine, peer = alternate(7 if quick else 15, lambda: command(HEFT, "diff", safe, other, *QUIET),
                               lambda: command("cmp", safe, copy)[0])
        work = f"diff of {what} of {size:.1f} GB, equal"
        table.within(work, "cmp", median([run[0] for run in mine]), median(peer), 1.5)
        table.below(f"{work}: peak RSS", max(run[1] for run in mine), 64 * 2**20, bytes_of)
    small, large = inputs.many(100_000), inputs.many(1_000_000)
    tenth, full = alternate(5 if quick else 9, lambda: command(HEFT, "diff", small, small, *QUIET)[0],
                            lambda: command(HEFT, "diff", large, large, *QUIET)[0])
    table.within("diff of 1 000 000 tensors with themselves", "heft on 100 000", median(full), median(tenth), 11)
