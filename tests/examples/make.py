#!/usr/bin/env python3
"""Writes a tiny random GPT-2 and what torch computes with it, for examples/gpt2.c.

    make.py [FOLDER]        needs torch and safetensors; version.txt has the releases that wrote the present files

    tiny.pth                  {"model": weights under the names of GPT2LMHeadModel, "config": {"n_head": 3}}
    tiny-bf16.safetensors     others as BF16: one head, of 64 numbers as in all published sizes
    expected.json             for each file: the ids of a text, the logits after it, and the next ids
"""
import json
import math
import pathlib
import sys

import safetensors
import safetensors.torch
import torch
from torch.nn import functional

HERE = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else __file__)
HERE = HERE if HERE.is_dir() else HERE.parent
VOCAB, CONTEXT = 61, 24
TEXT, MORE = [3, 1, 4, 1, 5, 9, 26], 8


def weights(width, layers):
    torch.manual_seed(width)
    shapes = {"wte.weight": (VOCAB, width), "wpe.weight": (CONTEXT, width)}
    for layer in range(layers):
        for name, rows, columns in (("ln_1", width, 0), ("attn.c_attn", width, 3 * width),
                                    ("attn.c_proj", width, width), ("ln_2", width, 0),
                                    ("mlp.c_fc", width, 4 * width), ("mlp.c_proj", 4 * width, width)):
            shapes[f"h.{layer}.{name}.weight"] = (rows, columns) if columns else (rows,)
            shapes[f"h.{layer}.{name}.bias"] = (columns or rows,)
    shapes |= {"ln_f.weight": (width,), "ln_f.bias": (width,)}
    return {f"transformer.{name}": torch.randn(shape) * 0.3 + ("ln_" in name and name.endswith("weight"))
            for name, shape in shapes.items()}


def forward(model, heads, ids):
    """Logits after the last id, as GPT2LMHeadModel computes them."""
    get = {name.removeprefix("transformer."): tensor.float() for name, tensor in model.items()}
    n, width, layers = len(ids), get["wte.weight"].shape[1], sum("ln_1.bias" in name for name in get)

    def norm(x, name):
        return functional.layer_norm(x, (width,), get[f"{name}.weight"], get[f"{name}.bias"], 1e-5)

    def linear(x, name):
        return x @ get[f"{name}.weight"] + get[f"{name}.bias"]

    x = get["wte.weight"][ids] + get["wpe.weight"][:n]
    for layer in range(layers):
        q, k, v = (t.view(n, heads, width // heads).transpose(0, 1)
                   for t in linear(norm(x, f"h.{layer}.ln_1"), f"h.{layer}.attn.c_attn").split(width, dim=1))
        scores = q @ k.transpose(1, 2) / math.sqrt(width // heads)
        scores = scores.masked_fill(torch.triu(torch.ones(n, n, dtype=torch.bool), 1), -math.inf)
        mixed = (scores.softmax(-1) @ v).transpose(0, 1).reshape(n, width)
        x = x + linear(mixed, f"h.{layer}.attn.c_proj")
        wide = functional.gelu(linear(norm(x, f"h.{layer}.ln_2"), f"h.{layer}.mlp.c_fc"), approximate="tanh")
        x = x + linear(wide, f"h.{layer}.mlp.c_proj")
    return norm(x[-1], "ln_f") @ get["wte.weight"].T


def answer(model, heads):
    ids = list(TEXT)
    for _ in range(MORE):
        ids.append(int(forward(model, heads, ids).argmax()))
    return {"text": TEXT, "logits": forward(model, heads, TEXT).tolist(), "next": ids[len(TEXT):]}


three_heads = weights(24, layers=2)
torch.save({"model": three_heads, "config": {"n_head": 3}}, HERE / "tiny.pth")
one_head = {name: tensor.bfloat16() for name, tensor in weights(64, layers=1).items()}
safetensors.torch.save_file(one_head, HERE / "tiny-bf16.safetensors")
expected = {"tiny.pth": answer(three_heads, 3), "tiny-bf16.safetensors": answer(one_head, 1)}
(HERE / "expected.json").write_text(json.dumps(expected, indent=1) + "\n")
(HERE / "version.txt").write_text(f"torch {torch.__version__}, safetensors {safetensors.__version__}\n")
