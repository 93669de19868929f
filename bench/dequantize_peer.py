"""Process for the bench of dequantizing: writes quantized models of random bits, and dequantizes them with torch, one
thread. Answers with seconds of processor time (tests/interop/answer.py)."""

import json
import os
import pathlib
import sys
import time

TESTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests")
sys.path[:0] = [os.path.join(TESTS, "interop")]
from answer import serve  # noqa: E402


def fp8(torch, g, elements):
    rows, columns = elements // 16384, 16384
    weight = torch.randint(0, 120, (rows, columns), generator=g, dtype=torch.uint8).view(torch.float8_e4m3fn)
    return ({"w.weight": weight, "w.weight_scale_inv": torch.rand((rows + 127) // 128, columns // 128, generator=g)},
            {"quant_method": "fp8", "weight_block_size": [128, 128]})


def nvfp4(torch, g, elements):
    rows, columns = elements // 16384, 16384
    scales = torch.randint(40, 100, (rows, columns // 16), generator=g, dtype=torch.uint8).view(torch.float8_e4m3fn)
    return ({"w.weight": torch.randint(0, 256, (rows, columns // 2), generator=g, dtype=torch.uint8), "w.weight_scale": scales,
             "w.weight_scale_2": torch.tensor(0.01)}, {"quant_method": "modelopt", "quant_algo": "NVFP4"})


def mxfp4(torch, g, elements):
    experts, rows, groups = max(1, elements // (2880 * 2880)), 2880, 90
    return ({"e.down_proj_blocks": torch.randint(0, 256, (experts, rows, groups, 16), generator=g, dtype=torch.uint8),
             "e.down_proj_scales": torch.randint(110, 130, (experts, rows, groups), generator=g, dtype=torch.uint8)},
            {"quant_method": "mxfp4"})


KINDS = {"fp8": fp8, "nvfp4": nvfp4, "mxfp4": mxfp4}


def make(kind, folder, elements):
    import torch
    from safetensors.torch import save_file
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    tensors, settings = KINDS[kind](torch, torch.Generator().manual_seed(1), elements)
    save_file(tensors, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps({"torch_dtype": "bfloat16", "quantization_config": settings}))
    return {}


def values(torch, kind, t):
    table = torch.tensor([0, .5, 1, 1.5, 2, 3, 4, 6, -0., -.5, -1, -1.5, -2, -3, -4, -6])
    if kind == "fp8":
        w, s = t["w.weight"].to(torch.float32), t["w.weight_scale_inv"]
        return {"w.weight": (w * s.repeat_interleave(128, 0)[:len(w)].repeat_interleave(128, 1)).to(torch.bfloat16)}
    packed = t["w.weight"] if kind == "nvfp4" else t["e.down_proj_blocks"]
    codes = table[torch.stack((packed & 15, packed >> 4), -1).flatten(-2).long()]
    if kind == "nvfp4":
        scales = t["w.weight_scale"].to(torch.float32) * t["w.weight_scale_2"]
        return {"w.weight": (codes.unflatten(-1, (-1, 16)) * scales[..., None]).flatten(-2).to(torch.bfloat16)}
    scales = torch.ldexp(torch.ones(()), t["e.down_proj_scales"].to(torch.int32) - 127)
    return {"e.down_proj": (codes * scales[..., None]).flatten(-2).to(torch.bfloat16).transpose(-1, -2).contiguous()}


def run(kind, folder, out):
    """Reads, dequantizes and writes a model."""
    import torch
    from safetensors.torch import load_file, save_file
    torch.set_num_threads(1)
    start = time.process_time()
    save_file(values(torch, kind, load_file(pathlib.Path(folder) / "model.safetensors")), out)
    return {"seconds": time.process_time() - start}


def same(left, right):
    import torch
    from safetensors.torch import load_file
    left, right = load_file(left), load_file(right)
    return {"same": left.keys() == right.keys() and all(torch.equal(left[k].view(torch.int16), right[k].view(torch.int16)) for k in left)}


serve({"make": make, "run": run, "same": same})
