"""Random state dicts: every dtype, views, ties, odd sizes, odd names. The seed determines all of it."""

import collections
import random

import torch

from common import DTYPES

WORDS = ["weight", "bias", "gamma", "q_proj", "k_proj", "embed", "norm", "layers", "blocks", "head"]
ODD_NAMES = ["", " ", "a b", "ключ", "重み.0", "naïve", "\U0001f600", "quote\"d",
             "back\\slash", "tab\t", "line\nfeed", "slash/name", "-dash", "*", "[0]", "%s", "\u2028",
             "\x7f", "$HOME", "a..b", "UPPER", "ß", "e\u0301"]
# Kinds of views of a storage; the usual ones are more frequent.
VIEWS = (["tie"] * 5 + ["slice"] * 3 + ["reshape"] * 3 + ["stride", "empty", "expand", "transpose",
                                                         "column", "permute", "as_strided"])


def name_of(rng, taken):
    while True:
        if rng.random() < 0.12:
            name = rng.choice(ODD_NAMES)
        else:
            parts = [rng.choice(WORDS) for _ in range(rng.randint(1, 3))]
            if rng.random() < 0.6:
                parts.insert(rng.randint(0, len(parts)), str(rng.randint(0, 30)))
            name = ".".join(parts)
        if name not in taken and name != "__metadata__":
            taken.add(name)
            return name


def shape_of(rng, most=400):
    """Mostly small; sometimes scalars and empty shapes."""
    chance = rng.random()
    if chance < 0.08:
        return ()
    rank = rng.choice([1, 1, 2, 2, 2, 3, 4, 5])
    if chance < 0.16:
        shape = [rng.randint(0, 5) for _ in range(rank)]
        shape[rng.randrange(rank)] = 0
        return tuple(shape)
    shape, left = [], most
    for _ in range(rank):
        size = rng.randint(1, max(1, min(40, left)))
        shape.append(size)
        left //= size
    return tuple(shape)


def random_tensor(rng, dtype, shape):
    """Random bits, which include every NaN payload, infinity and denormal."""
    count = 1
    for size in shape:
        count *= size
    if count == 0:
        return torch.empty(shape, dtype=dtype)
    size = count * dtype.itemsize
    data = bytearray(rng.randbytes(size))
    if dtype == torch.bool:
        data = bytearray(byte & 1 for byte in data)
    return torch.frombuffer(data, dtype=torch.uint8).clone().view(dtype).reshape(shape)


def view_of(rng, base):
    """A tensor on the base's storage with another view than the base."""
    kind = rng.choice(VIEWS)
    flat = base.reshape(-1)
    count = flat.numel()
    if kind == "transpose" and base.dim() >= 2:
        return base.transpose(0, base.dim() - 1)
    if kind == "slice" and count > 1:
        start = rng.randrange(count - 1)
        return flat[start:rng.randint(start + 1, count)]
    if kind == "stride" and count > 2:
        return flat[rng.randint(0, 1)::rng.randint(2, 3)]
    if kind == "reshape":
        return flat
    if kind == "column" and base.dim() >= 2 and count:
        return base[..., rng.randrange(base.shape[-1])]
    if kind == "empty":
        start = rng.randint(0, count)
        return flat[start:start]
    if kind == "expand" and count:
        return flat[:1].expand(rng.randint(2, 9))
    if kind == "permute" and base.dim() >= 3:
        return base.permute(*rng.sample(range(base.dim()), base.dim()))
    if kind == "as_strided" and count >= 8:
        return flat.as_strided((3, 3), (2, 1), rng.randint(0, 1))
    return base


def special(rng):
    """Tensors without shared storages that only torch has: conjugated, negated, parts of complex ones, a
    parameter."""
    base = random_tensor(rng, torch.complex64, (rng.randint(2, 6), 3))
    chance = rng.randrange(5)
    if chance == 0:
        return base.conj()
    if chance == 1:
        return base.conj().imag
    if chance == 2:
        return base.real
    if chance == 3:
        return torch.nn.Parameter(random_tensor(rng, torch.float32, (4, 5)))
    return random_tensor(rng, torch.float32, (2, 3, 4, 5)).to(memory_format=torch.channels_last)


def flat_dict(rng, dtypes, views=0.3, lone=0.1, specials=0.0, most=400, tensors=(1, 14)):
    """A state dict with unsorted names; some tensors share the storage of an earlier one, others are a
    part of a storage of their own."""
    state, taken, bases = collections.OrderedDict(), set(), []
    for _ in range(rng.randint(*tensors)):
        name = name_of(rng, taken)
        if rng.random() < specials:
            state[name] = special(rng)
        elif bases and rng.random() < views:
            state[name] = view_of(rng, rng.choice(bases))
        else:
            base = random_tensor(rng, rng.choice(dtypes), shape_of(rng, most))
            state[name] = base
            if rng.random() < lone and base.numel() > 1:
                state[name] = view_of(rng, base)
            else:
                bases.append(base)
    return state


def leaf(rng):
    return rng.choice([3, -1, 2**40, 2**70, 0.5, float("inf"), "text", "", None, True, b"bytes",
                       torch.Size([2, 3]), torch.float16, torch.device("cpu"), [], {}, (), [1, [2.5]]])


def nested(rng, depth=0):
    """A training checkpoint: dictionaries, lists and tuples of tensors among other values."""
    dtypes = [dtype for dtype, _, _ in DTYPES]
    tree = collections.OrderedDict() if rng.random() < 0.5 else {}
    for index in range(rng.randint(1, 4)):
        key = f"{rng.choice(WORDS)}{index}" if rng.random() < 0.8 else index
        chance = rng.random()
        if chance < 0.35 and depth < 3:
            tree[key] = nested(rng, depth + 1)
        elif chance < 0.5:
            items = [random_tensor(rng, rng.choice(dtypes), shape_of(rng)), leaf(rng),
                     nested(rng, depth + 1) if depth < 2 else 1]
            tree[key] = tuple(items) if rng.random() < 0.5 else items
        elif chance < 0.85:
            tree[key] = random_tensor(rng, rng.choice(dtypes), shape_of(rng))
        else:
            tree[key] = leaf(rng)
    return tree


def source(seed):
    return random.Random(f"heft interop {seed}")
