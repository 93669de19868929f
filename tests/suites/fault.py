"""Programs of tests/fault that are not written in C: each is run with --build, and its last line has its counts.

They measure time and memory, or stop processes at certain moments: instrumentation would change what they
measure. Some accept --some, which runs a part of their checks; --long runs all.
"""
import os
import re

from .common import PATIENCE, TESTS, Fail, run, text_of

ONLY_PLAIN = True

LONG = {"bounds_formats"}  # writing its files alone takes minutes

LAST_LINE = re.compile(r"^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$")


def jobs(ctx):
    for path in sorted((TESTS / "fault").glob("*")):
        if path.name in LONG and not ctx.long:
            continue
        if path.is_file() and path.suffix in ("", ".py", ".sh") and os.access(path, os.X_OK):
            yield path.name, lambda path=path: run_program(ctx, path)


def run_program(ctx, path):
    short = ["--some"] if path.name.startswith(("bounds", "faults")) and not ctx.long else []
    done = run(ctx, [path, "--build", ctx.build, *short], timeout=3600 if ctx.long else 2 * PATIENCE)
    output = text_of(done.stdout)
    match = LAST_LINE.match(output.rstrip("\n").split("\n")[-1])
    if not match:
        raise Fail(f"exit {done.returncode}, no last line `N passed, N failed`\n"
                   + output[-3000:] + text_of(done.stderr)[-3000:])
    passed, failed, skipped = (int(group or 0) for group in match.groups())
    failures = [line for line in output.split("\n") if line.startswith("FAIL")]
    if failed != len(failures):
        failures = [output[-4000:] + text_of(done.stderr)[-2000:]] + [""] * (failed - 1)
    return ([(path.name, "pass", "")] * passed + [(path.name, "skip", "")] * skipped
            + [(path.name, "fail", detail) for detail in failures[:failed]])
