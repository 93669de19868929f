#!/usr/bin/env python3
"""Writes the files of this directory with the reference framework: contents of torch pickles besides plain
tensors. version.txt contains the releases that wrote the present files.

    make.py [FOLDER]
"""
import datetime
import decimal
import enum
import fractions
import pathlib
import sys
import types
import uuid
import warnings

import torch
from torch import nn
from torch.ao.nn import quantized

warnings.simplefilter("ignore")
HERE = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else __file__)
HERE = HERE if HERE.is_dir() else HERE.parent

# Classes are pickled by name: the module's name must not depend on how this script is run.
package = types.ModuleType("mypackage.layers")
sys.modules["mypackage.layers"] = sys.modules["mypackage"] = package


def public(cls):
    cls.__module__ = "mypackage.layers"
    cls.__qualname__ = cls.__name__
    setattr(package, cls.__name__, cls)
    return cls


def save(name, value, **options):
    torch.save(value, HERE / name, **options)


def count(*shape, dtype=torch.float32):
    return torch.arange(int(torch.tensor(shape).prod()) if shape else 1).reshape(shape).to(dtype)


def filled(module):
    """The same numbers in each run."""
    for tensor in [*module.parameters(), *module.buffers()]:
        tensor.data.copy_(count(*tensor.shape))
    return module


# ---- modules -------------------------------------------------------------------------------------

@public
class Net(nn.Module):
    """Every kind of object that a module may contain."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(count(2, 2))
        self.register_parameter("none", None)
        self.register_buffer("kept", count(3))
        self.register_buffer("passing", count(2), persistent=False)
        self.plain = count(4)
        self.add_module("gone", None)
        self.layers = nn.ModuleList([nn.Linear(2, 1), nn.Identity()])
        self.tied = self.layers[0]
        self.in_a_list = [nn.Linear(1, 1)]


@public
class Ring(nn.Module):
    """Refers to the module that contains it."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(1, 2)
        self.inner.__dict__["parent"] = self


def modules():
    parallel = nn.DataParallel(nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2)))
    return {"epoch": 3, "net": filled(Net()), "ema": [filled(nn.Linear(2, 1).half())], "parallel": filled(parallel),
            "ring": filled(Ring()), "lazy": nn.LazyLinear(2)}


def packed():
    """Layers whose weights are in C++ objects, as eager quantization leaves them."""
    linear, convolution = quantized.Linear(2, 3), quantized.Conv2d(1, 2, 3)
    weight = torch.quantize_per_tensor(count(3, 2), 0.5, 0, torch.qint8)
    linear.set_weight_bias(weight, count(3))
    return {"linear": linear, "convolution": nn.Sequential(convolution), "state": linear.state_dict()}


# ---- tensors ----------------------------------------------------------------------------------------

def quantized_tensors():
    scales, zeros = torch.tensor([0.5, 0.25], dtype=torch.float64), torch.tensor([1, 2])
    values = count(2, 3)
    return {
        "qint8": torch.quantize_per_tensor(values, 0.5, 1, torch.qint8),
        "quint8": torch.quantize_per_tensor(values, 0.5, 1, torch.quint8).t(),
        "qint32": torch.quantize_per_tensor(values, 0.25, 0, torch.qint32),
        "channel": torch.quantize_per_channel(values, scales, zeros, 0, torch.qint8),
        "floats": torch.quantize_per_channel(values, scales.float(), zeros.float(), 0, torch.quint8),
        "half": torch.quantize_per_channel(values, scales.float(), zeros.float(), 0, torch.quint4x2),
        "list": [torch.quantize_per_tensor(values, 0.5, 1, torch.quint8), count(1)],
    }


