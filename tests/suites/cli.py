"""The cases of tests/cli: see README.md there."""
from . import console
from .common import Fail, TESTS, needs_hdf5


def jobs(ctx):
    paths = sorted((TESTS / "cli").rglob("*.case"))
    if not paths:
        yield "cli cases", none_there
    for path in paths:
        yield path.stem, lambda path=path: run_case(ctx, path)


def none_there():
    raise Fail("tests/cli holds none")


def run_case(ctx, path):
    needs_hdf5(ctx, path.stem)
    head, commands = console.parse(path.read_text(encoding="utf-8").rstrip("\n").split("\n"))
    if not commands:
        raise Fail("no command in it")
    actual, problems = console.run_commands(ctx, commands, ctx.folder(path.stem))
    if problems and ctx.bless:
        path.write_text("\n".join(console.unparse(head, actual)) + "\n", encoding="utf-8")
    elif problems:
        raise Fail("\n".join(problems))
