"""Parts of the bench: growth of time and memory with the number of tensors and the size of files."""

import contextlib
import shutil

import inputs
import texts
import tokens
from copying import QUIET, fresh
from curves import Curve, Line, Point
from measure import HEFT, STORE, OpenList, Peer, alternate, command, median

SECONDS = 4  # for a point of a curve; at least one round


def grow(table, curve, xs, rounds, *works):
    """Measures the points of a curve. A work is (label, function of x), which returns (seconds, peak
    memory). The first two alternate; a work that is None at some x has no point there."""
    curve.lines = [Line(label) for label, _ in works]
    table.curves.append(curve)
    for x in xs:
        for found, points in zip(measured(rounds, [work(x) for _, work in works]), curve.lines):
            if found:
                points.points.append(Point(x, median([run[0] for run in found]), max(run[1] for run in found)))
        print(f"{curve.name}: {x:,} {curve.unit}: " + ", ".join(
            f"{line.label} {line.points[-1].seconds * 1e3:.2f} ms" for line in curve.lines
            if line.points and line.points[-1].x == x), flush=True)


def measured(rounds, works):
    """Results of works, in alternation by pairs; None for an absent one."""
    mine, *others = works
    results = []
    for other in others:
        if not other and results:
            results.append(None)
            continue
        left, right = alternate(rounds, mine, other or (lambda: None), least=1, seconds=SECONDS)
        results = results or [left]
        results.append(right if other else None)
    return results


def decades(low, high):
    return [10**power for power in range(low, high + 1)]


def used(task):
    """(seconds, peak memory) of an answer of a peer."""
    return task["seconds"], task["memory"]


def part_growth_open(table, quick):
    """open: a safetensors file of 100 to a million tensors in process, against safetensors"""
    curve = Curve("open", "open and walk a safetensors file, in process", "tensors")
    with Peer() as peer, contextlib.ExitStack() as stack:
        peer.ask("baseline")

        def mine(x):
            handle = OpenList(inputs.many(x))
            stack.callback(handle.close)
            return handle.round_with_memory

        def theirs(x):
            return lambda: used(peer.ask("safe_shapes", path=str(inputs.many(x))))
        grow(table, curve, decades(2, 5 if quick else 6), 7, ("heft", mine), ("safetensors", theirs))


def part_growth_ls(table, quick):
    """ls: a torch checkpoint of 100 to 100 000 tensors, whole command, against torch.load"""
    curve = Curve("ls", "list a torch checkpoint, heft as a command, torch in process", "tensors")
    with Peer() as peer:
        def theirs(x):
            path = str(inputs.dictionary(peer, x))
            return lambda: used(peer.ask("torch_open", path=path))
        peer.ask("baseline")
        grow(table, curve, decades(2, 4 if quick else 5), 7,
             ("heft ls", lambda x: lambda: command(HEFT, "ls", inputs.dictionary(peer, x))),
             ("torch.load(mmap)", theirs))


def part_growth_tree(table, quick):
    """tree: a safetensors file of 100 to a million tensors, against reading names and shapes"""
    curve = Curve("tree", "print the tree of a safetensors file, heft as a command, safetensors in process", "tensors")
    with Peer() as peer:
        peer.ask("baseline")
        grow(table, curve, decades(2, 5 if quick else 6), 7,
             ("heft tree", lambda x: lambda: command(HEFT, "tree", inputs.many(x))),
             ("safetensors, names and shapes",
              lambda x: lambda: used(peer.ask("safe_shapes", path=str(inputs.many(x))))))


def plain(size):
    """A safetensors file of about that size with random data in up to 16 tensors, in the page cache."""
    with Peer() as peer:
        path = inputs.made(STORE / f"plain-{size}.safetensors",
                           lambda part: peer.ask("make_plain", path=str(part), size=size), size)
    inputs.warm(path)
    return path


def part_growth_diff(table, quick):
    """diff: two equal files of 100 KB to 1 GB, against cmp"""
    curve = Curve("diff", "compare two equal safetensors files, whole commands", "bytes")

    def pair(x):
        path = plain(x)
        other = inputs.made(STORE / f"copy-{path.name}", lambda part: shutil.copyfile(path, part), x)
        inputs.warm(other)
        return path, other
    grow(table, curve, decades(5, 8 if quick else 9), 7,
         ("heft diff", lambda x: lambda: command(HEFT, "diff", *pair(x), *QUIET)),
         ("cmp", lambda x: lambda: command("cmp", *pair(x))))


def part_growth_digest(table, quick):
    """digest: a file of 100 KB to 1 GB on one core, against sha256sum"""
    curve = Curve("digest", "SHA-256 of a safetensors file, one core, whole commands", "bytes")
    grow(table, curve, decades(5, 8 if quick else 9), 7,
         ("heft digest -j 1", lambda x: lambda: command(HEFT, "digest", plain(x), "-j", 1, *QUIET)),
         ("sha256sum", lambda x: lambda: command("sha256sum", plain(x))))


def part_growth_convert(table, quick):
    """convert: a .pth of 1 MB to 1 GB to safetensors, against cp, and torch and huggingface_hub"""
    curve = Curve("convert", "convert a .pth to safetensors, without sync, the libraries in process", "bytes")
    with Peer() as peer:
        def torch(x):
            path = inputs.made(STORE / f"torch-{x}.pth",
                               lambda part: peer.ask("make_torch", path=str(part), size=x), x)
            inputs.warm(path)
            return path

        def mine(x):
            path = torch(x)
            return lambda: command(HEFT, "convert", path, "-o", fresh() / "out.safetensors", "--no-sync", *QUIET)

        def copied(x):
            path = torch(x)
            return lambda: command("cp", path, fresh() / "out.pth")

        def library(x):
            path = str(torch(x))
            return lambda: used(peer.ask("hub_shards", path=path, out=str(fresh()), limit=10 * x))
        inputs.use(torch(10**6))
        peer.ask("baseline")
        grow(table, curve, decades(6, 8 if quick else 9), 7, ("heft convert", mine), ("cp", copied),
             ("torch and huggingface_hub", library))
    fresh()


def text(size):
    """The beginning of the English text, in the page cache."""
    whole = texts.english((16 if size <= 16 * 10**6 else 100) * 10**6)
    path = inputs.made(STORE / f"english-first-{size}.txt", lambda part: part.write_bytes(whole.read_bytes()[:size]))
    inputs.warm(path)
    return path


def part_growth_encode(table, quick):
    """encode: English of 10 KB to 100 MB on one core, whole command, against gigatoken and tiktoken"""
    curve = Curve("encode", "encode English text on one core, heft as a command, the libraries in process", "bytes")
    most = texts.english((16 if quick else 100) * 10**6).stat().st_size
    sizes = [size for size in decades(4, 8) if size <= most]
    with contextlib.ExitStack() as stack:
        peers = {who: stack.enter_context(tokens.ready()) for who in ("gigatoken", "tiktoken")}

        def encoder(who, most):
            def work(x):
                path = str(text(x))
                return (lambda: used(peers[who].ask("first", who=who, path=path))) if x <= most else None
            return who, work

        def mine(x):
            path, out = text(x), STORE / "grown.bin"
            return lambda: (out.unlink(missing_ok=True), command(
                HEFT, "encode", path, "-o", out, "-q", "--no-sync", "-j1"))[1]
        for peer in peers.values():
            peer.ask("baseline")
        works = [encoder(who, most) for who, most in (("gigatoken", 10**9), ("tiktoken", 10**7))
                 if tokens.has(table, peers[who], who)]
        grow(table, curve, sizes, 7, ("heft encode -j1", mine), *works)