def sparse_tensors():
    eye = torch.eye(4)
    return {
        "coo": eye.to_sparse(), "csr": eye.to_sparse_csr(), "csc": eye.to_sparse_csc(), "bsr": eye.to_sparse_bsr((2, 2)),
        "bsc": eye.to_sparse_bsc((2, 1)), "dense": count(2, 3, 2).to_sparse(1), "batch": torch.ones(2, 2, 3).to_sparse_csr(),
        "raw": torch.sparse_coo_tensor(torch.tensor([[0, 0]]), count(2), (3,)), "empty": torch.sparse_coo_tensor(size=(2, 3)),
        "nested": torch.nested.nested_tensor([count(2, 3), count(1, 3)]),
        "jagged": torch.nested.nested_tensor([count(2), count(1)], layout=torch.jagged),
    }


@public
class Plain(torch.Tensor):
    """A subclass with attributes."""


@public
class Wrapper(torch.Tensor):
    """A subclass without data: its contents are its attributes."""

    @staticmethod
    def __new__(cls, packed, scale):
        return torch.Tensor._make_wrapper_subclass(cls, packed.shape, dtype=torch.float32)

    def __init__(self, packed, scale):
        self.packed, self.scale = packed, scale

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        if func is torch.ops.aten.detach.default:
            return cls(args[0].packed, args[0].scale)
        raise NotImplementedError(func)


class Call:
    """Pickles as a call of a function."""

    def __init__(self, function, *arguments):
        self.call = function, arguments

    def __reduce__(self):
        return self.call


def subclasses():
    plain = count(2, 3).as_subclass(Plain)
    plain.note, plain.mask = "kept", torch.tensor([True, False])
    parameter = nn.Parameter(count(2))
    parameter.tag = {"group": 1}
    wrapper = Wrapper(count(4, dtype=torch.int8), torch.tensor(0.5))
    from_numpy = torch._utils._rebuild_device_tensor_from_numpy
    return {
        "plain": plain, "parameter": parameter, "wrapper": wrapper, "wrapped": nn.Parameter(wrapper, requires_grad=False),
        "buffer": nn.Buffer(count(2)), "list": [plain, wrapper], "meta": torch.empty(2, device="meta"),
        "cast": Call(from_numpy, count(2).numpy(), torch.bfloat16, "cpu", False),
        "sent": Call(torch._utils._rebuild_device_tensor_from_cpu_tensor, count(2), torch.float32, "cpu", False),
        "bits": count(2, dtype=torch.uint8).view(torch.bits8),
    }


# ---- objects -----------------------------------------------------------------------------------------

@public
class Colour(enum.Enum):
    RED = 1


def objects():
    return {
        "datetime": datetime.datetime(2024, 1, 2, 3, 4, 5, 6), "date": datetime.date(2024, 1, 2), "time": datetime.time(3, 4, 5),
        "zone": datetime.datetime(2024, 1, 2, tzinfo=datetime.timezone.utc), "uuid": uuid.UUID(int=5), "high": uuid.UUID(int=2**128 - 1),
        "decimal": decimal.Decimal("1.50"), "fraction": fractions.Fraction(1, 3), "space": types.SimpleNamespace(a=1, t=count(2)),
        "colour": Colour.RED, "member": Call(getattr, Colour, "RED"), "delta": datetime.timedelta(days=1),
    }


def main():
    save("modules.pt", modules())
    save("module_4.pt", filled(Net()), pickle_protocol=4)
    save("compiled.pt", torch.compile(filled(nn.Linear(2, 1)), backend="eager"))
    save("lstm.pt", filled(nn.LSTM(1, 1, num_layers=2)))
    save("packed.pt", packed())
    save("quantized.pt", quantized_tensors())
    save("sparse.pt", sparse_tensors())
    save("sparse_root.pt", torch.eye(2).to_sparse())
    save("quantized_root.pt", torch.quantize_per_tensor(count(2), 0.5, 1, torch.qint8))
    save("subclasses.pt", subclasses())
    save("objects.pt", objects())
    save("objects_4.pt", objects(), pickle_protocol=4)
    (HERE / "version.txt").write_text(f"torch {torch.__version__.split('+')[0]}, "
                                      f"Python {sys.version_info[0]}.{sys.version_info[1]}\n")


if __name__ == "__main__":
    main()
