#!/usr/bin/env python3
"""Writes the golden files of this folder with ExecuTorch's exporter.

    python make.py            # made with executorch 1.5.1, torch 2.13.0
"""
from pathlib import Path

import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import ExecutorchBackendConfig, to_edge, to_edge_transform_and_lower

HERE = Path(__file__).resolve().parent


class Tied(torch.nn.Module):
    """Two layers whose equal weights the exporter stores once."""

    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(3, 3)
        self.second = torch.nn.Linear(3, 3)
        self.second.load_state_dict(self.first.state_dict())

    def forward(self, x):
        return self.second(self.first(x) + 1.5)


def save(name, program):
    with open(HERE / (name + ".pte"), "wb") as file:
        program.write_to_file(file)


def main():
    torch.manual_seed(5)
    model, value = Tied().eval(), torch.ones(1, 3)
    exported = torch.export.export(model, (value,), strict=True)
    save("inside", to_edge(exported).to_executorch(ExecutorchBackendConfig()))
    save("outside", to_edge(exported).to_executorch(ExecutorchBackendConfig(external_constants=True)))
    save("delegate", to_edge_transform_and_lower(
        exported, partitioner=[XnnpackPartitioner()]).to_executorch(ExecutorchBackendConfig()))


if __name__ == "__main__":
    main()
