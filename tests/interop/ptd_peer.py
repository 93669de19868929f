"""ExecuTorch's serializer, exporter and runtime; requests and answers:

    {"do": "write", "path": …, "alignment": n, "share": bool, "entries":
        [{"key": …, "data": hex, "alignment": n, "layout": [type, sizes, order] or null}, …]}  →  true
    {"do": "read", "path": …}  →  {key: [layout or null, hex], …}
    {"do": "list", "path": …}  →  seconds of the deserializer
    {"do": "schema"}  →  path of the schema of .ptd
    {"do": "export", "folder": …, "kind": …, "seed": n}  →  names of the files of a small model
    {"do": "run", "program": …, "data": …, "input": hex, "shape": […]}  →  {"output": hex} or {"error": …}

Runs in its own environment (requirements-ptd.txt).
"""

import pathlib
import sys
import time

import numpy
import torch
from answer import serve
from executorch.exir._serialize._cord import Cord
from executorch.exir._serialize._named_data_store import NamedDataStore
from executorch.exir._serialize.data_serializer import DataEntry, DataPayload
from executorch.exir.scalar_type import ScalarType
from executorch.exir.tensor_layout import TensorLayout
from executorch.extension.flat_tensor.serialize.serialize import FlatTensorConfig, FlatTensorSerializer


def layout_of(said):
    if said is None:
        return None
    number, sizes, order = said
    known = number in [member.value for member in ScalarType]
    return TensorLayout(ScalarType(number) if known else number, sizes, order)


def payload_of(entries, share):
    """With `share`, equal bytes become one buffer, as in the exporter's store."""
    if not share:
        buffers = [bytes.fromhex(entry["data"]) for entry in entries]
        return DataPayload(buffers, {
            entry["key"]: DataEntry(index, entry.get("alignment", 1), layout_of(entry["layout"]))
            for index, entry in enumerate(entries)})
    store = NamedDataStore()
    for entry in entries:
        store.add_named_data(entry["key"], bytes.fromhex(entry["data"]), entry.get("alignment", 1), "x",
                             layout_of(entry["layout"]))
    output = store.get_named_data_store_output()
    return DataPayload(output.buffers, output.external_data.get("x", {}))


def write(path, alignment, share, entries):
    serializer = FlatTensorSerializer(FlatTensorConfig(segment_alignment=alignment))
    data = bytes(serializer.serialize(payload_of(entries, share)))
    pathlib.Path(path).write_bytes(data)
    return True


def read(path):
    payload = FlatTensorSerializer().deserialize(Cord(pathlib.Path(path).read_bytes()))
    rows = {}
    for key, entry in payload.named_data.items():
        layout = entry.tensor_layout
        rows[key] = [layout and [int(layout.scalar_type), list(layout.sizes), list(layout.dim_order)],
                     bytes(payload.buffers[entry.buffer_index]).hex()]
    return rows


def list_entries(path):
    data = pathlib.Path(path).read_bytes()
    start = time.perf_counter()
    FlatTensorSerializer().deserialize(Cord(data))
    return time.perf_counter() - start


def schema():
    return str(pathlib.Path(sys.modules[FlatTensorSerializer.__module__].__file__).with_name("flat_tensor.fbs"))


class Dense(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = torch.nn.Embedding(11, 6)
        self.norm1 = torch.nn.LayerNorm(6)
        self.norm2 = torch.nn.LayerNorm(6)
        self.linear = torch.nn.Linear(6, 4)

    def forward(self, x):
        return self.linear(self.norm2(self.norm1(self.embed(x.long()).mean(1))))


class Conv(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Conv2d(3, 4, 3, bias=True)
        self.second = torch.nn.Conv2d(4, 2, 1)

    def forward(self, x):
        return self.second(torch.relu(self.first(x)))


class Lowered(torch.nn.Module):
    """Layers that XNNPACK takes, and others that remain outside of it; two biases are equal."""

    def __init__(self):
        super().__init__()
        self.embed = torch.nn.Embedding(11, 6)
        self.first = torch.nn.Conv2d(2, 3, 2)
        self.each = torch.nn.Conv2d(3, 3, 2, groups=3)
        self.point = torch.nn.Conv2d(3, 4, 1)
        self.linear = torch.nn.Linear(4, 3)
        with torch.no_grad():
            self.each.bias.copy_(self.first.bias)

    def forward(self, x):
        x = self.embed(x.long()).reshape(1, 2, 3, 6)
        x = self.point(torch.relu(self.each(torch.relu(self.first(x)))))
        return self.linear(x.mean((2, 3)))


KINDS = {"dense": (Dense, lambda: torch.arange(6, dtype=torch.float32).reshape(2, 3)),
         "lowered": (Lowered, lambda: torch.arange(6, dtype=torch.float32).reshape(2, 3)),
         "conv": (Conv, lambda: torch.linspace(-1, 1, 75).reshape(1, 3, 5, 5))}


def lower(model, value, folder):
    """A program of XNNPACK whose weights are in a .ptd under the SHA-256 of their bytes."""
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
    from executorch.exir import ExecutorchBackendConfig, to_edge_transform_and_lower
    from executorch.exir.passes.external_constants_pass import delegate_external_constants_pass_unlifted
    module = torch.export.export(model, (value,), strict=True).module()
    delegate_external_constants_pass_unlifted(module, lambda node: "lowered")
    program = to_edge_transform_and_lower(
        torch.export.export(module, (value,), strict=True), partitioner=[XnnpackPartitioner()]).to_executorch(
            ExecutorchBackendConfig(external_constants=lambda node: "lowered"))
    with open(folder / "lowered.pte", "wb") as file:
        program.write_to_file(file)
    program.write_tensor_data_to_file(str(folder))


def export(folder, kind, seed):
    from executorch.exir import ExecutorchBackendConfig, to_edge
    folder = pathlib.Path(folder)
    make_model, make_input = KINDS[kind]
    torch.manual_seed(seed)
    model, value = make_model().eval(), make_input()
    program = to_edge(torch.export.export(model, (value,), strict=True)).to_executorch(
        ExecutorchBackendConfig(external_constants=True))
    with open(folder / "model.pte", "wb") as file:
        program.write_to_file(file)
    program.write_tensor_data_to_file(str(folder))
    if kind == "lowered":
        lower(model, value, folder)
    torch.save(model.state_dict(), folder / "model.pth")
    torch.manual_seed(seed + 1)
    other = make_model().eval()
    torch.save(other.state_dict(), folder / "other.pth")
    with torch.no_grad():
        outputs = [model(value).numpy().tobytes().hex(), other(value).numpy().tobytes().hex()]
    return {"data": sorted(path.name for path in folder.glob("*.ptd")), "outputs": outputs,
            "input": value.numpy().tobytes().hex(), "shape": list(value.shape)}


def run(program, data, input, shape):
    from executorch.extension.pybindings import portable_lib
    try:
        module = portable_lib._load_for_executorch(program, data)
        value = torch.from_numpy(numpy.frombuffer(bytes.fromhex(input), "<f4").copy())
        output = module.run_method("forward", (value.reshape(shape),))[0]
        return {"output": output.contiguous().numpy().tobytes().hex()}
    except RuntimeError as reason:
        return {"error": str(reason)}


TASKS = {"write": write, "read": read, "list": list_entries, "schema": schema, "export": export, "run": run}


if __name__ == "__main__":
    serve(TASKS)
