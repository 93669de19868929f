"""Runs the cases of tests/cli; see README.md there."""
import re

from . import console
from .common import Fail, TESTS, needs_hdf5

MEASURED = re.compile(r"\d s, [\d.]+ [KMGT]?i?B/s")  # as make bless writes it


def jobs(ctx):
    paths = sorted((TESTS / "cli").rglob("*.case"))
    if not paths:
        yield "cli cases", none_there
    for path in paths:
        yield path.stem, lambda path=path: run_case(ctx, path)


def none_there():
    raise Fail("tests/cli contains no case")


def run_case(ctx, path):
    needs_hdf5(ctx, path.stem)
    head, commands = console.parse(path.read_text(encoding="utf-8").rstrip("\n").split("\n"))
    if not commands:
        raise Fail("the case has no command")
    measured = [line for command in commands for line in command.stdout + command.stderr if MEASURED.search(line)]
    if measured and not ctx.bless:
        raise Fail(f"the expected output contains a time, use …: {measured[0]}")
    actual, problems = console.run_commands(ctx, commands, ctx.folder(path.stem))
    if problems and ctx.bless:
        path.write_text("\n".join(console.unparse(head, actual)) + "\n", encoding="utf-8")
    elif problems:
        raise Fail("\n".join(problems))
