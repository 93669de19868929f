"""What the programs `bounds…` share: running the command within its bounds, on files that one of them wrote."""
import argparse
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

SIZE = 60 << 20
MOST_BYTES = 200 << 20
MOST_SECONDS = 10.0


def run(command):
    """Exit status, seconds, peak resident bytes. On a busy machine time passes in which the command does
    not run: where it took less of a processor's time, that counts."""
    start = time.monotonic()
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    timer = threading.Timer(6 * MOST_SECONDS, process.kill)
    timer.start()
    _, status, usage = os.wait4(process.pid, 0)
    timer.cancel()
    process.returncode = os.waitstatus_to_exitcode(status)
    seconds = min(time.monotonic() - start, usage.ru_utime + usage.ru_stime)
    return process.returncode, seconds, usage.ru_maxrss << 10


def judge(chosen, name, turn, tell):
    """How many of the verbs kept the bounds, and how many did not. A turn: only one of them."""
    counts = [0, 0]
    for verb, command in chosen if turn is None else [chosen[turn % len(chosen)]]:
        status, seconds, peak = run(command)
        ok = status in (0, 1, 2) and seconds <= MOST_SECONDS and peak <= MOST_BYTES
        counts[not ok] += 1
        if tell or not ok:
            print(f"{'ok  ' if ok else 'FAIL'} {verb} {name}: status {status}, "
                  f"{seconds:.1f} s, {peak >> 20} MiB", flush=True)
    return counts


def options(text):
    parser = argparse.ArgumentParser(description=text)
    parser.add_argument("--build", default="build/release")
    parser.add_argument("--write", help="only write the files into this folder")
    parser.add_argument("--some", action="store_true", help="one verb a file, in turn")
    parser.add_argument("--only", default="", help="files whose names have this in them")
    parser.add_argument("-v", action="store_true")
    return parser.parse_args()


def main(program, text, write_all, verbs):
    """write_all(folder) writes the files; verbs(heft, path, out) yields (verb, command) for each, or nothing."""
    args = options(text)
    if args.write:
        return write_all(Path(args.write))
    heft = os.path.join(os.path.abspath(args.build), "heft")
    passed = failed = 0
    with tempfile.TemporaryDirectory(prefix="heft-bounds-") as work:
        # Written by another process: a child's peak counts what its parent held when it was started.
        subprocess.run([sys.executable, os.path.abspath(program), "--write", work], check=True)
        for turn, path in enumerate(sorted(Path(work).iterdir())):
            chosen = list(verbs(heft, path, Path(work) / "out.safetensors")) if args.only in path.name else []
            ok, bad = judge(chosen, path.name, turn if args.some else None, args.v) if chosen else (0, 0)
            passed, failed = passed + ok, failed + bad
    print(f"{passed} passed, {failed} failed")
    return failed > 0
