"""Process with torch, safetensors and huggingface_hub, for comparisons with libraries in a running process.

Answers with seconds and counts (tests/interop/answer.py). Runs inside the interop environment; the time of
the imports is spent before the first answer.
"""

import os
import sys
import time

TESTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests")
sys.path[:0] = [os.path.join(TESTS, "tools"), os.path.join(TESTS, "interop")]
from answer import serve  # noqa: E402
from peak import baseline, memory_used, peak_rss  # noqa: E402
from llama import LLAMA, llama_shapes  # noqa: E402


def make_sparse(path):
    """A checkpoint with valid headers and holes instead of weights, written by torch itself."""
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode
    with FakeTensorMode():
        state = {name: torch.empty(shape, dtype=torch.float16)
                 for name, shape in llama_shapes(**LLAMA)}
    with torch.serialization.skip_data(materialize_fake_tensors=True):
        torch.save(state, path)
    return {"tensors": len(state)}


def make_real(path, size):
    """About `size` bytes of random bf16 weights in layers, as torch.save writes them."""
    import torch
    torch.manual_seed(0)
    dim, hidden = 2048, 5504
    layer = sum(a * b for a, b in ((dim, dim),) * 4 + ((dim, hidden),) * 3) * 2
    shapes = llama_shapes(dim, hidden, max(1, round(size / layer)), 1000)
    state = {name: torch.randint(-2**15, 2**15, shape, dtype=torch.int16).view(torch.bfloat16)
             for name, shape in shapes}
    torch.save(state, path)
    return {"tensors": len(state)}


def make_dictionary(path, tensors):
    """A state dict of one-element tensors, each with its own storage."""
    import torch
    torch.save({f"blocks.{i // 100}.w{i % 100}.weight": torch.tensor([float(i)])
                for i in range(tensors)}, path)
    return {"tensors": tensors}


def make_arrays(path, size):
    import numpy
    rng, each = numpy.random.default_rng(0), 64 * 10**6
    with open(path, "wb") as file:
        numpy.savez(file, **{f"w{number}": rng.integers(0, 256, each, dtype="u1") for number in range(size // each)})
    return {}


def make_array(path, size):
    import numpy
    rng, each = numpy.random.default_rng(0), 64 * 10**6
    with open(path, "wb") as file:
        numpy.lib.format.write_array_header_1_0(
            file, {"descr": "|u1", "fortran_order": False, "shape": (size // each * each,)})
        for _ in range(size // each):
            file.write(rng.integers(0, 256, each, dtype="u1").tobytes())
    return {}


def make_weights(path, dtype, size):
    import torch
    from safetensors.torch import save_file
    kind = {"F32": torch.float32, "BF16": torch.bfloat16}[dtype]
    each = 64 * 10**6 // kind.itemsize
    torch.manual_seed(0)
    state = {f"w{number}": torch.randn(each).to(kind) for number in range(size // (64 * 10**6))}
    save_file(state, path)
    return {}


def torch_stats(path):
    """The figures of `heft stats`, in float64 and with one thread."""
    import torch
    from safetensors import safe_open
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    start = time.perf_counter()
    zeros = 0
    with safe_open(path, "pt") as file:
        for name in file.keys():
            tensor = file.get_tensor(name)
            finite = torch.isfinite(tensor)
            wide = tensor.double() if finite.all() else tensor[finite].double()
            zeros += int((wide == 0).sum())
            _ = (int(torch.isnan(tensor).sum()), torch.aminmax(wide), torch.var_mean(wide, correction=0))
    seconds = time.perf_counter() - start
    torch.set_num_threads(threads)
    return {"seconds": seconds, "zeros": zeros}


def make_deflated(path, kind, count):
    import numpy
    rng = numpy.random.default_rng(0)
    def one():
        if kind == "ids":
            return numpy.minimum(rng.zipf(1.3, 2_000_000), 50256).astype("<i8")
        return (rng.standard_normal(4_000_000).astype("<f4").view("<u4") & 0xffff0000).view("<f4")
    with open(path, "wb") as file:
        numpy.savez_compressed(file, **{f"w{number}": one() for number in range(count)})
    return {}


def npz_load(path):
    import numpy
    start = time.perf_counter()
    with numpy.load(path) as archive:
        count = sum(archive[name].size for name in archive.files)
    return {"seconds": time.perf_counter() - start, "elements": count}


def make_plain(path, size):
    """A safetensors file of random bytes in up to 16 tensors."""
    import torch
    from safetensors.torch import save_file
    torch.manual_seed(0)
    each = max(size // 16, 4096)
    save_file({f"layers.{number}.weight": torch.randint(0, 256, (each,), dtype=torch.uint8)
               for number in range(max(size // each, 1))}, path)
    return {}


def make_torch(path, size):
    """A torch.save of random bytes in up to 16 tensors."""
    import torch
    torch.manual_seed(0)
    torch.save({f"layers.{number}.weight": torch.randint(0, 256, (size // 16,), dtype=torch.uint8)
                for number in range(16)}, path)
    return {}


def make_layout(path, shapes, dtype):
    """A safetensors file of random tensors of these shapes."""
    import torch
    from safetensors.torch import save_file
    torch.manual_seed(0)
    save_file({name: torch.randn(shape).to(getattr(torch, dtype)) for name, shape in shapes.items()}, path)
    return {}


def torch_permuted(path, order, out):
    """From file to file on one thread."""
    import torch
    from safetensors.torch import load_file, save_file
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    start = time.perf_counter()
    save_file({name: tensor.permute(order).contiguous() for name, tensor in load_file(path).items()}, out)
    seconds = time.perf_counter() - start
    torch.set_num_threads(threads)
    return {"seconds": seconds}


def torch_open(path):
    import torch
    start = time.perf_counter()
    state = torch.load(path, mmap=True, weights_only=True)
    count = sum(1 for tensor in state.values() if tensor.dtype is not None and tensor.shape is not None)
    return {"seconds": time.perf_counter() - start, "tensors": count, "memory": memory_used()}


def python():
    return {"path": sys.executable}


def safe_names(path):
    from safetensors import safe_open
    start = time.perf_counter()
    with safe_open(path, "pt"):
        pass
    return {"seconds": time.perf_counter() - start}


def safe_shapes(path):
    from safetensors import safe_open
    start = time.perf_counter()
    count = 0
    with safe_open(path, "pt") as file:
        for name in file.keys():
            part = file.get_slice(name)
            count += part.get_dtype() is not None and part.get_shape() is not None
    return {"seconds": time.perf_counter() - start, "tensors": count, "memory": memory_used()}


def hub_shards(path, out, limit):
    import torch
    from huggingface_hub import save_torch_state_dict
    start = time.perf_counter()
    save_torch_state_dict(torch.load(path, mmap=True, weights_only=True), out, max_shard_size=limit)
    return {"seconds": time.perf_counter() - start, "rss": peak_rss(), "memory": memory_used()}


TASKS = {task.__name__: task for task in (make_sparse, make_real, make_dictionary, torch_open,
                                          python, safe_names, safe_shapes, baseline, make_plain, make_torch,
                                          hub_shards, make_layout, torch_permuted, make_arrays, make_array,
                                          make_deflated, make_weights, npz_load, torch_stats)}


def main():
    import huggingface_hub  # noqa: F401 (paid here)
    import safetensors.torch  # noqa: F401
    import torch  # noqa: F401
    serve(TASKS)


if __name__ == "__main__":
    main()
