"""Part of the bench: statistics of tensors."""

import inputs
from copying import GB, QUIET, convert_size
from measure import HEFT, Peer, alternate, bytes_of, command, median, text_of

# GB per second and core that are required
WANTED = {"F32": 4, "BF16": 2}


def part_stats(table, quick):
    """stats: 1 GB of F32 and of BF16, in the page cache, on one core, against torch in float64"""
    size = min(convert_size(quick), GB) // (2 if quick else 1)
    with Peer() as peer:
        for dtype, rate in WANTED.items():
            path = inputs.weights(peer, dtype, size)
            inputs.warm(path)
            mine, theirs = alternate(
                3 if quick else 7, lambda: command(HEFT, "stats", path, "-j", "1", *QUIET),
                lambda: peer.ask("torch_stats", path=str(path))["seconds"])
            work = f"`stats -j 1` of {path.stat().st_size / GB:.1f} GB {dtype}"
            heft = median([run[0] for run in mine])
            table.below(work, heft, path.stat().st_size / GB / rate, text_of)
            table.faster(work, "torch, one thread", heft, median(theirs), 10)
            table.below(f"{work}: peak RSS", max(run[1] for run in mine), 64 * 2**20, bytes_of)
