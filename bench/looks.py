"""Parts of the bench: looking into a checkpoint: the tree of modules, the text of a tensor, the page."""

import inputs
from measure import HEFT, STORE, Peer, alternate, bytes_of, command, median, text_of
from opening import list_a_million


def part_tree(table, quick):
    """tree: prints the tree of a million tensors: time against 100 000, memory per tensor"""
    each = list_a_million(table, "tree of 1 000 000 tensors, whole command", "tree", 3 if quick else 7, 12)
    table.below("tree: memory a tensor beyond its name", each, 700, lambda value: f"{value:.0f}", " bytes")


def write_holes(path, shape):
    """A safetensors file of one F32 tensor without data."""
    size = 4 * shape[0] * shape[1]
    header = f'{{"w":{{"dtype":"F32","shape":[{shape[0]},{shape[1]}],"data_offsets":[0,{size}]}}}}'.encode()
    header += b" " * (-len(header) % 8)
    with open(path, "wb") as file:
        file.write(len(header).to_bytes(8, "little") + header)
        file.truncate(8 + len(header) + size)


def part_print(table, quick):
    """get: prints a tensor of 100 GB, against a program with numpy.memmap"""
    shape = (250_000, 100_000)
    path = inputs.made(STORE / "holes.safetensors", lambda part: write_holes(part, shape))
    program = (f"import numpy; print(numpy.memmap({str(path)!r}, numpy.float32, 'r', {path.stat().st_size} - "
               f"{4 * shape[0] * shape[1]}, {shape}))")
    with Peer() as peer:
        python = peer.ask("python")["path"]
        mine, theirs = alternate(9 if quick else 25, lambda: command(HEFT, "get", path, "w")[0],
                                 lambda: command(python, "-c", program)[0])
    table.below("print a tensor of 100 GB, whole command", median(mine), 0.01, text_of)
    table.faster("print a tensor of 100 GB, whole command", "numpy.memmap, whole program", median(mine),
                 median(theirs), 10)


def part_page(table, quick):
    """info: writes the page of a checkpoint of 10 000 tensors, against listing it"""
    path, page = inputs.many(10_000), STORE / "page.html"
    mine, listing = alternate(
        5 if quick else 15, lambda: command(HEFT, "info", path, "--html", page, "-f", "-q", "--no-sync"),
        lambda: command(HEFT, "ls", path)[0])
    work = f"`info --html` of 10 000 tensors, {page.stat().st_size / 1e6:.1f} MB"
    table.told(work, "heft ls", text_of(median([run[0] for run in mine])), text_of(median(listing)),
               f"{median([run[0] for run in mine]) / median(listing):.1f}×")
    table.below(f"{work}: peak RSS", max(run[1] for run in mine), 64 * 2**20, bytes_of)
    page.unlink()
