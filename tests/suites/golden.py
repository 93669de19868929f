"""Output of heft for files written by the reference frameworks, byte for byte.

For each input of tests/golden/FORMAT the outputs of three verbs are compared with the files in
FORMAT/expected/. A missing expectation is a failure; --bless writes it.
"""
from .common import Fail, diff, golden_inputs, must_succeed, needs_hdf5, needs_snappy, text_of

VERBS = {
    "ls.json": ["ls", "--json"],
    "info.json": ["info", "--json"],
    "explain": ["explain"],
}


def jobs(ctx):
    inputs = list(golden_inputs())
    if not inputs:
        yield "golden files", none_there
    for folder, name in inputs:
        for suffix, verb in VERBS.items():
            yield (f"{folder.name}/{name} {' '.join(verb)}",
                   lambda folder=folder, name=name, suffix=suffix, verb=verb:
                   compare(ctx, folder, name, suffix, verb))


def none_there():
    raise Fail("tests/golden contains no input")


def compare(ctx, folder, name, suffix, verb):
    needs_hdf5(ctx, folder.name)
    needs_snappy(ctx, folder.name, name)
    done = must_succeed(ctx, [ctx.heft, *verb, name], cwd=folder)
    actual = text_of(done.stdout)
    path = folder / "expected" / f"{name}.{suffix}"
    if ctx.bless:
        path.parent.mkdir(exist_ok=True)
        path.write_text(actual, encoding="utf-8")
        return
    if not path.exists():
        raise Fail(f"{path} is missing; run make bless and review the file")
    expected = path.read_text(encoding="utf-8")
    if actual != expected:
        raise Fail(diff(expected, actual))
