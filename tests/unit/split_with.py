#!/usr/bin/env python3
"""Writes split_with.inc: results of the hub's split for some dictionaries.

    python split_with.py        # made with huggingface_hub 0.36.2
"""
from pathlib import Path

from huggingface_hub import split_state_dict_into_shards_factory

# (name, bytes, storage; 0: none); a text stands for a value that is not a tensor
CASES = [
    (10, [("a", 6, 0), ("b", 6, 0), ("c", 2, 0), ("d", 6, 0), ("e", 2, 0), ("f", 2, 0)]),
    (100, [("a", 6, 0), ("b", 10, 0)]),
    (10, [("a", 4, 0), ("b", 4, 0), ("big", 11, 0), ("c", 4, 0)]),
    (1, [("a", 1, 1), ("b", 2, 2), ("c", 1, 1), ("d", 2, 2), ("e", 1, 1)]),
    (10, [("a", 20, 1), ("b", 1, 0), ("c", 20, 1)]),
    (10, [("b", 3, 1), ("a", 2, 0), ("c", 3, 1)]),
    (10, [("a", 6, 0), ("t", "text", 0), ("b", 6, 0)]),
    (10, [("t", "text", 0)]),
    (10, []),
    (0, [("a", 1, 0), ("b", 0, 0), ("c", 0, 0)]),
]


def split(limit, items):
    values = {name: size if isinstance(size, str) else (size, storage) for name, size, storage in items}
    return split_state_dict_into_shards_factory(
        values, get_storage_size=lambda v: v[0], get_storage_id=lambda v: v[1] or None
        if isinstance(v, tuple) else None, filename_pattern="f{suffix}.x", max_shard_size=limit)


def entry(limit, items):
    done = split(limit, items)
    cells = ", ".join(f'{{"{n}", {0 if isinstance(s, str) else s}, {i}, {str(isinstance(s, str)).lower()}}}'
                      for n, s, i in items) or "{NULL, 0, 0, false}"
    files = "; ".join(f"{f}: {' '.join(names)}" for f, names in done.filename_to_tensors.items())
    return f'    {{{{{cells}}}, {limit}, {done.metadata["total_size"]}, "{files}"}},\n'


Path(__file__).with_name("split_with.inc").write_text(
    "/* made by split_with.py */\n" + "".join(entry(*case) for case in CASES))
