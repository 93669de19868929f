"""Every golden file, cut off everywhere and with every byte flipped: an answer, never a crash.

A file that breaks heft is kept in the build folder. Under sanitizers the places are a sample, unless
--long asks for all.
"""
import shutil
from pathlib import Path

from .common import Fail, golden_inputs, index_of, run, text_of

SAMPLE = 4000  # damaged files made of one golden file, about
MEMORY_MIB = 1024
SHARED_MEMORY = Path("/dev/shm")


def jobs(ctx):
    for folder, name in golden_inputs():
        yield f"{folder.name}/{name}", lambda folder=folder, name=name: mutate(ctx, folder, name)


def stride_for(ctx, size):
    """Every n-th place; each makes four damaged files (mutate.c)."""
    if ctx.long or not ctx.instrumented:
        return 1
    places = size if size <= 8192 else 8448
    return max(1, -(-4 * places // SAMPLE))


def mutate(ctx, folder, name):
    source, work = prepare(ctx, folder / name)
    target = work / source.name
    command = [ctx.heft_open, "--mutate", source, "--at", target,
               "--stride", str(stride_for(ctx, source.stat().st_size)),
               "--seconds", "10" if ctx.instrumented else "1"]
    if not ctx.sanitizers:  # a sanitizer's shadow needs the address space
        command += ["--memory", str(MEMORY_MIB)]
    try:
        done = run(ctx, command, timeout=3600 if ctx.long else 300)
        if done.returncode != 0:
            raise Fail(f"exit {done.returncode}{keep(ctx, target)}\n"
                       + text_of(done.stdout)[-2000:] + text_of(done.stderr)[-6000:])
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return [(f"{folder.name}/{name}", "pass", text_of(done.stdout))]


def prepare(ctx, path):
    """The file to damage, and a folder for its copy; of a sharded model, the index is damaged."""
    base = SHARED_MEMORY if SHARED_MEMORY.is_dir() else ctx.scratch
    work = ctx.folder("mutate")
    if base == SHARED_MEMORY:
        work = base / f"{ctx.scratch.name}-{work.name}"
        work.mkdir()
    if path.is_file():
        return path, work
    index = index_of(path)
    for sibling in path.iterdir():
        if sibling != index:
            (work / sibling.name).symlink_to(sibling)
    return index, work


def keep(ctx, target):
    if not target.exists():
        return ""
    kept = ctx.build / ("broken-by-" + target.name)
    shutil.copyfile(target, kept)
    return f"; the file is kept: {kept}"
