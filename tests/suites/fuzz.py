"""The fuzz targets on their corpora, and on the golden and rejected files of the same name; the
target that opens anything on all of those."""
from .common import Fail, GOLDEN, ROOT, TESTS, run, text_of


def jobs(ctx):
    for program in sorted(path for path in (ctx.build / "fuzz").glob("replay_*") if path.is_file()):
        name = program.name.removeprefix("replay_")
        yield name, lambda program=program, name=name: replay(ctx, program, name)


def replay(ctx, program, name):
    corpus = ROOT / "fuzz" / "corpus" / name
    if not corpus.is_dir():
        raise Fail(f"fuzz/corpus/{name} is missing")
    homes = (GOLDEN, TESTS / "reject")
    named = ("*",) if name == "open" else (name, f"torch-{name}")
    folders = [corpus, *sorted(path for home in homes for pattern in named
                               for path in home.glob(pattern) if path.is_dir())]
    done = run(ctx, [program, *folders], timeout=600)
    if done.returncode != 0:
        raise Fail(f"exit {done.returncode}\n" + last_input(text_of(done.stderr)))
    return [(f"{name}: {text_of(done.stdout).strip()}", "pass", "")]


def last_input(errors):
    """From the name of the input that broke it on: replay.c names each before it runs it."""
    lines = errors.rstrip("\n").split("\n")
    names = [at for at, line in enumerate(lines) if line.startswith(str(ROOT))]
    return "\n".join(lines[names[-1]:] if names else lines)
