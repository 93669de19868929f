#!/usr/bin/env python3
"""Writes the golden files of this directory with ExecuTorch's exporter.

    python make.py            # made with executorch 1.5.1, torch 2.13.0
"""
from pathlib import Path
from unittest import mock

import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import ExecutorchBackendConfig, to_edge, to_edge_transform_and_lower
from executorch.exir._serialize import _program
from executorch.exir.passes.init_mutable_pass import InitializedMutableBufferPass
from executorch.exir.schema import DataSegment, ExtraTensorInfo, SubsegmentOffsets, Tensor

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


class Counting(torch.nn.Module):
    """Two mutable buffers with initial values."""

    def __init__(self):
        super().__init__()
        self.register_buffer("steps", torch.tensor([7.0, 8.0, 9.0]))
        self.register_buffer("seen", torch.tensor([[1, 2], [3, 4]], dtype=torch.int32))

    def forward(self, x):
        self.steps.add_(x)
        self.seen.add_(1)
        return self.steps * 1.0, self.seen + 0


def split_mutable(program):
    """The exporter puts all initial values into one segment: here each has its own segment, as the
    schema allows (the runtime of 1.5.1 reads only the first)."""
    one, = program.mutable_data_segments
    whole = program.segments[one.segment_index]
    begins = one.offsets[1:]
    tensors = [value.val for value in program.execution_plan[0].values if isinstance(value.val, Tensor)
               and value.val.allocation_info and value.val.data_buffer_idx]
    program.mutable_data_segments = []
    for i, (begin, end) in enumerate(zip(begins, [*begins[1:], whole.size])):
        program.mutable_data_segments.append(SubsegmentOffsets(len(program.segments), [0, 0]))
        program.segments.append(DataSegment(whole.offset + begin, end - begin))
        for tensor in tensors:
            if tensor.data_buffer_idx == i + 1:
                tensor.extra_tensor_info = tensor.extra_tensor_info or ExtraTensorInfo()
                tensor.extra_tensor_info.mutable_data_segments_idx = i
    for tensor in tensors:
        tensor.data_buffer_idx = 1
    return program


def several():
    exported = torch.export.export(Counting().eval(), (torch.ones(3),), strict=True)
    edge, put = to_edge(exported), _program._program_to_flatbuffer
    config = ExecutorchBackendConfig(passes=[InitializedMutableBufferPass(["steps", "seen"])],
                                     emit_mutable_buffer_names=True)
    with mock.patch.object(_program, "_program_to_flatbuffer",
                           lambda program, **options: put(split_mutable(program), **options)):
        save("several", edge.to_executorch(config))


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
    several()


if __name__ == "__main__":
    main()
