"""Compares scan with a real CPython on the same pickles: fuzz/corpus/differential, the samples of
tests/scan, and some seconds of random ones (fuzz/differential). Scan must report every import and call
of CPython."""
import sys

from .common import Fail, PATIENCE, ROOT, Skip, TESTS, run, text_of

COMPARE = ROOT / "fuzz/differential/compare.py"
SECONDS = "4"


def jobs(ctx):
    corpus = [ROOT / "fuzz/corpus/differential", TESTS / "scan/cases", ROOT / "fuzz/corpus/pickle"]
    yield "corpus", lambda: compare(ctx, "--replay", *corpus)
    yield "random pickles", lambda: compare(ctx, "--seconds", SECONDS, "--seed", "1", "--broken", ctx.scratch)


def compare(ctx, *arguments):
    if sys.implementation.name != "cpython":
        raise Skip("needs CPython")
    done = run(ctx, [sys.executable, COMPARE, ctx.build, *arguments], timeout=2 * PATIENCE)
    if done.returncode != 0:
        raise Fail(f"exit {done.returncode}\n" + text_of(done.stdout)[-4000:] + text_of(done.stderr)[-2000:])
