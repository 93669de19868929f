#!/usr/bin/env python3
"""Writes the plain pickles of this directory with pickle.dump. Only their tensors are torch's.

    make.py [FOLDER]        version.txt contains the releases that wrote the present files

Each tensor contains its storage as a legacy torch stream in bytes, whose key is an address: it is replaced by a
number of the same length. Each file is loaded at the end.
"""
import collections
import pathlib
import pickle
import re
import sys
import types
import warnings

import numpy as np
import torch

warnings.simplefilter("ignore")
HERE = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else __file__)
HERE = HERE if HERE.is_dir() else HERE.parent
KEY = re.compile(rb"(?:\\u0000|[^0-9])([0-9]{14,15})(?![0-9])")


def dump(name, value, protocol):
    data = pickle.dumps(value, protocol=protocol)
    keys = list(dict.fromkeys(KEY.findall(data)))
    for i, key in enumerate(keys):
        data = data.replace(key, str(i + 1).rjust(2, "0").rjust(len(key), "9").encode())
    (HERE / name).write_bytes(data)
    return data


def state():
    weight = torch.arange(6.0).reshape(2, 3)
    return collections.OrderedDict(weight=weight, turned=weight.t(), tied=weight, half=torch.tensor([0.5, 2.0]).half(),
                                   count=torch.tensor(7), empty=torch.empty(0, 2),
                                   bytes=torch.tensor([200, 10, 0], dtype=torch.uint8))


class Forest:
    """A model of another library, unknown to heft."""

    def __init__(self):
        self.thresholds = np.array([0.25, 0.5])
        self.depth, self.classes = 3, np.array(["cat", "dog"])


def forest():
    module = types.ModuleType("woods")
    sys.modules["woods"] = module
    Forest.__module__, module.Forest = "woods", Forest
    return Forest()


def prove(name, wanted):
    got = pickle.loads((HERE / name).read_bytes())
    for key, tensor in wanted.items():
        assert got[key].dtype == tensor.dtype and torch.equal(got[key], tensor), (name, key)


def main():
    for protocol in range(6):
        dump(f"protocol{protocol}.pkl", state(), protocol)
        prove(f"protocol{protocol}.pkl", state())
    arrays = {"a": np.arange(6, dtype=np.float32).reshape(2, 3), "scalar": np.int16(-3), "text": "caf\u00e9", "none": None}
    dump("arrays2.pkl", arrays, 2)
    dump("arrays5.pkl", arrays, 5)
    dump("values.pkl", {"lr": 0.5, "steps": [1, 2, (3, None)], "big": 2**80, "names": {"a"}}, 4)
    dump("forest.pkl", forest(), 4)
    dump("tensor.pkl", torch.tensor([1, 2]), 4)
    dump("number.pkl", 7, 0)
    (HERE / "version.txt").write_text(f"torch {torch.__version__.split('+')[0]}, numpy {np.__version__}, "
                                      f"Python {sys.version_info[0]}.{sys.version_info[1]}\n")


if __name__ == "__main__":
    main()
