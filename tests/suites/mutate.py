"""Every golden file, and every file that scan is tried on, cut off everywhere and with every byte flipped: an
answer, never a crash.

A file that breaks heft is kept in the build folder. Under sanitizers the places are a sample, unless
--long asks for all; so they are of files that another process reads.
"""
import os
import shutil
from pathlib import Path

from .common import PATIENCE, TESTS, Fail, golden_inputs, index_of, run, text_of

SAMPLE = 4000  # damaged files made of one golden file, about
A_PROCESS_EACH = {"h5"}  # files that are read in a process of their own: a sample of places
SLOW_SAMPLE = 1000
MEMORY_MIB = 1024
MOST_PART = 8192  # of data files, where the zips of one folder are like those of another
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
    """Every n-th place; each makes four damaged files (mutate.c)."""
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
    if not ctx.sanitizers:  # a sanitizer's shadow needs the address space
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
    """The file to damage, and a folder for its copy: a part of a sharded model, else its index."""
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
