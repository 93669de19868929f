#!/usr/bin/env python3
"""Writes the golden quantized checkpoints of this folder: NAME/{model.safetensors,config.json,expected.safetensors}
and report.json (not kept here), which says for each case which reference produced the expected values, and whether the plain formula
of doc/quantized.md gave the same bits.

Needs (CPU only): torch 2.13, safetensors, transformers 5.23.0, compressed-tensors 0.20.0, nvidia-modelopt 0.47.0,
gptqmodel 7.7.0, bitsandbytes 0.50.2, mlx 0.32.4 (+ mlx-cpu).
"""
import hashlib, json, pathlib, warnings
warnings.filterwarnings("ignore")
import numpy as np
import torch
from safetensors.torch import save_file, load_file, safe_open

HERE = pathlib.Path(__file__).parent
REPORT = {}
F32, BF16, F16 = torch.float32, torch.bfloat16, torch.float16
E4M3 = torch.float8_e4m3fn
E2M1 = torch.tensor([0, .5, 1, 1.5, 2, 3, 4, 6, -0., -.5, -1, -1.5, -2, -3, -4, -6], dtype=F32)


def gen(seed):
    return torch.Generator().manual_seed(seed)


def bits(t):
    return t.contiguous().view(torch.uint8)


def same(a, b):
    return bool(a.dtype == b.dtype and a.shape == b.shape and torch.equal(bits(a), bits(b)))


def case(name, tensors, config, expected, reference, checks, notes=None):
    d = HERE / name
    d.mkdir(exist_ok=True)
    save_file({k: v.contiguous() for k, v in tensors.items()}, d / "model.safetensors", metadata={"format": "pt"})
    save_file({k: v.contiguous() for k, v in expected.items()}, d / "expected.safetensors", metadata={"format": "pt"})
    (d / "config.json").write_text(json.dumps(config, indent=1) + "\n")
    REPORT[name] = {"reference": reference, "checks": checks, **({"notes": notes} if notes else {}),
                    "expected": {k: {"dtype": str(v.dtype)[6:], "shape": list(v.shape), "sha256": hashlib.sha256(bits(v).numpy().tobytes()).hexdigest()} for k, v in expected.items()}}
    print(name, checks)


def cfg(q, **k):
    return {"architectures": ["HeftTest"], "model_type": k.pop("model_type", "heft_test"), "torch_dtype": "bfloat16", **k, "quantization_config": q}


def grid(s, bm, bn, rows, cols):
    return s.repeat_interleave(bm, 0).repeat_interleave(bn, 1)[:rows, :cols]


