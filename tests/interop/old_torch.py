"""Server of suite_old: an old torch in its own Python, outside the environment of the other suites.

Needs only that torch and the standard library.
"""

import base64
import collections
import io
import random
import tarfile

import torch

from answer import serve

DTYPES = ["float64", "float32", "float16", "bfloat16", "int8", "int16", "int32", "int64", "uint8",
          "bool", "complex64", "complex128"]


class Block(torch.nn.Module):
    """A module class that torch.save(model) pickles by name."""

    def __init__(self, width):
        super().__init__()
        self.norm = torch.nn.BatchNorm1d(width)
        self.layers = torch.nn.Sequential(torch.nn.Linear(width, 3), torch.nn.ReLU(),
                                          torch.nn.Linear(3, width, bias=False))
        self.register_buffer("steps", torch.tensor(7))
        self.register_buffer("cache", torch.ones(2), persistent=False)

    def forward(self, x):
        return self.layers(self.norm(x))


def raw(tensor):
    """Row-major little-endian bytes of the value."""
    tensor = tensor.detach().resolve_conj().resolve_neg().contiguous()
    if tensor.numel() == 0:
        return b""
    return tensor.reshape(-1).view(torch.uint8).numpy().tobytes()


def described(tensors):
    return [[name, str(tensor.dtype).removeprefix("torch."), list(tensor.shape),
             base64.b64encode(raw(tensor)).decode()] for name, tensor in tensors.items()]


def random_state(seed):
    rng = random.Random(seed)
    torch.manual_seed(seed)
    state = collections.OrderedDict()
    for number in range(rng.randint(1, 12)):
        dtype = getattr(torch, rng.choice(DTYPES))
        shape = [rng.randint(0, 4) for _ in range(rng.randint(0, 4))]
        tensor = (torch.randn(shape) * 50).to(dtype)
        if rng.random() < 0.3 and tensor.dim() > 1:
            tensor = tensor.transpose(0, 1)
        state[f"{rng.choice('abc')}.{number}.weight"] = tensor
        if rng.random() < 0.2:
            state[f"tied.{number}"] = tensor
    return state


def quantized():
    x = torch.randn(3, 4)
    return collections.OrderedDict(
        per_tensor=torch.quantize_per_tensor(x, 0.5, 3, torch.quint8),
        signed=torch.quantize_per_tensor(x, 0.25, 0, torch.qint8),
        per_channel=torch.quantize_per_channel(x, torch.tensor([0.1, 0.2, 0.3]).double(),
                                               torch.tensor([1, 2, 3]), 0, torch.qint8))


def save_state(path, seed, legacy=False, protocol=2):
    state = random_state(seed)
    torch.save(state, path, pickle_protocol=protocol, _use_new_zipfile_serialization=not legacy)
    return {"tensors": described(state)}


def save_plain(path, seed, protocol=2):
    import pickle
    state = random_state(seed)
    with open(path, "wb") as file:
        pickle.dump(state, file, protocol=protocol)
    return {"tensors": described(state)}


def save_module(path, legacy=False):
    torch.manual_seed(1)
    model = Block(4)
    torch.save(model, path, _use_new_zipfile_serialization=not legacy)
    return {"tensors": described(model.state_dict())}


def save_script(path, trace=False):
    torch.manual_seed(2)
    model = Block(4).eval()
    script = torch.jit.trace(model, torch.randn(2, 4)) if trace else torch.jit.script(model)
    torch.jit.save(script, path)
    return {"tensors": described(torch.jit.load(path).state_dict())}


def save_quantized(path, legacy=False):
    torch.manual_seed(3)
    state = quantized()
    torch.save(state, path, _use_new_zipfile_serialization=not legacy)
    ints = collections.OrderedDict((name, t.int_repr()) for name, t in state.items())
    channel = state["per_channel"]
    ints["per_channel.scales"] = channel.q_per_channel_scales()
    ints["per_channel.zero_points"] = channel.q_per_channel_zero_points()
    return {"tensors": described(ints)}


def save_sparse(path, legacy=False):
    coo = torch.tensor([[0.0, 2.0], [3.0, 0.0]]).to_sparse()
    csr = torch.tensor([[0.0, 2.0], [3.0, 4.0]]).to_sparse_csr()
    torch.save({"coo": coo, "csr": csr}, path, _use_new_zipfile_serialization=not legacy)
    parts = {"coo.indices": coo._indices(), "coo.values": coo._values(),
             "csr.crow_indices": csr.crow_indices(), "csr.col_indices": csr.col_indices(),
             "csr.values": csr.values()}
    return {"tensors": described(parts)}


def save_tar(path):
    """The oldest format, written by hand in the form that this torch still reads; see its results."""
    import pickle
    import struct

    def dump(*objects):
        return b"".join(pickle.dumps(o, protocol=2) for o in objects)

    class Pid:
        def __init__(self, key):
            self.key = key

    class Pickler(pickle.Pickler):
        def persistent_id(self, value):
            return value.key if isinstance(value, Pid) else None

    def tensor(key, storage, sizes, strides, offset):
        return (dump((key, storage, torch.FloatTensor)) + struct.pack("<i4x", len(sizes))
                + struct.pack(f"<{len(sizes)}q", *sizes) + struct.pack(f"<{len(strides)}q", *strides)
                + struct.pack("<q", offset))

    storages = (dump(1, (11, "cpu", torch.FloatStorage)) + struct.pack("<q6f", 6, *range(6))
                + dump([(12, 11, 2, 3)]))
    tensors = (dump(3) + tensor(101, 11, [2, 3], [3, 1], 0) + tensor(102, 11, [3, 2], [1, 3], 0)
               + tensor(103, 12, [2], [1], 0))
    body = io.BytesIO()
    Pickler(body, protocol=2).dump({"w": Pid("101"), "wt": Pid("102"), "v": Pid("103"), "n": 3})
    members = {"sys_info": dump({"protocol_version": 1000, "little_endian": True}),
               "pickle": body.getvalue(), "tensors": tensors, "storages": storages}
    with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as tar:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    loaded = torch.load(path)
    return {"tensors": described({k: v for k, v in loaded.items() if torch.is_tensor(v)})}


def load(path, weights_only=True):
    state = torch.load(path, map_location="cpu", weights_only=weights_only)
    ties = {}
    for name, tensor in state.items():
        ties.setdefault(tensor.storage().data_ptr() if tensor.numel() else name, []).append(name)
    return {"tensors": described(state), "ties": sorted(v for v in ties.values() if len(v) > 1),
            "metadata": getattr(state, "_metadata", None)}


TASKS = {task.__name__: task for task in (save_state, save_plain, save_module, save_script,
                                          save_quantized, save_sparse, save_tar, load)}


if __name__ == "__main__":
    serve(TASKS)
