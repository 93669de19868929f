"""Random rules on random tensors: the results are those of numpy's operations, and --reverse gives the inputs back.

A case is a chain of operations on each tensor, then perhaps a join of several tensors or a division into several. Sizes
are written as expressions of the names a, b and c, as a person would write them. HEFT_RULES_CASES: how many cases."""

import os
import random

import numpy
from common import Suite, heft
from safetensors.numpy import load_file, save_file

CASES = int(os.environ.get("HEFT_RULES_CASES", "300"))
DTYPES = [numpy.float32, numpy.float16, numpy.uint8]


class Dims:
    """Extents of a tensor on its way, each as an expression and as a number."""

    def __init__(self, dims):
        self.dims = list(dims)

    def __len__(self):
        return len(self.dims)

    def size(self, axis):
        return self.dims[axis][1]

    def sizes(self):
        return [size for _, size in self.dims]

    def text(self):
        return "[" + ", ".join(text for text, _ in self.dims) + "]"

    def extents(self):
        return " ".join(text for text, _ in self.dims)

    def replaced(self, axis, *dims):
        return Dims([*self.dims[:axis], *dims, *self.dims[axis + 1:]])


def divisor(draw, size):
    return draw.choice([n for n in (2, 3, 4) if size % n == 0] or [0])


# Each operation draws its arguments: (text of the op, the same in numpy, dimensions after it), or None if it cannot.

def permute(draw, dims):
    order = draw.sample(range(len(dims)), len(dims))
    after = Dims(dims.dims[i] for i in order)
    return (f"permute {' '.join(map(str, order))}", lambda x: x.transpose(order), after) if order else None


def transpose(draw, dims):
    if len(dims) < 2:
        return None
    a, b = draw.sample(range(len(dims)), 2)
    order = list(range(len(dims)))
    order[a], order[b] = b, a
    return f"transpose {a} {b}", lambda x: x.swapaxes(a, b), Dims(dims.dims[i] for i in order)


def merge(draw, dims):
    if len(dims) < 2:
        return None
    i = draw.randrange(len(dims) - 1)
    (left, m), (right, n) = dims.dims[i:i + 2]
    after = Dims([*dims.dims[:i], (f"{left}*{right}", m * n), *dims.dims[i + 2:]])
    return f"reshape {after.extents()}", lambda x: x.reshape(after.sizes()), after


