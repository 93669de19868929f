"""Parts of the bench: conversions of torch checkpoints, and their verification."""

import inputs
from copying import (GB, QUIET, against_cat, against_cp, convert_size, copy, fresh, settle, settle_disk,
                     source, to_file)
from measure import HEFT, Peer, alternate, bytes_of, command, median


SLOW_COPY = 8  # seconds for cp and fsync, beyond which synced rows use a smaller file


def heft_convert(path, limit, *more):
    out = fresh()
    return command(HEFT, "convert", path, "-o", f"{out}/shards/", "--max-shard-size", limit, *QUIET,
                   *more)


def part_convert(table, quick):
    """convert: 4 GB to 1 GB shards, without sync, against cp"""
    path, size = source(quick)
    limit = convert_size(quick) // 4
    alternate(1, lambda: heft_convert(path, limit, "--no-sync"), lambda: copy(path, False))
    mine, cp = alternate(5 if quick else 9, lambda: heft_convert(path, limit, "--no-sync"),
                         lambda: copy(path, False), settle)
    work = f"convert {size / GB:.1f} GB `.pth` to {limit / GB:.2g} GB shards"
    table.within(f"{work}, `--no-sync`", "cp", median([run[0] for run in mine]), median(cp), 1.15)
    table.below(f"{work}: peak RSS", max(run[1] for run in mine), 64 * 2**20, bytes_of)
    table.below(f"{work}, `--io pread`: peak RSS", heft_convert(path, limit, "--no-sync", "--io", "pread")[1],
                64 * 2**20, bytes_of)
    fresh()


def part_torch(table, quick):
    """convert: 4 GB to a .pth with all checksums computed, against cp"""
    path, size = source(quick)
    against_cp(table, f"convert {size / GB:.1f} GB to `.pth`", path, lambda: to_file(path, "out.pth"), quick,
               1.2)


def part_synced(table, quick):
    """convert: 4 GB to 1 GB shards, with sync, against cp and fsync"""
    path, size = source(quick)
    if copy(path, True) > SLOW_COPY and size > 2 * GB:
        with Peer() as peer:
            path = inputs.real(peer, GB)
        inputs.warm(path)
        size = path.stat().st_size
    limit = size // 4
    mine, cp = alternate(3 if quick else 9, lambda: heft_convert(path, limit), lambda: copy(path, True),
                         settle_disk, least=3 if quick else 9)
    work = f"convert {size / GB:.1f} GB `.pth` to {limit / GB:.2g} GB shards, synced"
    table.within(work, "cp and fsync", median([run[0] for run in mine]), median(cp), 1.15)
    fresh()


def part_library(table, quick):
    """convert: 2 GB to two shards, without sync, against torch.load and save_torch_state_dict"""
    size = min(convert_size(quick), 2 * GB) // (2 if quick else 1)
    with Peer() as peer:
        path = inputs.real(peer, size)
    inputs.warm(path)
    limit = size // 2
    peaks = []

    def library():
        out = fresh()
        with Peer() as peer:
            answer = peer.ask("hub_shards", path=str(path), out=str(out), limit=limit)
        peaks.append(answer["rss"])
        return answer["seconds"]

    mine, theirs = alternate(3 if quick else 5, lambda: heft_convert(path, limit, "--no-sync")[0],
                             library, lambda: fresh())
    table.faster(f"convert {path.stat().st_size / GB:.1f} GB `.pth` to {limit / GB:.2g} GB shards, `--no-sync`",
                 f"torch.load(mmap) + save_torch_state_dict ({max(peaks) / GB:.1f} GB RSS)",
                 median(mine), median(theirs), 4.5)
    fresh()


def part_verify(table, quick):
    """verify: 4 GB with the stored CRCs against cat"""
    path, size = source(quick)
    against_cat(table, f"`verify` {size / GB:.1f} GB `.pth`", path, lambda: command(HEFT, "verify", path, *QUIET),
                quick)
