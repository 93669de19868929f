"""Digests, against sha256sum and openssl."""

import pathlib
import shutil

import inputs
from copying import GB, QUIET, source
from measure import HEFT, alternate, bytes_of, command, median

WANTED = 1.5 * GB  # bytes a second and core, where the processor has SHA instructions


def has_instructions():
    cpu = pathlib.Path("/proc/cpuinfo")
    return cpu.exists() and any(word in cpu.read_text().split() for word in ("sha_ni", "sha2"))


def digest(path, *more):
    return command(HEFT, "digest", path, *QUIET, *more)


def against(table, work, peer, size, mine, theirs, quick):
    """A row of rates. With the instructions of the processor there is a rate to reach."""
    runs, other = alternate(3 if quick else 7, mine, theirs)
    heft, peer_seconds = median([run[0] for run in runs]), median([run[0] for run in other])
    rates = f"{size / heft / GB:.2f} GB/s", f"{size / peer_seconds / GB:.2f} GB/s", f"{peer_seconds / heft:.2f}"
    if has_instructions():
        table.add(work, peer, *rates, f"≥ {WANTED / GB:.1f} GB/s", size / heft >= WANTED)
    else:
        table.told(work, peer, *rates)
    return runs


def part_digest(table, quick):
    """digests of 4 GB, on one core and on all, against sha256sum and openssl; of a million tensors"""
    path, size = source(quick)
    work = f"`digest` of {size / GB:.1f} GB `.pth`"
    runs = against(table, f"{work}, `-j 1`", "sha256sum", size, lambda: digest(path, "-j", 1),
                   lambda: command("sha256sum", path), quick)
    table.below(f"{work}: peak RSS", max(run[1] for run in runs), 64 * 2**20, bytes_of)
    if shutil.which("openssl"):
        against(table, f"{work}, `--files -j 1`", "openssl dgst -sha256", size,
                lambda: digest(path, "--files", "-j", 1), lambda: command("openssl", "dgst", "-sha256", path), quick)
    one, all_cores = alternate(3 if quick else 7, lambda: digest(path, "-j", 1), lambda: digest(path))
    table.told(work, "heft on one core", f"{median([run[0] for run in all_cores]):.2f} s",
               f"{median([run[0] for run in one]):.2f} s",
               f"{median([run[0] for run in one]) / median([run[0] for run in all_cores]):.2f}×")
    small, large = inputs.many(100_000), inputs.many(1_000_000)
    tenth, full = alternate(3 if quick else 7, lambda: digest(small), lambda: digest(large))
    table.within("`digest` of 1 000 000 tensors", "heft on 100 000", median([run[0] for run in full]),
                 median([run[0] for run in tenth]), 11)
