"""Damages every file of tests/golden and every sample of scan: truncated at every length, every byte
changed. heft must answer and never crash; tests/tools/mutate.c has the damages, exercise.c what is run.

Each damaged file is opened, read and verified; on every n-th of them all verbs run (VERBS). A sample of
the positions is used. With --long all verbs run on all of them, each bit of every byte that is not tensor
data is flipped, and files are truncated at every length. Files that another process reads (HDF5) are sampled
always: one takes milliseconds.

A file that crashes heft is kept in the build directory.
"""
import json
import os
import shutil
from pathlib import Path

from .common import GOLDEN, PATIENCE, TESTS, Fail, index_of, must_succeed, needs_hdf5, run, text_of

SAMPLE = 2000  # approximate number of damaged files for each golden file …
SANITIZED_SAMPLE = 1000  # … and under sanitizers
A_PROCESS_EACH = {"h5"}  # files that a child process reads: a sample of the positions
SLOW_SAMPLE = 400
SLOW = {"limit-values.gz", "limit-marks.gz"}  # inflated up to a limit of scan
SMALL_SAMPLE = 300  # for clang's checks of integers, which run beside the other sanitizers, and for many files
VERBS = 32  # all verbs run on one of so many damaged files
MEMORY_MIB = 1024
SHARED_MEMORY = Path("/dev/shm")

# Files of tests/golden that heft does not read, beside the scripts *.py that wrote the others: what the tests compare with.
NOT_READ = {"metadata.json", "cpp.cc", "version.txt",
            "draws.tsv", "windows.tsv", "text.txt", "vectors.jsonl", "texts.json", "ids.json"}  # tests/golden/tokens: what to expect
# Files that exist in a checkpoint, but whose bytes heft does not interpret.
OPAQUE = {"assets", "assets.extra", "fingerprint.pb"}
IDS = {".npz", ".npy", ".bin"}
# Of the many vocabularies of tests/golden/tokens/families: one of each form.
FAMILIES = {"deepseek-coder.tokenizer.json", "gpt-neox.tokenizer.json", "llama3.tokenizer.json", "kimi.tiktoken",
            "nanochat.pkl", "tekken.json", "vocab.json", "merges.txt"}


def jobs(ctx):
    for path in golden_files():
        yield str(path.relative_to(GOLDEN)), lambda path=path: mutate(ctx, path)
    for path in sorted((TESTS / "scan").glob("cases/*")) + sorted((TESTS / "scan").glob("models/*")):
        yield f"scan/{path.name}", lambda path=path: mutate(ctx, path, kind="--mutate-scan")
    yield "a golden file for each format", lambda: each_format(ctx)


def golden_files():
    """Every file below tests/golden that heft reads."""
    for path in sorted(GOLDEN.rglob("*")):
        words = path.relative_to(GOLDEN).parts
        if path.is_file() and path.suffix != ".py" and path.name not in NOT_READ and words[1] != "expected" and OPAQUE.isdisjoint(words) \
                and (words[1] != "families" or path.name in FAMILIES and "gpt2-folder" not in words):
            yield path


def each_format(ctx):
    """A format without a golden file would be left out silently."""
    formats = set(text_of(must_succeed(ctx, [ctx.heft_open, "--formats"]).stdout).split())
    damaged = {path.relative_to(GOLDEN).parts[0] for path in golden_files()}
    idle = {path.name for path in GOLDEN.iterdir() if path.is_dir()} - damaged
    if idle:
        raise Fail(f"no file is damaged in tests/golden/{', '.join(sorted(idle))}")
    found = set()
    for expected in GOLDEN.glob("*/expected/*.info.json"):
        found.add(json.loads(expected.read_text(encoding="utf-8"))["format"])
    # Files that only refer to others: the checkpoint has the format of those.
    found |= {name for name, pattern in (("hf-index", "*.index.json"), ("tf-checkpoint", "checkpoint"))
              if any(path.match(pattern) for path in golden_files())}
    if not formats <= found:
        raise Fail(f"no golden file of the format {', '.join(sorted(formats - found))}")


def is_slow(path):
    return path.relative_to(TESTS).parts[1] in A_PROCESS_EACH or path.suffix == ".h5"