# (a) block FP8 ------------------------------------------------------------------------------------
def fp8_block():
    from transformers.integrations.finegrained_fp8 import Fp8Dequantize, _dequantize_fp8_weight
    g = gen(1)
    deq = Fp8Dequantize(None)
    out, exp, chk = {}, {}, {}
    for n, (r, c), sdt in (("aligned", (8, 256), F32), ("ragged", (129, 16), F32), ("misread", (192, 8), F32), ("raggedcols", (4, 130), F32), ("bf16scale", (8, 128), BF16)):
        w = (torch.randn(r, c, generator=g) * 100).clamp(-448, 448).to(E4M3)
        s = (torch.rand(-(-r // 128), -(-c // 128), generator=g) * 1e-3 + 1e-4).to(sdt)
        v = (w.to(F32) * grid(s.to(F32), 128, 128, r, c)).to(BF16)
        out[f"model.{n}.weight"], out[f"model.{n}.weight_scale_inv"] = w, s
        exp[f"model.{n}.weight"] = v
        try:
            x = deq._dequantize_one(w, s, BF16)
            chk[f"{n}: transformers Fp8Dequantize"] = same(x, v) or f"{int((x != v).sum())} of {v.numel()} differ: it takes rows/scale_rows for the block"
        except Exception as e:
            chk[f"{n}: transformers Fp8Dequantize"] = f"{type(e).__name__}: {e}"
        x = _dequantize_fp8_weight(w, s, [128, 128], BF16)
        chk[f"{n}: transformers _dequantize_fp8_weight (scale rounded to bf16 first)"] = same(x, v) or f"{int((x != v).sum())} of {v.numel()} differ"
    out["model.norm.weight"] = exp["model.norm.weight"] = torch.ones(8, dtype=BF16)
    case("fp8-block", out, cfg({"quant_method": "fp8", "fmt": "e4m3", "activation_scheme": "dynamic", "weight_block_size": [128, 128], "modules_to_not_convert": ["model.norm"]}, model_type="deepseek_v3"),
         exp, "f32 product, one rounding to BF16", chk)


def fp8_v4():
    from transformers.integrations.finegrained_fp8 import Fp8Dequantize
    from gptqmodel.utils.model_dequant import dequantize_deepseek_v4_fp4_expert
    g = gen(2)
    w = torch.randn(16, 128, generator=g).to(E4M3)
    s = torch.tensor([[120]], dtype=torch.uint8).view(torch.float8_e8m0fnu)
    e = torch.randint(0, 256, (4, 32), generator=g, dtype=torch.int64).to(torch.uint8).view(torch.int8)
    es = torch.randint(118, 130, (4, 2), generator=g).to(torch.uint8).view(torch.float8_e8m0fnu)
    v = (w.to(F32) * s.to(F32)).to(BF16)
    u = e.view(torch.uint8)
    q = E2M1[torch.stack((u & 15, u >> 4), -1).reshape(4, 64).long()]
    ve = (q * es.to(F32).repeat_interleave(32, 1)).to(BF16)
    d = Fp8Dequantize(None)
    case("fp8-deepseek-v4", {"layers.0.attn.wq.weight": w, "layers.0.attn.wq.scale": s, "layers.0.ffn.experts.0.w1.weight": e, "layers.0.ffn.experts.0.w1.scale": es},
         cfg({"quant_method": "fp8", "fmt": "e4m3", "activation_scheme": "dynamic", "weight_block_size": [128, 128], "scale_fmt": "ue8m0"}, model_type="deepseek_v4", expert_dtype="fp4"),
         {"layers.0.attn.wq.weight": v, "layers.0.ffn.experts.0.w1.weight": ve}, "transformers Fp8Dequantize; gptqmodel dequantize_deepseek_v4_fp4_expert",
         {"fp8 ue8m0": same(d._dequantize_one(w, s, BF16), v), "fp4 expert, transformers": same(d._dequantize_one(e, es, BF16), ve), "fp4 expert, gptqmodel": same(dequantize_deepseek_v4_fp4_expert(e, es), ve) or f"{int((dequantize_deepseek_v4_fp4_expert(e, es) != ve).sum())} differ as numbers (code 8 is +0 there)"})


# (b) gpt-oss ---------------------------------------------------------------------------------------
def gptoss():
    from transformers.integrations.mxfp4 import convert_moe_packed_tensors
    g = gen(3)
    E, R, G = 2, 6, 2
    b = torch.randint(0, 256, (E, R, G, 16), generator=g).to(torch.uint8)
    s = torch.randint(100, 140, (E, R, G), generator=g).to(torch.uint8)
    s[0, 0, 0], s[0, 1, 0], s[0, 2, 0], s[0, 3, 0] = 0, 1, 252, 130
    ref = convert_moe_packed_tensors(b, s)
    hs = torch.tensor([[[254], [255]]], dtype=torch.uint8)
    high = convert_moe_packed_tensors(torch.arange(16, dtype=torch.int32).to(torch.uint8).reshape(1, 1, 1, 16).expand(1, 2, 1, 16).contiguous(), hs)
    q = E2M1[torch.stack((b & 15, b >> 4), -1).reshape(E, R, G, 32).long()]
    sc = torch.ldexp(torch.ones((), dtype=torch.float64), s.to(torch.int32) - 127)
    own = (q.to(torch.float64) * sc[..., None]).to(F32).to(BF16).reshape(E, R, G * 32).transpose(1, 2).contiguous()
    p = "model.layers.0.mlp.experts."
    bias = torch.randn(E, R, generator=g).to(BF16)
    case("mxfp4-gptoss", {p + "gate_up_proj_blocks": b, p + "gate_up_proj_scales": s, p + "gate_up_proj_bias": bias},
         cfg({"quant_method": "mxfp4", "modules_to_not_convert": ["model.layers.*.self_attn", "lm_head"]}, model_type="gpt_oss"),
         {p + "gate_up_proj": ref, p + "gate_up_proj_bias": bias}, "transformers convert_moe_packed_tensors (BF16), shape [E, G*32, rows]",
         {"formula": same(ref, own), "scale 254, codes 0 to 15": [str(x) for x in high[0, 0::2, 0].tolist()], "scale 255, codes 0 to 15": [str(x) for x in high[0, 0::2, 1].tolist()]})


# (c) NVFP4 -----------------------------------------------------------------------------------------
def nvfp4():
    from modelopt.torch.quantization.qtensor.nvfp4_tensor import NVFP4QTensor
    from compressed_tensors.compressors import BaseCompressor
    from compressed_tensors.quantization import QuantizationArgs, QuantizationScheme
    g = gen(4)
    R, C = 6, 64
    u = torch.randint(0, 256, (R, C // 2), generator=g).to(torch.uint8)
    s = (torch.rand(R, C // 16, generator=g) * 400 + 1).to(E4M3)
    s2 = torch.tensor(0.00037231, dtype=F32)
    q = E2M1[torch.stack((u & 15, u >> 4), -1).reshape(R, C).long()]
    own = (q * (s.to(F32) * s2).repeat_interleave(16, 1))
    t = NVFP4QTensor(torch.Size([R, C]), BF16, u)
    ref = t.dequantize(BF16, scale=s, double_scale=s2, block_sizes={-1: 16})
    m = "model.layers.0.mlp.up_proj."
    c = cfg({"quant_method": "modelopt", "quant_algo": "NVFP4", "config_groups": {"group_0": {"input_activations": {"dynamic": False, "num_bits": 4, "type": "float", "group_size": 16}, "weights": {"dynamic": False, "num_bits": 4, "type": "float", "group_size": 16}, "targets": ["Linear"]}}, "ignore": ["lm_head"], "producer": {"name": "modelopt", "version": "0.47.0"}})
    case("nvfp4-modelopt", {m + "weight": u, m + "weight_scale": s, m + "weight_scale_2": s2, m + "input_scale": torch.tensor(0.01)}, c, {m + "weight": ref},
         "modelopt NVFP4QTensor.dequantize to BF16", {"formula": same(own.to(BF16), ref), "formula with +0 for code 8": same(torch.where((q == 0), 0.0, own).to(BF16), ref), "differ as numbers": int((own.to(BF16) != ref).sum())})
    (HERE / "nvfp4-modelopt" / "hf_quant_config.json").write_text(json.dumps({"producer": {"name": "modelopt", "version": "0.47.0"}, "quantization": {"quant_algo": "NVFP4", "kv_cache_quant_algo": None, "group_size": 16, "exclude_modules": ["lm_head"]}}, indent=1) + "\n")

    comp = BaseCompressor.get_value_from_registry("nvfp4-pack-quantized")
    sch = QuantizationScheme(targets=["Linear"], weights=QuantizationArgs(num_bits=4, type="float", strategy="tensor_group", group_size=16, symmetric=True))
    gs = torch.tensor([2688.0 * 3 / 7], dtype=F32)
    r = comp.decompress({"weight_packed": u, "weight_scale": s, "weight_global_scale": gs}, sch)["weight"]
    own2 = (q * (s.to(F32) / gs).repeat_interleave(16, 1)).to(BF16)
    wrong = (q * (s.to(F32) * (1 / gs)).repeat_interleave(16, 1)).to(BF16)
    scalar = comp.decompress({"weight_packed": u, "weight_scale": s, "weight_global_scale": gs[0]}, sch)["weight"]
    m2 = "model.layers.0.mlp.down_proj."
    m3 = "model.layers.0.self_attn.q_proj."
    w8 = (torch.randn(4, 32, generator=g)).to(E4M3)
    s8 = (torch.rand(4, 1, generator=g) * 0.1).to(BF16)
    comp8 = BaseCompressor.get_value_from_registry("float-quantized")
    a8 = QuantizationArgs(num_bits=8, type="float", strategy="channel", symmetric=True)
    r8 = comp8.decompress({"weight": w8, "weight_scale": s8}, QuantizationScheme(targets=["Linear"], weights=a8))["weight"]
    c2 = cfg({"quant_method": "compressed-tensors", "format": "mixed-precision", "quantization_status": "compressed", "global_compression_ratio": None, "ignore": ["lm_head"], "kv_cache_scheme": None,
              "config_groups": {"group_0": {"format": "float-quantized", "targets": ["re:.*self_attn.*"], "weights": {"num_bits": 8, "type": "float", "strategy": "channel", "symmetric": True, "dynamic": False}, "input_activations": {"num_bits": 8, "type": "float", "strategy": "token", "dynamic": True, "symmetric": True}, "output_activations": None},
                                "group_1": {"format": "nvfp4-pack-quantized", "targets": ["re:.*mlp.*"], "weights": {"num_bits": 4, "type": "float", "strategy": "tensor_group", "group_size": 16, "symmetric": True, "dynamic": False}, "input_activations": {"num_bits": 4, "type": "float", "strategy": "tensor_group", "group_size": 16, "dynamic": "local", "symmetric": True}, "output_activations": None}}})
    case("ct-nvfp4-mixed", {m2 + "weight_packed": u, m2 + "weight_scale": s, m2 + "weight_global_scale": gs, m2 + "input_global_scale": torch.tensor([500.]), m3 + "weight": w8, m3 + "weight_scale": s8}, c2,
         {m2 + "weight": r, m3 + "weight": r8}, "compressed-tensors decompress (BF16)",
         {"formula scale/global": same(own2, r), "scale*(1/global) instead": same(wrong, r) or f"{int((wrong != r).sum())} of {r.numel()} differ", "0-d global scale": same(scalar, r) or f"{int((scalar != r).sum())} of {r.numel()} differ", "fp8 channel": same((w8.to(F32) * s8.to(F32)).to(BF16), r8)})


# (d) compressed-tensors ----------------------------------------------------------------------------
def ct():
    from compressed_tensors.compressors import BaseCompressor
    from compressed_tensors.compressors.pack_quantized.helpers import pack_to_int32
    from compressed_tensors.quantization import QuantizationArgs, QuantizationScheme
    g = gen(5)
    # float-quantized: tensor, channel, block
    comp = BaseCompressor.get_value_from_registry("float-quantized")
    out, exp, chk = {}, {}, {}
    for n, strat, (r, c), s, kw in (("tensor", "tensor", (8, 32), (torch.rand(1, generator=g) * .1).to(BF16), {}), ("channel", "channel", (8, 32), (torch.rand(8, 1, generator=g) * .1).to(BF16), {}),
                                    ("channelf32", "channel", (8, 32), torch.rand(8, 1, generator=g) * .1, {}), ("block", "block", (130, 8), (torch.rand(2, 1, generator=g) * .1), {"block_structure": [128, 128]})):
        w = (torch.randn(r, c, generator=g) * 50).clamp(-448, 448).to(E4M3)
        ref = comp.decompress({"weight": w, "weight_scale": s}, QuantizationScheme(targets=["Linear"], weights=QuantizationArgs(num_bits=8, type="float", strategy=strat, symmetric=True, **kw)))["weight"]
        sf = s.to(F32) if strat != "block" else grid(s, 128, 128, r, c)
        own = (w.to(F32) * sf).to(ref.dtype)
        chk[n] = f"{ref.dtype} {same(own, ref)}"
        out[f"{n}.weight"], out[f"{n}.weight_scale"], exp[f"{n}.weight"] = w, s, ref
    def grp(strat, targets, **kw):
        return {"targets": targets, "weights": {"num_bits": 8, "type": "float", "strategy": strat, "symmetric": True, "dynamic": False, **kw}, "input_activations": {"num_bits": 8, "type": "float", "strategy": "token", "dynamic": True, "symmetric": True}, "output_activations": None}
    case("ct-float", out, cfg({"quant_method": "compressed-tensors", "format": "float-quantized", "quantization_status": "compressed", "ignore": [],
         "config_groups": {"group_0": grp("tensor", ["tensor"]), "group_1": grp("channel", ["re:channel.*"]), "group_2": grp("block", ["block"], block_structure=[128, 128])}}), exp, "compressed-tensors decompress (dtype of the scale)", chk)
    # int-quantized W8A8
    comp = BaseCompressor.get_value_from_registry("int-quantized")
    w = torch.randint(-128, 128, (8, 32), generator=g).to(torch.int8)
    s = (torch.rand(8, 1, generator=g) * .02).to(BF16)
    zp = torch.randint(-100, 100, (8, 1), generator=g).to(torch.int8)
    r1 = comp.decompress({"weight": w, "weight_scale": s}, QuantizationScheme(targets=["Linear"], weights=QuantizationArgs(num_bits=8, type="int", strategy="channel", symmetric=True)))["weight"]
    r2 = comp.decompress({"weight": w, "weight_scale": s, "weight_zero_point": zp}, QuantizationScheme(targets=["Linear"], weights=QuantizationArgs(num_bits=8, type="int", strategy="channel", symmetric=False)))["weight"]
    i8 = lambda sym, t: {"targets": t, "weights": {"num_bits": 8, "type": "int", "strategy": "channel", "symmetric": sym, "dynamic": False}, "input_activations": {"num_bits": 8, "type": "int", "strategy": "token", "dynamic": True, "symmetric": True}}
    case("ct-int8", {"a.weight": w, "a.weight_scale": s, "b.weight": w.clone(), "b.weight_scale": s.clone(), "b.weight_zero_point": zp},
         cfg({"quant_method": "compressed-tensors", "format": "int-quantized", "quantization_status": "compressed", "ignore": ["lm_head"], "config_groups": {"group_0": i8(True, ["a"]), "group_1": i8(False, ["b"])}}),
         {"a.weight": r1, "b.weight": r2}, "compressed-tensors decompress",
         {"sym": same((w.to(F32) * s.to(F32)).to(BF16), r1), "asym": same(((w.to(F32) - zp.to(F32)) * s.to(F32)).to(BF16), r2)})
    # pack-quantized
    comp = BaseCompressor.get_value_from_registry("pack-quantized")
    out, exp, chk, groups = {}, {}, {}, {}
    for i, (n, b, sym, strat, gsz, r, c) in enumerate((("i4g", 4, True, "group", 32, 8, 64), ("i4ga", 4, False, "group", 32, 16, 64), ("i4c", 4, True, "channel", None, 5, 36), ("i8c", 8, True, "channel", None, 8, 32), ("i8ga", 8, False, "group", 32, 8, 64), ("i3g", 3, True, "group", 32, 4, 64))):
        lo, hi = -(1 << (b - 1)), (1 << (b - 1))
        q = torch.randint(lo, hi, (r, c), generator=g).to(torch.int8)
        ng = c // gsz if gsz else 1
        s = (torch.rand(r, ng, generator=g) * .1).to(BF16)
        z = torch.randint(lo, hi, (r, ng), generator=g).to(torch.int8)
        sd = {"weight_packed": pack_to_int32(q, b), "weight_scale": s, "weight_shape": torch.tensor([r, c])}
        if not sym:
            sd["weight_zero_point"] = pack_to_int32(z, b, packed_dim=0)
        args = QuantizationArgs(num_bits=b, type="int", strategy=strat, group_size=gsz, symmetric=sym)
        ref = comp.decompress(dict(sd), QuantizationScheme(targets=["Linear"], weights=args))["weight"]
        qf = q.to(F32) - (0 if sym else z.to(F32).repeat_interleave(gsz, 1))
        own = (qf * s.to(F32).repeat_interleave(c // ng, 1)).to(BF16)
        chk[n] = f"packed {list(sd['weight_packed'].shape)} zp {list(sd['weight_zero_point'].shape) if not sym else None} {same(own, ref)}"
        for k, v in sd.items():
            out[f"{n}.{k}"] = v
        exp[f"{n}.weight"] = ref
        groups[f"group_{i}"] = {"targets": [n], "weights": {"num_bits": b, "type": "int", "strategy": strat, "group_size": gsz, "symmetric": sym, "dynamic": False, "actorder": None}, "input_activations": None, "output_activations": None}
    # activation order: weight_g_idx maps a column to its group
    r, c, gsz = 4, 64, 32
    q = torch.randint(-8, 8, (r, c), generator=g).to(torch.int8)
    s = (torch.rand(r, 2, generator=g) * .1).to(BF16)
    gi = (torch.randperm(c, generator=g) // gsz).to(torch.int32)
    out |= {"i4act.weight_packed": pack_to_int32(q, 4), "i4act.weight_scale": s, "i4act.weight_shape": torch.tensor([r, c]), "i4act.weight_g_idx": gi}
    exp["i4act.weight"] = (q.to(F32) * s.to(F32)[:, gi.long()]).to(BF16)
    chk["i4act"] = "own formula; compressed-tensors 0.20.0 no longer reads weight_g_idx, 0.9.4 gives the same bits"
    groups["group_9"] = {"targets": ["i4act"], "weights": {"num_bits": 4, "type": "int", "strategy": "group", "group_size": 32, "symmetric": True, "dynamic": False, "actorder": "group"}}
    case("ct-pack", out, cfg({"quant_method": "compressed-tensors", "format": "pack-quantized", "quantization_status": "compressed", "ignore": ["lm_head"], "config_groups": groups}), exp, "compressed-tensors decompress", chk)
    # mxfp4-pack-quantized
    comp = BaseCompressor.get_value_from_registry("mxfp4-pack-quantized")
    u = torch.randint(0, 256, (4, 32), generator=g).to(torch.uint8)
    s = torch.randint(110, 135, (4, 2), generator=g).to(torch.uint8)
    ref = comp.decompress({"weight_packed": u, "weight_scale": s}, QuantizationScheme(targets=["Linear"], weights=QuantizationArgs(num_bits=4, type="float", strategy="group", group_size=32, symmetric=True)))["weight"]
    q = E2M1[torch.stack((u & 15, u >> 4), -1).reshape(4, 64).long()]
    own = (q * torch.ldexp(torch.ones(()), s.to(torch.int32) - 127).repeat_interleave(32, 1)).to(BF16)
    case("ct-mxfp4", {"a.weight_packed": u, "a.weight_scale": s}, cfg({"quant_method": "compressed-tensors", "format": "mxfp4-pack-quantized", "config_groups": {"group_0": {"targets": ["Linear"], "weights": {"num_bits": 4, "type": "float", "strategy": "group", "group_size": 32, "symmetric": True, "dynamic": False, "scale_dtype": "torch.uint8"}}}}), {"a.weight": ref}, "compressed-tensors decompress", {"formula": same(own, ref)})


def ct_more():
    """mxfp6-pack-quantized, and pack-quantized of the remaining widths, with zero points."""
    from compressed_tensors.compressors import BaseCompressor
    from compressed_tensors.compressors.pack_quantized.helpers import pack_to_int32
    from compressed_tensors.quantization import QuantizationArgs, QuantizationScheme
    g = gen(15)
    comp = BaseCompressor.get_value_from_registry("mxfp6-pack-quantized")
    u = torch.randint(0, 256, (5, 48), generator=g).to(torch.uint8)
    s = torch.randint(110, 135, (5, 2), generator=g).to(torch.uint8)
    s[0, 0], s[1, 0] = 0, 1
    ref = comp.decompress({"weight_packed": u, "weight_scale": s}, QuantizationScheme(targets=["Linear"], weights=QuantizationArgs(num_bits=6, type="float", strategy="group", group_size=32, symmetric=True)))["weight"]
    e2m3 = torch.tensor([m / 8 for m in range(8)] + [(1 + m / 8) * 2.0 ** e for e in range(3) for m in range(8)])
    bs = np.unpackbits(u.numpy(), axis=1, bitorder="little").reshape(5, 64, 6)
    code = torch.from_numpy((bs * (1 << np.arange(6))).sum(-1))
    q = torch.where(code >= 32, -e2m3[code & 31], e2m3[code & 31])
    own = (q * torch.ldexp(torch.ones(()), s.to(torch.int32) - 127).repeat_interleave(32, 1)).to(BF16)
    case("ct-mxfp6", {"a.weight_packed": u, "a.weight_scale": s}, cfg({"quant_method": "compressed-tensors", "format": "mxfp6-pack-quantized", "config_groups": {"group_0": {"targets": ["Linear"], "weights": {"num_bits": 6, "type": "float", "strategy": "group", "group_size": 32, "symmetric": True, "dynamic": False}}}}), {"a.weight": ref}, "compressed-tensors decompress", {"formula": same(own, ref)})

    comp = BaseCompressor.get_value_from_registry("pack-quantized")
    out, exp, chk, groups = {}, {}, {}, {}
    for b in (2, 3, 5, 6, 7):
        lo, hi = -(1 << (b - 1)), (1 << (b - 1))
        q = torch.randint(lo, hi, (40, 64), generator=g).to(torch.int8)
        z = torch.randint(lo, hi, (40, 2), generator=g).to(torch.int8)
        s = (torch.rand(40, 2, generator=g) * .1).to(BF16)
        sd = {"weight_packed": pack_to_int32(q, b), "weight_scale": s, "weight_shape": torch.tensor([40, 64]), "weight_zero_point": pack_to_int32(z, b, packed_dim=0)}
        args = QuantizationArgs(num_bits=b, type="int", strategy="group", group_size=32, symmetric=False)
        ref = comp.decompress(dict(sd), QuantizationScheme(targets=["Linear"], weights=args))["weight"]
        own = ((q.to(F32) - z.to(F32).repeat_interleave(32, 1)) * s.to(F32).repeat_interleave(32, 1)).to(BF16)
        chk[b] = same(own, ref)
        out |= {f"i{b}.{k}": v for k, v in sd.items()}
        exp[f"i{b}.weight"] = ref
        groups[f"group_{b}"] = {"targets": [f"i{b}"], "weights": {"num_bits": b, "type": "int", "strategy": "group", "group_size": 32, "symmetric": False, "dynamic": False}}
    case("ct-pack-bits", out, cfg({"quant_method": "compressed-tensors", "format": "pack-quantized", "quantization_status": "compressed", "ignore": ["lm_head"], "config_groups": groups}), exp, "compressed-tensors decompress", chk)


# (e) GPTQ, AWQ -------------------------------------------------------------------------------------
def gptq():
    from gptqmodel.utils.model_dequant import convert_gptq_file, convert_awq_file
    from gptqmodel.quantization.awq.utils.packing_utils import dequantize_gemm, AWQ_ORDER
    g = gen(6)
    def stream(v, b):           # [n, k] codes -> [n*b/32, k] words, a little-endian bit stream down each column
        n, k = v.shape
        o = np.zeros((n * b // 32, k), np.uint32)
        for i in range(n):
            w, sh = divmod(i * b, 32)
            x = v[i].astype(np.uint64) << sh
            o[w] |= (x & 0xFFFFFFFF).astype(np.uint32)
            if sh + b > 32:
                o[w + 1] |= (x >> 32).astype(np.uint32)
        return torch.from_numpy(o.view(np.int32))
    I, O = 64, 32
    for b in (2, 3, 4, 8):
        for fmt in (("gptq", "gptq_v2") if b == 4 else ("gptq",)):
            q = np.random.default_rng(b).integers(0, 1 << b, (I, O))
            z = np.random.default_rng(b + 9).integers(1, 1 << b, (2, O))          # true zero points 1 … maxq
            gi = torch.arange(I, dtype=torch.int32) // 32 if fmt == "gptq_v2" else (torch.randperm(I, generator=g) // 32).to(torch.int32)
            s = (torch.rand(2, O, generator=g) * .05).to(F16)
            stored = z if fmt == "gptq_v2" else z - 1
            t = {"m.qweight": stream(q, b), "m.qzeros": stream(stored.T, b).T.contiguous(), "m.scales": s, "m.g_idx": gi, "m.bias": torch.randn(O, generator=g).to(F16)}
            qc = {"quant_method": "gptq", "bits": b, "group_size": 32, "desc_act": fmt == "gptq", "sym": False, "checkpoint_format": fmt, "pack_dtype": "int32"}
            own = ((torch.from_numpy(q).to(F32) - torch.from_numpy(z).to(F32)[gi.long()]) * s.to(F32)[gi.long()]).t().contiguous()
            n = f"gptq-{b}bit" + ("-v2" if fmt == "gptq_v2" else "")
            d = HERE / n; d.mkdir(exist_ok=True)
            save_file(t, d / "model.safetensors")
            ref = convert_gptq_file(d / "model.safetensors", F16, qc, "cpu")
            refb = convert_gptq_file(d / "model.safetensors", BF16, qc, "cpu")
            case(n, t, cfg(qc), {"m.weight": ref["m.weight"], "m.bias": ref["m.bias"]}, "gptqmodel convert_gptq_file to F16, weight transposed to [out, in]", {"f16": same(own.to(F16), ref["m.weight"]), "bf16": same(own.to(BF16), refb["m.weight"])})
    # AWQ gemm
    q = np.random.default_rng(77).integers(0, 16, (I, O)); z = np.random.default_rng(78).integers(0, 16, (2, O))
    s = (torch.rand(2, O, generator=g) * .05).to(F16)
    def pack(v):
        v = v.reshape(v.shape[0], -1, 8).astype(np.uint32)
        o = np.zeros(v.shape[:2], np.uint32)
        for i in range(8):
            o |= v[:, :, AWQ_ORDER[i]] << np.uint32(4 * i)
        return torch.from_numpy(o.view(np.int32))
    t = {"m.qweight": pack(q), "m.qzeros": pack(z), "m.scales": s}
    ref = dequantize_gemm(t["m.qweight"], t["m.qzeros"], s, 4, 32).t().contiguous()
    own = ((torch.from_numpy(q).to(F32) - torch.from_numpy(z).to(F32).repeat_interleave(32, 0)) * s.to(F32).repeat_interleave(32, 0)).t().contiguous()
    d = HERE / "awq-gemm"; d.mkdir(exist_ok=True)
    save_file(t, d / "model.safetensors")
    bad = convert_awq_file(d / "model.safetensors", F16, "cpu")["m.weight"]
    case("awq-gemm", t, cfg({"quant_method": "awq", "bits": 4, "group_size": 32, "version": "gemm", "zero_point": True, "modules_to_not_convert": None}), {"m.weight": ref}, "gptqmodel (as AutoAWQ) dequantize_gemm in F16, transposed to [out, in]",
         {"formula f16": same(own.to(F16), ref), "gptqmodel convert_awq_file": same(bad, ref) or f"{int((bad != ref).sum())} of {ref.numel()} differ: it forgets the interleave"})


# (f) bitsandbytes ----------------------------------------------------------------------------------
def bnb():
    import bitsandbytes.functional as F
    g = gen(7)
    out, exp, chk = {}, {}, {}
    for n, qt, nested, dt, shape in (("nf4", "nf4", False, BF16, (6, 40)), ("nf4dq", "nf4", True, BF16, (6, 40)), ("fp4", "fp4", False, F16, (6, 40)), ("nf4f32", "nf4", True, F32, (3, 30))):
        w = torch.randn(shape, generator=g).to(dt)
        q, st = F.quantize_4bit(w, blocksize=64, quant_type=qt, compress_statistics=nested)
        ref = F.dequantize_4bit(q, st)
        code = st.code
        am = st.absmax if not nested else st.state2.code[st.absmax.long()] * st.state2.absmax.repeat_interleave(256)[:st.absmax.numel()] + st.offset
        u = q.flatten(); idx = torch.stack((u >> 4, u & 15), 1).flatten()[:w.numel()].long()
        own = (code[idx] * am.repeat_interleave(64)[:w.numel()]).to(dt).reshape(shape)
        chk[n] = same(own, ref)
        out[f"{n}.weight"] = q
        for k, v in st.as_dict(packed=True).items():
            out[f"{n}.weight.{k}"] = v.clone()
        exp[f"{n}.weight"] = ref
    case("bnb-4bit", out, cfg({"quant_method": "bitsandbytes", "load_in_4bit": True, "load_in_8bit": False, "bnb_4bit_quant_type": "nf4", "bnb_4bit_use_double_quant": True, "bnb_4bit_compute_dtype": "bfloat16", "bnb_4bit_quant_storage": "uint8", "llm_int8_skip_modules": None}), exp, "bitsandbytes dequantize_4bit (CPU), dtype from quant_state", chk)
    cb = torch.randint(-127, 128, (5, 24), generator=g).to(torch.int8)
    scb = torch.rand(5, generator=g) * 3
    ref = F.int8_vectorwise_dequant(cb, scb)
    own = (cb.to(F32) * scb[:, None]) * torch.tensor(7.874015718698502e-3, dtype=F32)
    case("bnb-int8", {"m.weight": cb, "m.SCB": scb, "m.weight_format": torch.tensor(0, dtype=torch.uint8)}, cfg({"quant_method": "bitsandbytes", "load_in_8bit": True, "load_in_4bit": False, "llm_int8_threshold": 6.0}), {"m.weight": ref}, "bitsandbytes int8_vectorwise_dequant (F32)", {"(cb*scb)*fl32(1/127)": same(own, ref)})


# (g) MLX -------------------------------------------------------------------------------------------
def mlx():
    import mlx.core as mx
    rng = np.random.default_rng(8)
    out, exp, chk = {}, {}, {}
    quant = {}
    tn = lambda a: torch.from_numpy(np.array(a.astype(mx.float32))).to(BF16)
    for b in (2, 3, 4, 5, 6, 8):
        for dt in ((mx.bfloat16, mx.float16) if b == 4 else (mx.bfloat16,)):
            w = mx.array(rng.standard_normal((4, 64)).astype(np.float32)).astype(dt)
            wq, s, bi = mx.quantize(w, group_size=32, bits=b)
            ref = mx.dequantize(wq, s, bi, group_size=32, bits=b)
            u = np.array(wq).view(np.uint8).reshape(4, -1)
            bs = np.unpackbits(u, axis=1, bitorder="little").reshape(4, 64, b)
            q = (bs * (1 << np.arange(b))).sum(-1).astype(np.float32)
            tdt = BF16 if dt == mx.bfloat16 else F16
            sf, bf = (torch.from_numpy(np.array(x.astype(mx.float32))) for x in (s, bi))
            rt = torch.from_numpy(np.array(ref.astype(mx.float32))).to(tdt)
            S, B = sf.repeat_interleave(32, 1), bf.repeat_interleave(32, 1)
            Q = torch.from_numpy(q)
            once = (Q * S + B).to(tdt)
            twice = ((Q * S).to(tdt).to(F32) + B).to(tdt)
            n = f"b{b}" + ("" if dt == mx.bfloat16 else "f16")
            chk[n] = {"round(q*s)+b rounded twice": same(twice, rt), "f32 then one rounding": same(once, rt) or f"{int((once != rt).sum())} of {rt.numel()} differ"}
            out |= {f"{n}.weight": torch.from_numpy(np.array(wq).view(np.int32)).view(torch.uint32), f"{n}.scales": sf.to(tdt), f"{n}.biases": bf.to(tdt)}
            exp[f"{n}.weight"] = rt
            quant[n] = {"group_size": 32, "bits": b}
    case("mlx-affine", out, {"model_type": "heft_test", "quantization": {"group_size": 32, "bits": 4, "mode": "affine", **quant}, "quantization_config": {"group_size": 32, "bits": 4, "mode": "affine", **quant}}, exp, "mlx dequantize (CPU)", chk)
    out, exp, chk = {}, {}, {}
    for mode, gs, b in (("mxfp4", 32, 4), ("nvfp4", 16, 4), ("mxfp8", 32, 8)):
        w = mx.array(rng.standard_normal((2, 64)).astype(np.float32)).astype(mx.bfloat16)
        r = mx.quantize(w, mode=mode)
        ref = mx.dequantize(*r, mode=mode) if len(r) == 3 else mx.dequantize(r[0], r[1], mode=mode)
        u = torch.from_numpy(np.array(r[0]).view(np.uint8).reshape(2, -1).copy()); s = torch.from_numpy(np.array(r[1]))
        sc = torch.ldexp(torch.ones(()), s.to(torch.int32) - 127) if mode != "nvfp4" else s.view(E4M3).to(F32)
        q = E2M1[torch.stack((u & 15, u >> 4), -1).reshape(2, 64).long()] if b == 4 else u.view(E4M3).to(F32)
        own = (q * sc.repeat_interleave(gs, 1)).to(BF16)
        rt = tn(ref)
        chk[mode] = same(own, rt) or f"{int((own != rt).sum())} differ; dtype {ref.dtype}"
        out |= {f"{mode}.weight": torch.from_numpy(np.array(r[0]).view(np.int32)).view(torch.uint32), f"{mode}.scales": s}
        exp[f"{mode}.weight"] = rt
    case("mlx-fp", out, {"model_type": "heft_test", "quantization": {"group_size": 32, "bits": 4, "mode": "mxfp4", "nvfp4": {"group_size": 16, "bits": 4, "mode": "nvfp4"}, "mxfp8": {"group_size": 32, "bits": 8, "mode": "mxfp8"}}}, exp, "mlx dequantize (CPU)", chk)


# (h) value tables ----------------------------------------------------------------------------------
def tables():
    r = {}
    u = torch.arange(256, dtype=torch.int32).to(torch.uint8)
    for n in ("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu"):
        v = u.view(getattr(torch, n)).to(F32)
        r[n] = [f"{int(x) & 0xFFFFFFFF:08x}" for x in v.view(torch.int32).tolist()]
    r["float4_e2m1"] = [f"{int(x) & 0xFFFFFFFF:08x}" for x in E2M1.view(torch.int32).tolist()]
    e2m3 = [(m / 8 if e == 0 else (1 + m / 8) * 2.0 ** (e - 1)) for e in range(4) for m in range(8)]
    e3m2 = [(m / 16 if e == 0 else (1 + m / 4) * 2.0 ** (e - 3)) for e in range(8) for m in range(4)]
    for n, t in (("float6_e2m3", e2m3), ("float6_e3m2", e3m2)):
        a = np.array(t + [-x for x in t], np.float32)
        r[n] = [f"{int(x):08x}" for x in a.view(np.uint32)]
    from compressed_tensors.compressors.mxfp6.helpers import kE2M3ToFloat
    (HERE / "tables.json").write_text(json.dumps(r) + "\n")
    chk = {"e2m3 = compressed-tensors": bool(torch.equal(kE2M3ToFloat, torch.tensor(e2m3)))}
    try:
        import ml_dtypes
        for n, d in (("float6_e2m3", "float6_e2m3fn"), ("float6_e3m2", "float6_e3m2fn")):
            v = np.arange(64, dtype=np.uint8).view(getattr(ml_dtypes, d)).astype(np.float32)
            chk[n + " = ml_dtypes"] = [f"{int(x):08x}" for x in v.view(np.uint32)] == r[n]
        v = np.arange(16, dtype=np.uint8).view(ml_dtypes.float4_e2m1fn).astype(np.float32)
        chk["float4 = ml_dtypes"] = [f"{int(x):08x}" for x in v.view(np.uint32)] == r["float4_e2m1"]
    except ImportError:
        chk["ml_dtypes"] = "not there"
    try:
        x = torch.tensor([0x21], dtype=torch.uint8).view(torch.float4_e2m1fn_x2)
        chk["torch float4_e2m1fn_x2 cast"] = str(x.to(F32))
    except Exception as e:
        chk["torch float4_e2m1fn_x2 cast"] = f"{type(e).__name__}: {str(e)[:80]}"
    REPORT["tables"] = {"checks": chk}
    print(chk)


if __name__ == "__main__":
    import sys
    for f in (fp8_block, fp8_v4, gptoss, nvfp4, ct, ct_more, gptq, bnb, mlx, tables):
        if len(sys.argv) > 1 and f.__name__ not in sys.argv[1:]:
            continue
        f()
    if len(sys.argv) == 1:
        (HERE / "report.json").write_text(json.dumps(REPORT, indent=1, default=str) + "\n")
