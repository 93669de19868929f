"""Shared by the parts that move gigabytes: conversions compared with cp, reading compared with cat."""

import contextlib
import os
import pathlib
import shutil
import time

import inputs
from measure import HEFT, STORE, Peer, alternate, bytes_of, command, median

GB = 10**9
QUIET = ("--no-progress", "-q")


def convert_size(quick):
    """4 GB, or less if disk or memory do not suffice."""
    STORE.mkdir(parents=True, exist_ok=True)
    wanted = GB // 2 if quick else 4 * GB
    disk = shutil.disk_usage(STORE).free
    memory = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    with open("/proc/meminfo") as lines:
        memory = next((int(line.split()[1]) * 1024 for line in lines
                       if line.startswith("MemAvailable")), memory)
    while wanted > GB // 2 and (disk < 3 * wanted or memory < 3 * wanted):
        wanted //= 2
    return wanted


def fresh():
    """The directory for outputs, emptied."""
    out = STORE / "out"
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    return out


def copy(path, synced):
    """Time of cp; with `synced` including fsync of its output and of the directory."""
    out = fresh()
    seconds, _ = command("cp", path, out / "copy")
    if synced:
        start = time.perf_counter()
        for name in (out / "copy", out):
            handle = os.open(name, os.O_RDONLY)
            os.fsync(handle)
            os.close(handle)
        seconds += time.perf_counter() - start
    return seconds


def settle():
    """Before an unsynced round: nothing dirty is left of the round before."""
    fresh()
    os.sync()


def settle_disk():
    """Before a synced round: the disk is idle, too."""
    settle()
    time.sleep(1)


# Settings of the kernel while memory is held. A virtual machine returns free blocks of that order to its
# host, and waits for the host when it needs them again; no block is so large.
HELD = {"/proc/sys/vm/dirty_ratio": "70", "/proc/sys/vm/dirty_background_ratio": "60",
        "/sys/module/page_reporting/parameters/page_reporting_order": "11"}


@contextlib.contextmanager
def held_memory():
    """Keeps the kernel from writing dirty pages back by itself, and freed pages from being returned to
    the host: commands that do not sync are then compared in memory, independent of disk and host.
    Restores the settings at the end. Yields why memory cannot be held, or None."""
    before = {path: path.read_text() for path in map(pathlib.Path, HELD) if path.exists()}
    changed = []
    try:
        reason = None
        try:
            for path in before:
                path.write_text(HELD[str(path)])
                changed.append(path)
        except OSError as error:
            reason = str(error)
        yield reason
    finally:
        for path in reversed(changed):
            path.write_text(before[path])


def source(quick):
    with Peer() as peer:
        path = inputs.real(peer, convert_size(quick))
    inputs.warm(path)
    return path, path.stat().st_size


def against_cp(table, work, source, convert, quick, wanted=1.15):
    """Rows of `convert`, a command that returns (seconds, peak), against cp of the source, both without
    sync."""
    inputs.warm(source)
    table.under("convert")
    alternate(1, convert, lambda: copy(source, False))
    runs, cp = alternate(5 if quick else 9, convert, lambda: copy(source, False), settle)
    table.within(f"{work}, `--no-sync`", "cp", median([run[0] for run in runs]), median(cp), wanted)
    table.below(f"{work}: peak RSS", max(run[1] for run in runs), 64 * 2**20, bytes_of)
    fresh()


def against_cat(table, work, source, mine, quick):
    """A row of `mine`, a command that reads the file, against cat of the same file."""
    size = source.stat().st_size
    inputs.warm(source)
    table.under("verify")
    runs, cat = alternate(5 if quick else 9, lambda: mine()[0], lambda: command("cat", source)[0])
    heft, peer = median(runs), median(cat)
    table.add(work, "cat > /dev/null", f"{size / heft / GB:.2f} GB/s", f"{size / peer / GB:.2f} GB/s",
              f"{peer / heft:.2f}", "≥ 0.8 of its rate", peer >= 0.8 * heft)


def to_file(given, name, *more):
    """(seconds, peak) of a conversion to a new file of that name, without sync."""
    return command(HEFT, "convert", given, "-o", fresh() / name, *QUIET, "--no-sync", *more)