def stride_for(ctx, path):
    """Use every n-th position; each gives four damaged files, with --long ten (mutate.c)."""
    slow = is_slow(path)
    if ctx.long and not slow:
        return 1
    size = path.stat().st_size
    places = size if ctx.long or size <= 8192 else 8448
    usual = SANITIZED_SAMPLE if ctx.sanitizers else SAMPLE
    sample = SLOW_SAMPLE * (10 if ctx.long else 1) if slow or path.name in SLOW else usual
    if ("integer" in ctx.sanitizers or "families" in path.parts) and not ctx.long:
        sample = SMALL_SAMPLE
    return max(1, -(-(10 if ctx.long else 4) * places // sample))


def kind_of(path):
    words = path.relative_to(TESTS).parts
    if words[1] != "tokens":
        return "--mutate"
    return "--mutate-ids" if path.suffix in IDS else "--mutate-vocab"


def mutate(ctx, path, kind=None):
    if is_slow(path):
        needs_hdf5(ctx, "h5")
    kind = kind or kind_of(path)
    work = work_folder(ctx)
    try:
        target, opened, intact = (work / path.name, None, None) if kind == "--mutate-scan" else prepare(path, work)
        command = [ctx.heft_open, kind, path, "--at", target, "--stride", str(stride_for(ctx, path)),
                   "--seconds", "20" if ctx.instrumented or is_slow(path) else "2"]
        if opened:
            command += ["--open", opened, "--intact", intact]
        if kind == "--mutate":
            (work / "outputs").mkdir()
            command += ["--folder", work / "outputs", "--verbs", "1" if ctx.long else str(VERBS)]
        if ctx.long:
            command += ["--every", "1"]
        if not ctx.sanitizers:  # a sanitizer's shadow memory needs the address space
            command += ["--memory", str(MEMORY_MIB)]
        done = run(ctx, command, timeout=4 * 3600 if ctx.long else PATIENCE)
        if done.returncode != 0:
            raise Fail(f"exit {done.returncode}{keep(ctx, target)}\n"
                       + text_of(done.stdout)[-2000:] + text_of(done.stderr)[-6000:])
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return [(str(path.relative_to(TESTS)), "pass", text_of(done.stdout))]


def work_folder(ctx):
    """A new directory for the copy, in memory if possible."""
    work = ctx.folder("mutate")
    if not os.access(SHARED_MEMORY, os.W_OK):
        return work
    work = SHARED_MEMORY / f"{ctx.scratch.name}-{work.name}"
    work.mkdir()
    return work


def prepare(path, work):
    """Path of the damaged copy; the path that is opened, if it is another: the checkpoint of which the file is
    a part; and the path of the undamaged checkpoint. The other files of the checkpoint are links."""
    words = path.relative_to(GOLDEN).parts
    if len(words) == 2:
        return prepare_beside(path, work)
    if words[0] == "tokens":
        return prepare_tokens(path, work)
    root = GOLDEN / words[0] / words[1]
    for other in root.rglob("*"):
        there = work / "m" / other.relative_to(root)
        there.parent.mkdir(parents=True, exist_ok=True)
        if other.is_file() and other != path:
            there.symlink_to(other)
    target = work / "m" / path.relative_to(root)
    return target, None if path == index_of(root) else work / "m", root


def prepare_tokens(path, work):
    """A vocabulary may consist of two files; the path of its merges is opened."""
    folder = work / "m"
    folder.mkdir()
    for other in path.parent.iterdir():
        if other != path:
            (folder / other.name).symlink_to(other)
    merges = {"encoder.json": "vocab.bpe", "vocab.json": "merges.txt"}.get(path.name)
    return folder / path.name, folder / merges if merges else None, path


def prepare_beside(path, work):
    """A file of the format's directory, with those of the same stem: V2.index and V2.data-…"""
    stem = path.name.split(".")[0]
    folder = work / "m"
    folder.mkdir()
    for other in path.parent.iterdir():
        if other.is_file() and other != path and other.name.split(".")[0] == stem and other.name not in NOT_READ:
            (folder / other.name).symlink_to(other)
    opened = folder / f"{stem}.index" if ".data-" in path.name else None
    return folder / path.name, opened, path.parent / f"{stem}.index"


def keep(ctx, target):
    if not target.exists():
        return ""
    kept = ctx.build / ("broken-by-" + target.name)
    shutil.copyfile(target, kept)
    return f"; the file is kept: {kept}"
