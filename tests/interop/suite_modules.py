"""The tree of modules: unfolded again, it must have exactly the names, dtypes, shapes and figures of the file."""

import collections
import json
import re

import generate
from common import Suite, heft
from suite_print import write_safetensors

ROUNDS = 150
SIZES = {"U8": 1, "F16": 2, "BF16": 2, "F32": 4}
WORDS = ["layers", "h", "blocks", "attn", "mlp", "weight", "bias", "norm", "conv1", "conv2", "a", "", "0", "01", "x/y"]


def random_tensors(rng):
    """Names with repeated subtrees, gaps, odd ones out, and any components."""
    tensors = {}

    def member():
        return rng.choice(list(SIZES)), [rng.randint(0, 3) for _ in range(rng.randint(0, 2))]

    for _ in range(rng.randint(0, 3)):
        prefix = "".join(rng.choice(WORDS) + "." for _ in range(rng.randint(0, 2)))
        block = {".".join(rng.choices(WORDS, k=rng.randint(1, 3))): member() for _ in range(rng.randint(1, 4))}
        step, numbers = rng.choice([1, 1, 2]), list(range(rng.randint(0, 3), rng.randint(4, 12)))
        rng.shuffle(numbers)
        for number in numbers:
            for name, what in block.items():
                if rng.random() < 0.97:
                    tensors[f"{prefix}{number * step}.{name}"] = what if rng.random() < 0.99 else member()
    for _ in range(rng.randint(0, 6)):
        tensors[".".join(rng.choices(WORDS, k=rng.randint(1, 5)))] = member()
    return tensors


def count_of(shape):
    total = 1
    for extent in shape:
        total *= extent
    return total


def separator_of(name):
    return "/" if "." not in name and "/" in name else "."


def indexes(node):
    """The names of the siblings that a node stands for."""
    if node["count"] == 1:
        return [node["name"]]
    head, number, tail = re.fullmatch(r"(.*?)(\d+)(\D*)", node["name"]).groups()
    names = [f"{head}{int(number) + node.get('step', 1) * i:0{len(number)}}{tail}" for i in range(node["count"])]
    assert names[-1] == node["last"], (names, node["last"])
    return names


def unfold(node, prefix, found):
    """Adds the tensors below a module to `found`; returns parameters and bytes."""
    parameters = size = 0
    for tensor in node["tensors"]:
        for name in indexes(tensor):
            found.append((*prefix, name, tensor["dtype"], tuple(tensor["shape"])))
        parameters += tensor["parameters"] * tensor["count"]
        size += tensor["bytes"] * tensor["count"]
    for child in node["children"]:
        for name in indexes(child):
            below = unfold(child, (*prefix, name), found)
        parameters += below[0] * child["count"]
        size += below[1] * child["count"]
    assert (parameters, size) == (node["parameters"], node["bytes"]), (prefix, parameters, size)
    return parameters, size


def canonical(tensors):
    """The nested modules of the tensors, and of each the set of its contents."""
    below = collections.defaultdict(set)
    for name, (dtype, shape) in tensors.items():
        parts = tuple(name.split(separator_of(name)))
        for depth in range(len(parts)):
            below[parts[:depth]].add((parts[depth:], dtype, tuple(shape)))
    return below


def repeated(below, parent, first, second):
    return below[(*parent, first)] == below[(*parent, second)] != set()


def missed_folds(node, prefix, below):
    """Neighbors that are equal and have consecutive numbers, but were not folded."""
    for left, right in zip(node["children"], node["children"][1:]):
        a, b = left.get("last", left["name"]), right["name"]
        if a.isdigit() and b.isdigit() and int(b) == int(a) + 1 and left.get("step", 1) == 1:
            if repeated(below, prefix, a, b):
                yield (*prefix, a, b)
    for child in node["children"]:
        yield from missed_folds(child, (*prefix, child["name"]), below)


def run(folder):
    suite = Suite("trees of modules, unfolded")
    rng = generate.source("modules")
    path = folder / "in.safetensors"
    for number in range(ROUNDS):
        tensors = random_tensors(rng)
        write_safetensors(path, {name: (dtype, shape, bytes(SIZES[dtype] * count_of(shape)))
                                 for name, (dtype, shape) in tensors.items()})
        ran = heft("tree", "--json", path)
        if not suite.check(ran.status == 0, f"tree {number}", ran.line):
            continue
        found, tree = [], json.loads(ran.out)
        unfold(tree, (), found)
        expected = [(*name.split(separator_of(name)), dtype, tuple(shape)) for name, (dtype, shape) in tensors.items()]
        suite.check(sorted(found) == sorted(expected), f"tree {number}: tensors",
                    f"{set(found) ^ set(expected)}")
        missed = list(missed_folds(tree, (), canonical(tensors)))
        suite.check(not missed, f"tree {number}: repeated modules", f"{missed[:3]}")
        text = heft("tree", path).out.decode().rstrip("\n").rsplit("\n", 1)[-1]
        suite.check(text.startswith(f"{len(tensors)} tensor"), f"tree {number}: totals", text)
    return suite
