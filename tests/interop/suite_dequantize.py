"""Dequantized weights equal the formulas of torch bit for bit: random tensors larger than the pieces that heft
computes, ragged blocks, several dimensions, scales in another shard, each dtype of the output."""

import json

import torch
from safetensors.torch import load_file, save_file

from common import Suite, heft

E2M1 = torch.tensor([0, .5, 1, 1.5, 2, 3, 4, 6, -0., -.5, -1, -1.5, -2, -3, -4, -6])
E4M3, F32, BF16, F16 = torch.float8_e4m3fn, torch.float32, torch.bfloat16, torch.float16
DTYPES = {"BF16": BF16, "F16": F16, "F32": F32}


def config(**quantization):
    return {"torch_dtype": "bfloat16", "quantization_config": quantization}


def group(**weights):
    return config(quant_method="compressed-tensors", format=weights.pop("format"),
                  config_groups={"group_0": {"targets": ["Linear"], "weights": weights}})


def random_e4m3(g, *shape):
    bits = torch.randint(0, 256, shape, generator=g, dtype=torch.int32).to(torch.uint8)
    bits[(bits & 127) == 127] = 1  # NaN
    return bits.view(E4M3)


def random_scales(g, *shape):
    return torch.rand(shape, generator=g) * 0.02 + 1e-4


def spread(scales, rows, columns, shape):
    """One scale for each element."""
    out = scales.repeat_interleave(rows, -2).repeat_interleave(columns, -1)
    return out[..., :shape[-2], :shape[-1]]


def nibbles(packed):
    """E2M1 values of U8 [.., n]: [.., 2n], the low nibble first."""
    return E2M1[torch.stack((packed & 15, packed >> 4), -1).flatten(-2).long()]


def e8m0(codes):
    return torch.ldexp(torch.ones(()), codes.to(torch.int32) - 127)


def blocks(g):
    for shape, block, dtype in (((300, 1000), (128, 128), F32), ((3, 70001), (128, 128), F32), ((4099, 257), (128, 128), BF16),
                                ((3, 130, 300), (64, 32), F32), ((2, 2, 65, 66), (64, 64), F32)):
        weight = random_e4m3(g, *shape)
        grid = [-(-shape[-2] // block[0]), -(-shape[-1] // block[1])]
        scales = random_scales(g, *shape[:-2], *grid).to(dtype)
        yield (f"fp8 {shape} in blocks of {block}", {"m.weight": weight, "m.weight_scale_inv": scales},
               config(quant_method="fp8", weight_block_size=list(block)),
               {"m.weight": weight.to(F32) * spread(scales.to(F32), *block, shape)})


def channels(g):
    weight = random_e4m3(g, 700, 333)
    for strategy, shape in (("channel", (700, 1)), ("tensor", (1,))):
        scales = random_scales(g, *shape)
        yield (f"compressed-tensors, {strategy}", {"m.weight": weight, "m.weight_scale": scales},
               group(format="float-quantized", num_bits=8, type="float", strategy=strategy), {"m.weight": weight.to(F32) * scales})
    experts = random_e4m3(g, 5, 200, 410)
    for shape in ((5, 1, 410), (5, 200, 1)):
        scales = random_scales(g, *shape)
        yield (f"fbgemm_fp8, experts {shape}", {"x.experts.up": experts, "x.experts.up_scale": scales},
               config(quant_method="fbgemm_fp8"), {"x.experts.up": experts.to(F32) * scales})
    for shape in ((5,), (5, 200), (5, 410)):
        scales = random_scales(g, *shape)
        full = scales[:, None, None] if len(shape) == 1 else scales[:, :, None] if shape[1] == 200 else scales[:, None, :]
        yield (f"modelopt FP8, experts {shape}", {"m.weight": experts, "m.weight_scale": scales},
               config(quant_method="modelopt", quant_algo="FP8"), {"m.weight": experts.to(F32) * full})
    codes = torch.randint(110, 130, (700, 11), generator=g).to(torch.uint8)
    weight = random_e4m3(g, 700, 352)
    yield ("mxfp8", {"m.weight": weight, "m.weight_scale": codes}, config(quant_method="mxfp8"),
           {"m.weight": weight.to(F32) * spread(e8m0(codes), 1, 32, (700, 352))})


def four_bits(g):
    for shape in ((513, 2064), (2, 70, 4112)):
        packed = torch.randint(0, 256, (*shape[:-1], shape[-1] // 2), generator=g).to(torch.uint8)
        scales = (torch.rand((*shape[:-1], shape[-1] // 16), generator=g) * 400 + 1).to(E4M3)
        one = torch.tensor([0.0037])
        yield (f"NVFP4 of modelopt {shape}", {"m.weight": packed, "m.weight_scale": scales, "m.weight_scale_2": one[0]},
               config(quant_method="modelopt", quant_algo="NVFP4"),
               {"m.weight": nibbles(packed) * spread(scales.to(F32) * one, 1, 16, shape)})
        yield (f"NVFP4 of compressed-tensors {shape}",
               {"m.weight_packed": packed, "m.weight_scale": scales, "m.weight_global_scale": one * 1e5},
               group(format="nvfp4-pack-quantized", num_bits=4, type="float", strategy="tensor_group", group_size=16),
               {"m.weight": nibbles(packed) * spread(scales.to(F32) / (one * 1e5), 1, 16, shape)})


def experts(g):
    for shape in ((3, 700, 5, 16), (1, 66000, 3, 16), (2, 33, 200, 16), (700, 3, 16)):
        packed = torch.randint(0, 256, shape, generator=g).to(torch.uint8)
        codes = torch.randint(110, 140, shape[:-1], generator=g).to(torch.uint8)
        values = (nibbles(packed) * e8m0(codes)[..., None]).flatten(-2)
        yield (f"MXFP4 of gpt-oss {shape}", {"e.down_blocks": packed, "e.down_scales": codes}, config(quant_method="mxfp4"),
               {"e.down": values.transpose(-1, -2).contiguous()})


def write(folder, tensors, settings, shards):
    """Writes the model, each tensor into a shard of its own if there are several."""
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(settings))
    if not shards:
        return save_file(tensors, folder / "model.safetensors")
    names = {name: f"model-{i + 1:05}-of-{len(tensors):05}.safetensors" for i, name in enumerate(sorted(tensors))}
    for name, file in names.items():
        save_file({name: tensors[name]}, folder / file)
    (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {"total_size": 0}, "weight_map": names}))
    return None


def same(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and torch.equal(a.contiguous().view(torch.uint8), b.contiguous().view(torch.uint8))


def run(folder):
    suite = Suite("dequantized weights equal torch's formulas")
    g = torch.Generator().manual_seed(7)
    number = 0
    for cases in (blocks, channels, four_bits, experts):
        for name, tensors, settings, expected in cases(g):
            number += 1
            model, out = folder / f"in{number}", folder / f"out{number}.safetensors"
            write(model, tensors, settings, shards=number % 2 == 0)
            for word, dtype in DTYPES.items():
                heft("convert", model, "-o", out, f"--dequantize={word}", "-fq", "--no-sync", *(["--verify"] if word == "BF16" else []))
                found = load_file(out)
                suite.check(found.keys() == expected.keys() and all(same(found[k], v.to(dtype)) for k, v in expected.items()),
                            f"{name}, {word}", f"{ {k: (v.dtype, v.shape) for k, v in found.items()} }")
            out.unlink()
    return suite
