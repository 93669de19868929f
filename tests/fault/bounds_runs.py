"""Shared by the programs `bounds…`: runs the command within limits on files that one of them wrote."""
import argparse
import contextlib
import functools
import itertools
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

WHOLE = 60 << 20  # bytes of a file
SOME = 6 << 20  # with --some
# Sizes at which files of small parts come near several limits at once: larger ones exceed one of them early.
MIDDLE = (13 << 20, 17 << 20)
MIDDLE_VERBS = ("ls", "info --json", "explain --trace", "convert", "convert --to torch", "convert --to tf",
                "salvage")
# The writer of the files is another process; it is told by its environment.
SIZE = int(os.environ.get("HEFT_BOUNDS_SIZE", WHOLE))


def scaled(count):
    """So many of a whole file: fewer with --some, where writing them would take most of the time."""
    return count * SIZE // WHOLE


MOST_BYTES = 200 << 20
MOST_SECONDS = {"train": 40.0}  # seconds of a processor as fast as USUAL_LOOP says; learning is linear, but takes long
MOST_SECONDS_ELSE = 10.0
USUAL_LOOP = 0.1  # seconds of loop() on the usual machine
# Compared with the hostile files: an input that is small and sound.
SMALL = Path(__file__).resolve().parent.parent / "golden" / "torch" / "training.ckpt"
PATIENCE = 300  # seconds of elapsed time, for commands that wait forever


def run(command):
    """Exit status, seconds, peak resident bytes. Seconds are processor time if that is less, as on a
    busy machine the command does not always run."""
    start = time.monotonic()
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    timer = threading.Timer(PATIENCE, process.kill)
    timer.start()
    _, status, usage = os.wait4(process.pid, 0)
    timer.cancel()
    process.returncode = os.waitstatus_to_exitcode(status)
    seconds = min(time.monotonic() - start, usage.ru_utime + usage.ru_stime)
    return process.returncode, seconds, usage.ru_maxrss << 10


def loop():
    """Processor seconds of a loop in Python, the minimum of a few runs."""
    def once():
        start, total = time.process_time(), 0
        for number in range(4_000_000):
            total += number
        return time.process_time() - start
    return min(once() for _ in range(3))


@functools.lru_cache(None)
def slowness():
    """Slowness relative to the usual machine: at least 1."""
    return max(1.0, loop() / USUAL_LOOP)


def most_seconds(verb):
    return MOST_SECONDS.get(verb.split()[0], MOST_SECONDS_ELSE) * slowness()


def judge(path, chosen, pool, tell):
    """Number of commands within the limits, and number of others."""
    counts = [0, 0]
    for (verb, _), (status, seconds, peak) in zip(chosen, pool.map(run, (command for _, command in chosen))):
        ok = status in (0, 1, 2) and seconds <= most_seconds(verb) and peak <= MOST_BYTES
        counts[not ok] += 1
        if tell or not ok:
            print(f"{'ok  ' if ok else 'FAIL'} {verb} {path.name}: status {status}, "
                  f"{seconds:.1f} s, {peak >> 20} MiB", flush=True)
    return counts


def options(text):
    parser = argparse.ArgumentParser(description=text)
    parser.add_argument("--build", default="build/release")
    parser.add_argument("--write", help="only write the files into this directory")
    parser.add_argument("--turns", action="store_true", help="with --write: print each path, then wait for a line")
    parser.add_argument("--some", action="store_true", help="smaller files, one verb per file, in turn")
    parser.add_argument("--sizes", type=float, nargs="+", help="MiB of a file; below 60 only the verbs that take most memory")
    parser.add_argument("--share", type=int, default=1, help="run every n-th command, in turn")
    parser.add_argument("--jobs", "-j", type=int, default=os.cpu_count(), help="commands at a time")
    parser.add_argument("--only", default="", help="files whose names contain this text")
    parser.add_argument("-v", action="store_true")
    return parser.parse_args()


def write_files(paths, in_turns):
    for path in paths:
        if in_turns:
            print(path, flush=True)
            sys.stdin.readline()


@contextlib.contextmanager
def writer(program, folder, size):
    """Paths of the files, as they are written: by another process, as the peak of a child includes the
    memory of its parent when it was started. It writes only one file ahead, as all files together would
    take gigabytes."""
    command = [sys.executable, os.path.abspath(program), "--write", folder, "--turns"]
    env = dict(os.environ, HEFT_BOUNDS_SIZE=str(size))
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env) as process:
        def paths():
            for line in process.stdout:
                process.stdin.write("\n")
                process.stdin.flush()
                yield Path(line.rstrip("\n"))
        yield paths()
    if process.returncode != 0:
        raise RuntimeError(f"{program} --write: exit {process.returncode}")


def remove(path):
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()


def outputs(work):
    """Output directories of the commands, one for each, as they run in parallel."""
    shutil.rmtree(work / "out", ignore_errors=True)
    for number in itertools.count():
        folder = work / "out" / str(number)
        folder.mkdir(parents=True)
        yield folder / "out.safetensors"


def main(program, text, write_all, verbs):
    """write_all(folder) writes the files and yields their paths; verbs(heft, path, outputs) yields
    (verb, command) for each; each of the outputs is for one command."""
    args = options(text)
    if args.write:
        return write_files(write_all(Path(args.write)), args.turns)
    heft = os.path.join(os.path.abspath(args.build), "heft")
    passed = failed = 0
    for size in sizes_of(args):
        ok, bad = run_size(program, verbs, heft, size, args)
        passed, failed = passed + ok, failed + bad
    print(f"{passed} passed, {failed} failed")
    return failed > 0


def sizes_of(args):
    if args.some:
        return [SOME]
    return [int(mib * (1 << 20)) for mib in args.sizes] if args.sizes else [WHOLE, *MIDDLE]


def choose(commands, size, turn, args):
    """The commands to run on a file: one in turn, those that take most memory, or every n-th."""
    if args.some and commands:
        return [commands[turn % len(commands)]]
    if size < WHOLE:
        commands = [command for command in commands if command[0] in MIDDLE_VERBS]
    return commands[turn % args.share::args.share]


def run_size(program, verbs, heft, size, args):
    passed = failed = 0
    with tempfile.TemporaryDirectory(prefix="heft-bounds-") as work, ThreadPoolExecutor(args.jobs) as pool:
        (Path(work) / "files").mkdir()
        with writer(program, Path(work) / "files", size) as paths:
            for turn, path in enumerate(paths):
                chosen = list(verbs(heft, path, outputs(Path(work)))) if args.only in path.name else []
                ok, bad = judge(path, choose(chosen, size, turn, args), pool, args.v)
                passed, failed = passed + ok, failed + bad
                remove(path)
    return passed, failed
