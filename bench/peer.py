"""The other side of the comparisons: torch, safetensors and huggingface_hub in a running process.

Reads a JSON object a line ({"do": NAME, …}), answers each with one: seconds, and what was counted.
Runs inside the interop environment; the imports are paid before the first answer.
"""

import json
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "tools"))
from llama import LLAMA, llama_shapes  # noqa: E402


def make_sparse(path):
    """Right in every header, and holes where the weights would be: torch writes it so itself."""
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
    """A state dict of one-element tensors, each with a storage of its own."""
    import torch
    torch.save({f"blocks.{i // 100}.w{i % 100}.weight": torch.tensor([float(i)])
                for i in range(tensors)}, path)
    return {"tensors": tensors}


def torch_open(path):
    import torch
    start = time.perf_counter()
    state = torch.load(path, mmap=True, weights_only=True)
    count = sum(1 for tensor in state.values() if tensor.dtype is not None and tensor.shape is not None)
    return {"seconds": time.perf_counter() - start, "tensors": count}


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
    return {"seconds": time.perf_counter() - start, "tensors": count}


def hub_shards(path, out, limit):
    import torch
    from huggingface_hub import save_torch_state_dict
    start = time.perf_counter()
    save_torch_state_dict(torch.load(path, mmap=True, weights_only=True), out, max_shard_size=limit)
    return {"seconds": time.perf_counter() - start, "rss": peak_rss()}


def peak_rss():
    with open("/proc/self/status") as status:
        for line in status:
            if line.startswith("VmHWM"):
                return int(line.split()[1]) * 1024
    return 0


TASKS = {task.__name__: task for task in (make_sparse, make_real, make_dictionary, torch_open,
                                          safe_names, safe_shapes, hub_shards)}


def main():
    import huggingface_hub  # noqa: F401 (paid here)
    import safetensors.torch  # noqa: F401
    import torch  # noqa: F401
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        request = json.loads(line)
        answer = TASKS[request.pop("do")](**request)
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
