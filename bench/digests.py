"""Part of the bench: digests, and verification by a list of them, against sha256sum and openssl."""

import pathlib
import shutil
import subprocess

import inputs
from copying import GB, QUIET, convert_size
from measure import HEFT, STORE, Peer, alternate, bytes_of, command, median

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
    """digest: 1 GB, on one core and on all, against sha256sum and openssl; of a million tensors"""
    with Peer() as peer:
        path = inputs.real(peer, min(convert_size(quick), GB))
    inputs.warm(path)
    size = path.stat().st_size
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
    listed(table, path, size, quick)


def listed(table, path, size, quick):
    """Verifies a file by a SHA256SUMS, as sha256sum -c does."""
    sums = STORE / "SHA256SUMS"
    done = subprocess.run(["sha256sum", path.name], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, check=True, cwd=path.parent)
    sums.write_text(done.stdout)
    mine, theirs = alternate(3 if quick else 7, lambda: command(HEFT, "verify", path, "--against", sums, *QUIET)[0],
                             lambda: command("sha256sum", "-c", sums, cwd=path.parent)[0])
    table.under("verify")
    table.told(f"`verify --against SHA256SUMS` of {size / GB:.1f} GB", "sha256sum -c", f"{median(mine):.2f} s",
               f"{median(theirs):.2f} s", f"{median(theirs) / median(mine):.2f}×")
    sums.unlink()
