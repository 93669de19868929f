"""Writes the models of tests/quantized/broken: each is refused, or has a weight that is.

    python tests/quantized/make_broken.py

Only the standard library: bytes of tensors are zeros unless a case sets them. The message of each is in
tests/cli/dequantize_refusals.case."""
import json
import struct
from pathlib import Path

HERE = Path(__file__).resolve().parent / "broken"
SIZES = {"F32": 4, "BF16": 2, "F16": 2, "F8_E4M3": 1, "F8_E5M2": 1, "F8_E8M0": 1, "U8": 1, "I8": 1, "I32": 4, "F64": 8}
FP8 = {"quant_method": "fp8", "weight_block_size": [128, 128]}


def write(name, tensors, config=None, raw=None, extra=None):
    """tensors: {name: (dtype, shape, bytes or None)}; config: quantization_config, or the text of config.json."""
    folder = HERE / name
    folder.mkdir(parents=True, exist_ok=True)
    header, data = {}, b""
    for key, (dtype, shape, *value) in tensors.items():
        n = SIZES[dtype]
        for extent in shape:
            n *= extent
        value = value[0] if value else b"\0" * n
        assert len(value) == n, (name, key)
        header[key] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + n]}
        data += value
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + data)
    if raw is not None:
        (folder / "config.json").write_text(raw)
    elif config is not None:
        (folder / "config.json").write_text(json.dumps({"torch_dtype": "bfloat16", "quantization_config": config, **(extra or {})}))


def f32(*values):
    return struct.pack(f"<{len(values)}f", *values)


def group(**weights):
    return {"quant_method": "compressed-tensors", "format": weights.pop("format", "float-quantized"),
            "config_groups": {"group_0": {"targets": weights.pop("targets", ["Linear"]), "weights": weights}}}


