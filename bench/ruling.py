"""Part of the bench: conversions by rules: tensors put together and rotary weights against cp, transposed ones
against torch."""

import resource

import inputs
from copying import GB, against_cp, fresh, settle, to_file
from inputs import made
from measure import STORE, Peer, alternate, bytes_of, median

RATE = 1.0  # GB/s of a transposition on one core that are required

# Runs of 4 KiB and longer: what it is, tensors, their dtype, the rule.
RUNS = (
    ("cat 0", {"a": [8192, 4096], "b": [8192, 4096]}, "float32", "a, b | cat 0 => w"),
    ("cat 1, runs of 16 KiB", {"a": [8192, 4096], "b": [8192, 4096]}, "float32", "a, b | cat 1 => w"),
    ("stack 0, cat 1 of 2 × 16 experts", {f"{name}.{number}": [2048, 1024] for number in range(16) for name in "gu"},
     "float32", "g.{E}, u.{E} | stack 0 | cat 1 => w"),
    ("rotary permutation, runs of 16 KiB", {"w": [16384, 4096]}, "float32",
     "w | reshape 128 64 2 4096 | transpose 1 2 | reshape 16384 4096 => w"),
)
# Transpositions: what it is, shape, dtype, order.
TURNS = (
    ("F32 [4096,4096] transposed", [4096, 4096], "float32", [1, 0]),
    ("BF16 [8192,4096] transposed", [8192, 4096], "bfloat16", [1, 0]),
    ("F32 HWIO [3,3,1024,1792] to OIHW", [3, 3, 1024, 1792], "float32", [3, 2, 0, 1]),
    ("F32 [128256,1024] transposed", [128256, 1024], "float32", [1, 0]),
)


def layout(peer, name, shapes, dtype):
    """A safetensors file of random tensors."""
    return made(STORE / f"layout-{name}.safetensors",
                lambda part: peer.ask("make_layout", path=str(part), shapes=shapes, dtype=dtype), GB // 4)


def rules_of(name, rule):
    path = STORE / f"{name}.rules"
    path.write_text(f'rules "{name}"\n{rule}\n')
    return path


def by_rules(path, rules, *more):
    return to_file(path, "out.safetensors", "--rules", rules, *more)


def processor(work):
    """The result of `work`, and the processor time of the commands that it ran."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    result = work()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return result, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def turn(table, peer, name, kind, quick):
    """Rows of a transposition: one thread of heft, and torch with one thread, from file to file."""
    work, shape, dtype, order = kind
    path = layout(peer, name, {"w": shape}, dtype)
    inputs.warm(path)
    size = path.stat().st_size
    rules = rules_of(name, f"w | permute {' '.join(map(str, order))} => w")

    def library():
        return peer.ask("torch_permuted", path=str(path), order=order, out=str(fresh() / "out.safetensors"))["seconds"]
    found, theirs = alternate(5 if quick else 15, lambda: processor(lambda: by_rules(path, rules, "-j", "1")), library,
                              settle)
    runs, times = zip(*found)
    seconds = median([run[0] for run in runs])
    table.told(f"{work}, {size / 1e6:.0f} MB, `--rules`, one thread", "load_file, contiguous, save_file of torch",
               f"{seconds:.3f} s", f"{median(theirs):.3f} s", f"{median(theirs) / seconds:.1f}×")
    table.add(f"{work}: read, transposed and written, by processor time", "–", f"{size / min(times) / GB:.1f} GB/s", "–",
              "–", f"≥ {RATE} GB/s", size >= RATE * GB * min(times))
    table.below(f"{work}: peak RSS", max(run[1] for run in runs), 64 * 2**20, bytes_of)


def part_rules(table, quick):
    """convert: --rules that put tensors together, of runs of 4 KiB and longer, against cp; transpositions"""
    with Peer() as peer:
        files = [layout(peer, f"runs-{number}", shapes, dtype)
                 for number, (_, shapes, dtype, _) in enumerate(RUNS)]
        for number, ((work, _, _, rule), path) in enumerate(zip(RUNS, files)):
            rules = rules_of(f"runs-{number}", rule)
            against_cp(table, f"`--rules`: {work}, {path.stat().st_size / 1e6:.0f} MB", path,
                       lambda path=path, rules=rules: by_rules(path, rules), quick)
        for number, kind in enumerate(TURNS):
            turn(table, peer, f"turn-{number}", kind, quick)
    fresh()
