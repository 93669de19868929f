"""Parts of the bench: start, opening and listing, pickles, scan."""

import pickletools
import zipfile

import inputs
from copying import GB
from measure import HEFT, OpenList, Peer, alternate, command, interpreter, median, spaced, text_of


def part_start(table, quick):
    """start: a command starts in at most 2 ms"""
    times = [command(HEFT, "--version")[0] for _ in range(60 if quick else 200)]
    table.below("start to exit of `heft --version`", median(times), 0.002, text_of)


def part_open(table, quick):
    """ls: opens and lists a sparse 13 GB checkpoint: in process, and with the complete command"""
    with Peer() as peer:
        path = inputs.sparse(peer)
        mine = OpenList(path)
        for _ in range(3):
            mine.round()
            peer.ask("torch_open", path=str(path))
        inside, library, whole = [], [], []
        for _ in range(10 if quick else 25):
            inside += [mine.round()[0] for _ in range(8)]
            library.append(peer.ask("torch_open", path=str(path))["seconds"])
            whole += [command(HEFT, "ls", path)[0] for _ in range(4)]
        tensors = mine.round()[1]
        mine.close()
    size = path.stat().st_size / GB
    against = "torch.load(mmap, weights_only)"
    work = f"open and list {tensors} tensors, {size:.1f} GB `.pth`"
    table.faster(f"{work}, in process", against, median(inside), median(library), 100)
    table.faster(f"{work}, whole command", against, median(whole), median(library), 10)


def part_names(table, quick):
    """ls: lists a safetensors file of 100 000 tensors"""
    path = inputs.many(100_000)
    with Peer() as peer:
        rounds = 5 if quick else 11
        alone, shapes, whole = [], [], []
        for _ in range(rounds):
            alone.append(peer.ask("safe_names", path=str(path))["seconds"])
            whole.append(command(HEFT, "ls", path)[0])
            shapes.append(peer.ask("safe_shapes", path=str(path))["seconds"])
            whole.append(command(HEFT, "ls", path)[0])
    work = "list 100 000 tensors of a safetensors file, whole command"
    table.faster(work, "safetensors, open alone", median(whole), median(alone), 10)
    table.faster(work, "safetensors, with shapes", median(whole), median(shapes), 8)


def list_a_million(table, work, verb, rounds, most):
    """Adds the row of a verb's time for a million tensors against 100 000, and returns the bytes of memory that a
    tensor takes beyond its name."""
    small, large = inputs.many(100_000), inputs.many(1_000_000)
    tenth, full = alternate(rounds, lambda: command(HEFT, verb, small), lambda: command(HEFT, verb, large))
    floor = command(HEFT, "--version")[1]
    table.within(work, "heft on 100 000", median([run[0] for run in full]), median([run[0] for run in tenth]), most)
    return (max(run[1] for run in full) - floor) / 1_000_000 - len(inputs.name_of(0))


def part_million(table, quick):
    """ls: lists one of a million tensors: time against 100 000, memory per tensor"""
    each = list_a_million(table, "list 1 000 000 tensors, whole command", "ls", 5 if quick else 9, 11)
    table.below("memory a tensor beyond its name", each, 400, lambda value: f"{value:.0f}", " bytes")


def opcodes_of(path):
    with zipfile.ZipFile(path) as archive:
        name = next(name for name in archive.namelist() if name.endswith("/data.pkl"))
        return sum(1 for _ in pickletools.genops(archive.read(name)))


def part_pickle(table, quick):
    """ls: opens a pickle of a million opcodes, and traces one of 100 000"""
    with Peer() as peer:
        large, small = inputs.dictionary(peer, 33_000), inputs.dictionary(peer, 3_300)
    rounds = 5 if quick else 11
    table.below(f"open and list a pickle of {spaced(opcodes_of(large))} opcodes, whole command",
                median([command(HEFT, "ls", large)[0] for _ in range(rounds)]), 0.5, text_of)
    table.under("explain")
    table.below(f"`explain --trace` of {spaced(opcodes_of(small))} opcodes, whole command",
                median([command(HEFT, "explain", "--trace", small)[0] for _ in range(rounds)]), 1,
                text_of)


def part_scan(table, quick):
    """scan: a sparse 13 GB checkpoint, against picklescan, both as complete commands"""
    with Peer() as peer:
        path = inputs.sparse(peer)
    picklescan = interpreter("scan").with_name("picklescan")
    mine, theirs = alternate(9 if quick else 25, lambda: command(HEFT, "scan", path)[0],
                             lambda: command(picklescan, "-p", path)[0])
    table.faster(f"scan {path.stat().st_size / GB:.1f} GB `.pth`, whole command", "picklescan -p",
                 median(mine), median(theirs), 50)