W, S = ("F8_E4M3", [4, 8]), ("F32", [1, 1], f32(1))
# recognition
write("no-config", {"a.weight": W, "a.weight_scale_inv": S})
write("no-scale", {"a.weight": W}, FP8)
write("no-weight", {"a.weight": W, "a.weight_scale_inv": S, "b.weight_scale_inv": S}, FP8)
write("unknown-method", {"a.weight": W, "a.weight_scale_inv": S}, {"quant_method": "foo"})
write("aqlm", {"a.codes": ("I32", [4, 8])}, {"quant_method": "aqlm"})
write("hqq-names", {"a.W_q": ("U8", [4, 8])})
write("not-quantized", {"a.weight": ("U8", [4, 8])}, FP8)
write("method-number", {"a.weight": W, "a.weight_scale_inv": S}, {"quant_method": 8})
# config.json
write("json-broken", {"a.weight": W, "a.weight_scale_inv": S}, raw='{"quantization_config": {"quant_method": "fp8",}}')
write("json-deep", {"a.weight": W, "a.weight_scale_inv": S}, raw="[" * 120 + "]" * 120)
write("json-twice", {"a.weight": W, "a.weight_scale_inv": S}, raw='{"quantization_config": {"quant_method": "fp8", "quant_method": "gptq"}}')
write("block-zero", {"a.weight": W, "a.weight_scale_inv": S}, {**FP8, "weight_block_size": [0, 128]})
write("block-float", {"a.weight": W, "a.weight_scale_inv": S}, {**FP8, "weight_block_size": [128.0, 128]})
write("block-text", {"a.weight": W, "a.weight_scale_inv": S}, {**FP8, "weight_block_size": "128"})
write("block-three", {"a.weight": W, "a.weight_scale_inv": S}, {**FP8, "weight_block_size": [128, 128, 1]})
write("block-huge", {"a.weight": W, "a.weight_scale_inv": S}, {**FP8, "weight_block_size": [128, 2**31 + 1]})
# shapes and dtypes
write("scale-shape", {"a.weight": W, "a.weight_scale_inv": ("F32", [2, 1])}, FP8)
write("scale-rank", {"a.weight": W, "a.weight_scale_inv": ("F32", [1])}, FP8)
write("scale-dtype", {"a.weight": W, "a.weight_scale_inv": ("F64", [1, 1])}, FP8)
write("one-of-many", {"a.weight": W, "a.weight_scale_inv": ("F32", [2])}, {"quant_method": "fp8", "weight_block_size": None})
write("vector", {"a.weight": ("F8_E4M3", [4]), "a.weight_scale_inv": S}, FP8)
write("int8-in-fp8", {"a.weight": ("I8", [4, 8]), "a.weight_scale_inv": S}, FP8)
write("experts-square", {"a.weight": ("F8_E4M3", [2, 4, 4]), "a.weight_scale": ("F32", [2, 4])}, {"quant_method": "modelopt", "quant_algo": "FP8"})
write("fp8-pb-wo", {"a.weight": W, "a.weight_scale": ("F32", [1, 1, 1, 1])}, {"quant_method": "modelopt", "quant_algo": "FP8_PB_WO"})
write("mixed-unlisted", {"a.weight": W, "a.weight_scale": ("F32", [])}, {"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION", "quantized_layers": {}})
# values
write("scale-nan", {"a.weight": W, "a.weight_scale_inv": ("F32", [1, 1], f32(float("nan"))), "b.weight": ("BF16", [2])}, FP8)
write("scale-inf", {"a.weight": W, "a.weight_scale_inv": ("F32", [1, 1], f32(float("inf")))}, FP8)
write("e8m0-nan", {"a.weight": ("F8_E4M3", [1, 32]), "a.weight_scale": ("U8", [1, 1], b"\xff")}, {"quant_method": "mxfp8"})
write("overflow", {"a.weight": ("F8_E4M3", [1, 1], b"\x7e"), "a.weight_scale_inv": ("F32", [1, 1], f32(1e38))}, FP8)
# MXFP4, NVFP4
B = {"p_blocks": ("U8", [1, 1, 1, 16], b"\x77" * 16), "p_scales": ("U8", [1, 1, 1], b"\xfe")}
write("mxfp4-overflow", B, {"quant_method": "mxfp4"})
write("mxfp4-nan", {**B, "p_scales": ("U8", [1, 1, 1], b"\xff")}, {"quant_method": "mxfp4"})
write("mxfp4-shape", {**B, "p_scales": ("U8", [1, 1, 2])}, {"quant_method": "mxfp4"})
write("mxfp4-no-scales", {"p_blocks": B["p_blocks"]}, {"quant_method": "mxfp4"})
N = {"a.weight": ("U8", [1, 8]), "a.weight_scale": ("F8_E4M3", [1, 1], b"\x38"), "a.weight_scale_2": ("F32", [], f32(1))}
NV = {"quant_method": "modelopt", "quant_algo": "NVFP4"}
write("nvfp4-negative", {**N, "a.weight_scale": ("F8_E4M3", [1, 1], b"\xb8")}, NV)
write("nvfp4-no-factor", {k: v for k, v in N.items() if k != "a.weight_scale_2"}, NV)
write("nvfp4-swizzled", {**N, "a.weight_scale": ("U8", [512])}, NV)
write("nvfp4-awq", N, {**NV, "quant_algo": "NVFP4_AWQ"})
write("nvfp4-pre-scale", {**N, "a.pre_quant_scale": ("BF16", [16])}, NV)
P = {"a.weight_packed": ("U8", [1, 8]), "a.weight_scale": ("F8_E4M3", [1, 1], b"\x38"), "a.weight_global_scale": ("F32", [1], f32(0))}
C = dict(format="nvfp4-pack-quantized", num_bits=4, type="float", group_size=16, strategy="tensor_group")
write("nvfp4-zero", P, group(**C))
write("nvfp4-group-size", P, group(**{**C, "group_size": 32}))
write("two-weights", {**P, "a.weight": ("BF16", [1, 16])}, group(**C))
# groups of compressed-tensors
F = dict(num_bits=8, type="float", strategy="channel")
M = {"a.weight": W, "a.weight_scale": ("F32", [4, 1])}
write("group-regex", M, group(**F, targets=["re:(?!x).*"]))
write("group-repeat", M, group(**F, targets=["re:((a{99}){99}){99}"]))
write("group-long", M, group(**F, targets=["re:" + "a" * 1200]))
write("group-dynamic", M, group(**{**F, "dynamic": True}))
write("group-none", M, {**group(**F), "config_groups": {"g0": {"targets": ["b"], "weights": F}, "g1": {"targets": ["c"], "weights": F}}})
write("group-two", M, {**group(**F), "config_groups": {"g0": {"targets": ["re:a"], "weights": F}, "g1": {"targets": ["re:.*"], "weights": {**F, "strategy": "tensor"}}}})
write("group-frozen", M, {**group(**F), "quantization_status": "frozen"})
write("group-sparse", M, {**group(**F), "sparsity_config": {"format": "sparse-24-bitmask"}})
write("group-rotated", M, {**group(**F), "transform_config": {"config_groups": {"u": {}}}})
write("group-marlin", M, group(**F, format="marlin-24"))