def divide(draw, dims):
    axis = draw.randrange(len(dims)) if len(dims) else 0
    n = divisor(draw, dims.size(axis)) if 0 < len(dims) < 7 else 0
    if not n:
        return None
    text, size = dims.dims[axis]
    after = dims.replaced(axis, (f"{text}/{n}", size // n), (str(n), n))
    return f"reshape {after.extents()}", lambda x: x.reshape(after.sizes()), after


def unsqueeze(draw, dims):
    axis = draw.randrange(len(dims) + 1)
    after = Dims([*dims.dims[:axis], ("1", 1), *dims.dims[axis:]])
    return (f"unsqueeze {axis}", lambda x: numpy.expand_dims(x, axis), after) if len(dims) < 7 else None


def squeeze(draw, dims):
    ones = [i for i, dim in enumerate(dims.dims) if dim == ("1", 1)]
    axis = draw.choice(ones) if ones else 0
    return (f"squeeze {axis}", lambda x: x.squeeze(axis), dims.replaced(axis)) if ones else None


def reorder(draw, dims):
    axis = draw.randrange(len(dims)) if len(dims) else 0
    n = divisor(draw, dims.size(axis)) if len(dims) else 0
    order = draw.sample(range(n), n)

    def run(x):
        blocks = numpy.split(x, n, axis)
        return numpy.concatenate([blocks[i] for i in order], axis)
    return (f"reorder {axis} {' '.join(map(str, order))}", run, dims) if n else None


OPERATIONS = [permute, transpose, merge, divide, unsqueeze, squeeze, reorder]


def chain(draw, dims):
    """A few operations one behind the other: their texts, the function of all, the dimensions after them."""
    texts, steps = [], []
    for _ in range(draw.randrange(6)):
        made = draw.choice(OPERATIONS)(draw, dims)
        if made:
            texts.append(made[0])
            steps.append(made[1])
            dims = made[2]

    def run(x):
        for step in steps:
            x = step(x)
        return x
    return texts, run, dims


class Case:
    """Text of the rules, tensors that go in, tensors that come out."""

    def __init__(self, draw):
        self.draw, self.count = draw, 0
        self.dtype = draw.choice(DTYPES)
        self.before = Dims((name, draw.choice([1, 2, 3, 4, 6, 12])) for name in "abc"[:draw.randrange(4)])
        self.texts, self.run, self.after = chain(draw, self.before)
        self.inputs, self.expected, self.rule = {}, {}, None
        draw.choice([self.alone, self.joined, self.divided, self.spread])()

    def tensor(self):
        n = int(numpy.prod(self.before.sizes(), dtype=int))
        self.count += n
        values = numpy.arange(self.count - n, self.count) % (250 if self.dtype == numpy.uint8 else 2000)
        return values.astype(self.dtype).reshape(self.before.sizes())

    def layers(self):
        """The same tensor in two layers."""
        for layer in (0, 11):
            self.inputs[f"x.{layer}.w"] = self.tensor()
            yield layer, self.run(self.inputs[f"x.{layer}.w"])

    def write(self, left, ops, right, let=""):
        self.rule = f"{let}{left} {''.join(f'| {op} ' for op in [*self.texts, *ops])}<=> {right}\n"

    def alone(self):
        for layer, x in self.layers():
            self.expected[f"y.{layer}"] = x
        self.write(f"x.{{L}}.w {self.before.text()}", [], f"y.{{L}} {self.after.text()}")

    def join(self, lists):
        """A stack, or a cat, of each list: its text, the results, the dimensions after it."""
        n, dims = len(lists[0]), self.after
        if len(dims) == 0 or self.draw.random() < 0.5:
            axis = self.draw.randrange(len(dims) + 1)
            self.after = Dims([*dims.dims[:axis], (str(n), n), *dims.dims[axis:]])
            return f"stack {axis}", [numpy.stack(items, axis) for items in lists]
        axis = self.draw.randrange(len(dims))
        text, size = dims.dims[axis]
        self.after = dims.replaced(axis, (f"{n}*({text})", n * size))
        return f"cat {axis}", [numpy.concatenate(items, axis) for items in lists]

    def joined(self):
        """Of a number up to 11, in the file in the order of text; perhaps two names beside each other."""
        n, names = self.draw.choice([1, 2, 11]), self.draw.choice([["u"], ["u", "v"]])
        for i in sorted(range(n), key=str):
            for name in names:
                self.inputs[f"x.{i}.{name}"] = self.tensor()
        lists = [[self.run(self.inputs[f"x.{i}.{name}"]) for i in range(n)] for name in names]
        op, results = self.join(lists)
        ops, let = [op], f"let $E = given else {n}\n" if op.startswith("cat") else ""
        if len(names) > 1:
            op, results = self.join([results])
            ops.append(op)
        self.expected["y"] = results[0]
        self.write(", ".join(f"x.{{E}}.{name} {self.before.text()}" for name in names), ops, f"y {self.after.text()}", let)

    def division(self):
        """Text of a split or unstack, its axis and parts, as functions of a tensor."""
        axis = self.draw.randrange(len(self.after)) if len(self.after) else None
        if axis is None:
            return None
        size = self.after.size(axis)
        if size <= 6 and self.draw.random() < 0.5:
            return f"unstack {axis}", axis, size, lambda x: [x.take(i, axis) for i in range(size)]
        n = divisor(self.draw, size)
        return (f"split {axis}", axis, n, lambda x: numpy.split(x, n, axis)) if n else None

    def part_text(self, op, axis, n):
        text, size = self.after.dims[axis]
        if op.startswith("unstack"):
            return self.after.replaced(axis).text()
        return self.after.replaced(axis, (f"({text})/{n}", size // n)).text()

    def divided(self):
        """Into several names."""
        made = self.division()
        if made is None or made[2] < 2:
            return self.alone()
        op, axis, n, parts = made
        for layer, x in self.layers():
            self.expected |= {f"y{i}.{layer}": part for i, part in enumerate(parts(x))}
        shape = self.part_text(op, axis, n)
        return self.write(f"x.{{L}}.w {self.before.text()}", [op], ", ".join(f"y{i}.{{L}} {shape}" for i in range(n)))

    def spread(self):
        """Into a number."""
        made = self.division()
        if made is None:
            return self.alone()
        op, axis, n, parts = made
        for layer, x in self.layers():
            self.expected |= {f"y.{layer}.{i}": part for i, part in enumerate(parts(x))}
        let = f"let $E = given else {n}\n" if op.startswith("split") else ""
        return self.write(f"x.{{L}}.w {self.before.text()}", [op], f"y.{{L}}.{{E}} {self.part_text(op, axis, n)}", let)


def same(found, expected):
    def facts(x):
        return x.dtype, x.shape, x.tobytes()
    return found.keys() == expected.keys() and all(facts(found[name]) == facts(x) for name, x in expected.items())


def check(suite, folder, seed):
    """True if the rule has a way back; one whose sizes the right side does not tell is refused."""
    case, rules = Case(random.Random(seed)), folder / "r.rules"
    there, back = folder / "there.safetensors", folder / "back.safetensors"
    rules.write_text(case.rule)
    save_file(case.inputs, folder / "in.safetensors")
    options = ["-q", "-f", "--no-sync", "--verify", "--rules", rules]
    done = heft("convert", folder / "in.safetensors", "-o", there, *options)
    if done.status == 2 and b"is not known from the right side, for the way back" in done.err:
        rules.write_text(case.rule.replace("<=>", "=>"))
        done = heft("convert", folder / "in.safetensors", "-o", there, *options)
        suite.check(done.status == 0 and same(load_file(there), case.expected), f"case {seed}, forward: {case.rule}", done.line)
        return False
    good = suite.check(done.status == 0 and same(load_file(there), case.expected), f"case {seed}: {case.rule}", done.line)
    if good:
        done = heft("convert", there, "-o", back, *options, "--reverse")
        suite.check(done.status == 0 and same(load_file(back), case.inputs), f"case {seed}, back: {case.rule}", done.line)
    return True


def run(folder):
    suite = Suite("random rules, beside numpy")
    both_ways = sum(check(suite, folder, seed) for seed in range(CASES))
    suite.check(both_ways > CASES // 2, "most of the rules have a way back", f"{both_ways} of {CASES}")
    return suite
