"""Damages every golden file and every sample of scan: truncated at every length, every byte changed.
heft must answer and never crash.

A file that crashes heft is kept in the build directory. Under sanitizers a sample of the positions is used,
unless --long is given; for files that another process reads, always a sample.
"""
import os
import shutil
from pathlib import Path

from .common import PATIENCE, TESTS, Fail, golden_inputs, index_of, run, text_of

SAMPLE = 4000  # approximate number of damaged files for each golden file
A_PROCESS_EACH = {"h5"}  # files that a child process reads: a sample of the positions
SLOW_SAMPLE = 1000
MEMORY_MIB = 1024
MOST_PART = 8192  # data files in which the zips of a directory are alike
SHARED_MEMORY = Path("/dev/shm")


def jobs(ctx):
    for folder, name in golden_inputs():
        yield f"{folder.name}/{name}", lambda folder=folder, name=name: mutate(ctx, folder, name)
        parts = [*(folder / name).glob("*.distcp"), *(folder / name).glob("*.data-*")]
        for part in sorted(parts)[:1]:
            if part.stat().st_size > MOST_PART:
                continue
            yield (f"{folder.name}/{name}/{part.name}",
                   lambda folder=folder, name=name, part=part: mutate(ctx, folder, name, part))
    for path in sorted((TESTS / "scan").glob("cases/*")) + sorted((TESTS / "scan").glob("models/*")):
        yield f"scan/{path.name}", lambda path=path: mutate(ctx, path.parent, path.name, how="--mutate-scan")


def stride_for(ctx, folder, name, size):
    """Use every n-th position; each gives four damaged files (mutate.c)."""
    slow = folder.name in A_PROCESS_EACH or name.endswith(".h5")
    if ctx.long or not (ctx.instrumented or slow):
        return 1
    places = size if size <= 8192 else 8448
    return max(1, -(-4 * places // (SLOW_SAMPLE if slow else SAMPLE)))


def mutate(ctx, folder, name, part=None, how="--mutate"):
    source, work = prepare(ctx, folder / name, part)
    target = work / source.name
    stride = stride_for(ctx, folder, name, source.stat().st_size)
    command = [ctx.heft_open, how, source, "--at", target, "--stride", str(stride),
               "--seconds", "10" if ctx.instrumented else "1"]
    if part:
        command += ["--open", work]
    if not ctx.sanitizers:  # a sanitizer's shadow memory needs the address space
        command += ["--memory", str(MEMORY_MIB)]
    try:
        done = run(ctx, command, timeout=3600 if ctx.long else PATIENCE)
        if done.returncode != 0:
            raise Fail(f"exit {done.returncode}{keep(ctx, target)}\n"
                       + text_of(done.stdout)[-2000:] + text_of(done.stderr)[-6000:])
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return [(f"{folder.name}/{name}", "pass", text_of(done.stdout))]


def prepare(ctx, path, part):
    """The file to damage, and a directory for its copy: a shard of a sharded model, otherwise its
    index."""
    base = SHARED_MEMORY if os.access(SHARED_MEMORY, os.W_OK) else ctx.scratch
    work = ctx.folder("mutate")
    if base == SHARED_MEMORY:
        work = base / f"{ctx.scratch.name}-{work.name}"
        work.mkdir()
    if path.is_file():
        return path, work
    damaged = part or index_of(path)
    for sibling in path.iterdir():
        if sibling != damaged:
            (work / sibling.name).symlink_to(sibling)
    return damaged, work


def keep(ctx, target):
    if not target.exists():
        return ""
    kept = ctx.build / ("broken-by-" + target.name)
    shutil.copyfile(target, kept)
    return f"; the file is kept: {kept}"
