"""torch.export archives: heft's rows are the state_dict and the constants of torch.export.load."""

import pathlib
import warnings

import torch
from torch import nn

from common import HEFT_NAME, SAFE_DTYPES, Suite, heft, listing, raw


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(2, 3), nn.Linear(2, 3)
        self.second.weight = self.first.weight
        self.register_buffer("turned", torch.arange(6.0).reshape(2, 3).t())
        self.register_buffer("row", torch.arange(6.0)[2:4])
        self.register_buffer("passing", torch.ones(2), persistent=False)
        self.table = torch.arange(3)

    def forward(self, x):
        return self.first(x) + self.second(x) + self.turned[:, 0] + self.row[0] + self.passing[0] + self.table


class Typed(nn.Module):
    def __init__(self):
        super().__init__()
        for dtype in SAFE_DTYPES + [torch.complex128]:
            bits = torch.arange(48, dtype=torch.uint8)
            value = bits % 2 == 0 if dtype == torch.bool else bits.view(dtype)
            self.register_buffer("of_" + str(dtype).split(".")[1], value.clone())
        self.register_buffer("scalar", torch.tensor(5))
        self.register_buffer("nothing", torch.zeros(0, 3))

    def forward(self, x):
        return x + self.scalar


def modules():
    return {
        "model": (Model(), torch.zeros(1, 2)),
        "typed": (Typed(), torch.zeros(1)),
        "convolution": (nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2)).eval(), torch.zeros(1, 1, 4, 4)),
        "lstm": (nn.LSTM(2, 3), torch.zeros(1, 1, 2)),
        "nothing": (nn.ReLU(), torch.zeros(1)),
    }


def compare(suite, label, path):
    program = torch.export.load(path)
    rows = dict(program.state_dict)
    rows.update((f"constants.{name}", value) for name, value in program.constants.items())
    found, ran = listing(path)
    if not suite.check(found is not None, f"{label}: ls", ran.line):
        return
    suite.equal(sorted(found), sorted(rows), f"{label}: names")
    for name, tensor in rows.items():
        row = found.get(name)
        if row is None:
            continue
        suite.equal((row["dtype"], row["shape"]), (HEFT_NAME[tensor.dtype], list(tensor.shape)),
                    f"{label}: row {name}")
        got = heft("get", "-o", "-", "--", path, name)
        suite.check(got.status == 0 and got.out == raw(tensor), f"{label}: bytes of {name}", got.line)
    sound = heft("verify", "-q", path)
    suite.equal(sound.status, 0, f"{label}: verify: {sound.out.decode('utf-8', 'replace')}")
    suite.equal(heft("info", "--json", path).json["format"], "torch-export", f"{label}: format")


def run(folder):
    suite = Suite("torch.export archives as torch.export.load reads them")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, (module, example) in modules().items():
            path = pathlib.Path(folder) / f"{name}.pt2"
            torch.export.save(torch.export.export(module, (example,)), path)
            compare(suite, name, path)
    return suite
