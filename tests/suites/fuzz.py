"""Fuzz targets on their corpora, and on the golden and rejected files of the same name; targets that
accept any file run on all of those and on the samples of scan."""
from .common import Fail, GOLDEN, PATIENCE, ROOT, TESTS, run, text_of

ANY_FILE = ("convert", "open", "salvage", "scan", "trace")


def jobs(ctx):
    for program in sorted(path for path in (ctx.build / "fuzz").glob("replay_*") if path.is_file()):
        name = program.name.removeprefix("replay_")
        yield name, lambda program=program, name=name: replay(ctx, program, name)


def replay(ctx, program, name):
    corpus = ROOT / "fuzz" / "corpus" / name
    if not corpus.is_dir():
        raise Fail(f"fuzz/corpus/{name} is missing")
    done = run(ctx, [program, corpus, *sorted(samples_for(name))], timeout=2 * PATIENCE)
    if done.returncode != 0:
        raise Fail(f"exit {done.returncode}\n" + last_input(text_of(done.stderr)))
    return [(f"{name}: {text_of(done.stdout).strip()}", "pass", "")]


def samples_for(name):
    """Directories of samples for a target. For a checkpoint that is a directory, its hidden index: the
    replay skips subdirectories and hidden files."""
    folder = name.replace("_", "-")
    patterns = ("*",) if name in ANY_FILE else (folder, f"torch-{folder}")
    if name in ANY_FILE:
        yield TESTS / "scan" / "cases"
        yield TESTS / "scan" / "models"
    for home in (GOLDEN, TESTS / "reject"):
        for pattern in patterns:
            yield from (path for path in home.glob(pattern) if path.is_dir())
            yield from home.glob(f"{pattern}/*/.metadata")
            yield from home.glob(f"{pattern}/*/*.index")


def last_input(errors):
    """The output from the name of the failing input on: replay.c prints each name before it runs the
    input."""
    lines = errors.rstrip("\n").split("\n")
    names = [at for at, line in enumerate(lines) if line.startswith(str(ROOT))]
    return "\n".join(lines[names[-1]:] if names else lines)
