"""Refused checkpoints of integer codes: compressed-tensors, GPTQ, AWQ, bitsandbytes, MLX."""
import json
import struct

from edit import config, data, drop, dtype, no_config, patch, put, rename, repack, shape, together

NAN16, NAN32, INF32 = b"\x00\x7e", b"\x00\x00\xc0\x7f", b"\x00\x00\x80\x7f"
SYMMETRIC = config("sym", value=True)


def words(*values):
    return struct.pack(f"<{len(values)}I", *values)


def i64(*values):
    return struct.pack(f"<{len(values)}q", *values)


def group(name, key, value):
    return config("config_groups", name, "weights", key, value=value)


def state(**changes):
    """Another quant_state of nf4.weight; a value of None removes the member."""
    def apply(tensors, _):
        name = "nf4.weight.quant_state.bitsandbytes__nf4"
        text = json.loads(tensors[name][2]) | changes
        text = json.dumps({key: value for key, value in text.items() if value is not None}).encode()
        tensors[name] = ("U8", [len(text)], text)
    return apply


def state_text(text):
    return put("nf4.weight.quant_state.bitsandbytes__nf4", "U8", [len(text)], text)


def mlx(key, value, module=None):
    def apply(_, config):
        for name in ("quantization", "quantization_config"):
            node = config.get(name)
            if node is not None:
                (node[module] if module else node)[key] = value
    return apply


def no_mlx(key, module=None):
    def apply(_, config):
        for name in ("quantization", "quantization_config"):
            node = config.get(name)
            if node is not None:
                del (node[module] if module else node)[key]
    return apply


GPTQ = [
    ("gptq: qzeros is missing", drop("m.qzeros"), 2, "m.qzeros is missing"),
    ("gptq: scales are missing", drop("m.scales"), 2, "m.scales is missing"),
    ("gptq: qweight is missing", drop("m.qweight"), 2, "no tensor is quantized like that"),
    ("gptq: qweight is U32", dtype("m.qweight", "U32"), 2, "expected I32 for both"),
    ("gptq: scales are I16", dtype("m.scales", "I16"), 2, "expected F16, BF16 or F32"),
    ("gptq: bits are absent", no_config("bits"), 2, "expected 2, 3, 4 or 8"),
    ("gptq: bits 5", config("bits", value=5), 2, "expected 2, 3, 4 or 8"),
    ("gptq: bits are a text", config("bits", value="4"), 2, "expected an integer"),
    ("gptq: other bits than the shapes", config("bits", value=8), 2, "does not fit 8 bits"),
    ("gptq: group_size 0", config("group_size", value=0), 2, "expected an integer from 1"),
    ("gptq: group_size is absent", no_config("group_size"), 2, "group_size"),
    ("gptq: another group_size", config("group_size", value=16), 2, "group_size 16"),
    ("gptq: one group, with scales of two", config("group_size", value=-1), 2, "group_size -1"),
    ("gptq: marlin", config("checkpoint_format", value="marlin"), 2, "checkpoint_format is marlin"),
    ("gptq: bitblas", config("checkpoint_format", value="bitblas"), 2, "checkpoint_format is bitblas"),
    ("gptq: gptq_p", config("checkpoint_format", value="gptq_p"), 2, "checkpoint_format is gptq_p"),
    ("gptq: is_marlin_format", config("is_marlin_format", value=True), 2, "is_marlin_format"),
    ("gptq: pack_dtype", config("pack_dtype", value="int64"), 2, "pack_dtype is int64"),
    ("gptq: scales of fewer columns", shape("m.scales", [2, 31]), 2, "scales [2,31]"),
    ("gptq: scales of rank 1", shape("m.scales", [64]), 2, "scales [64]"),
    ("gptq: no scales", shape("m.scales", [0, 32]), 2, "scales [0,32]"),
    ("gptq: zero points of more columns", shape("m.qzeros", [2, 5]), 2, "qzeros [2,5]"),
    ("gptq: g_idx is too short", shape("m.g_idx", [63]), 2, "expected I32 [64]"),
    ("gptq: g_idx of another dtype", dtype("m.g_idx", "F32"), 2, "expected I32 [64]"),
    ("gptq: g_idx is negative", patch("m.g_idx", 20, b"\xff\xff\xff\xff"), 2, "element 5 is group -1"),
    ("gptq: g_idx is too large", patch("m.g_idx", 252, words(2)), 2, "element 63 is group 2; the groups are 0 to 1"),
    ("gptq: a scale is NaN", patch("m.scales", 66, NAN16), 2, "element [1,1] is not a finite number"),
    ("gptq: m.weight exists", put("m.weight", "F16", [1], b"\0\0"), 2, "beside it is m.weight"),
    ("gptq: unknown method", config("quant_method", value="foo"), 2, "quant_method 'foo' is not known"),
    ("gptq: symmetric, other zero points", together(SYMMETRIC, data("m.qzeros", words(*[0x33333333] * 8))), 2,
     "expected 7 (gptq) or 8 (gptq_v2)"),
    ("gptq: symmetric, two zero points", together(SYMMETRIC, data("m.qzeros", words(*[0x77777777] * 7, 0x78777777))), 2,
     "another zero point than the first one"),
    ("gptq: symmetric and v2, whatever it says", together(SYMMETRIC, data("m.qzeros", words(*[0x88888888] * 8))), 0,
     "checkpoint_format is gptq, but the zero points are those of gptq_v2"),
    ("gptq: symmetric and v1", together(SYMMETRIC, data("m.qzeros", words(*[0x77777777] * 8))), 0, "dequantized 1 weight"),
    ("gptq: a full zero point", patch("m.qzeros", 4, words(0x0F000000)), 2, "read: use --gptq-zero"),
    ("gptq: a full zero point wraps", patch("m.qzeros", 4, words(0x0F000000)), 0, "dequantized", ["--gptq-zero", "wrap"]),
    ("gptq: a full zero point carries", patch("m.qzeros", 4, words(0x0F000000)), 0, "dequantized", ["--gptq-zero=carry"]),
    ("gptq: a full zero point, unknown option", lambda t, c: None, 2, "expected wrap or carry", ["--gptq-zero=drop"]),
    ("gptq: AutoRound with its packing", together(config("quant_method", value="auto-round"), config("packing_format", value="auto_round:auto_gptq")), 0, "="),
    ("gptq: AutoRound with another packing", together(config("quant_method", value="auto-round"), config("packing_format", value="auto_round:exllamav2")), 2, "AutoRound"),
    ("gptq: AutoRound without a packing", config("quant_method", value="auto-round"), 2, "AutoRound"),
    ("gptq: salvage loses a weight with a broken scale", patch("m.scales", 66, NAN16), 1, "m.weight", ["--salvage"]),
    ("gptq: no g_idx", drop("m.g_idx"), 0, "dequantized 1 weight"),
    ("gptq: rules give other bits", together(config("dynamic", value={"+:m": {"bits": 4}}), config("bits", value=8)), 0, "="),
    ("gptq: scales without a weight", put("n.qzeros", "I32", [1], words(1)), 2, "no quantized weight n belongs to it"),
]
AWQ = [
    ("awq: gemv", config("version", value="gemv"), 2, "version is gemv"),
    ("awq: gemv_fast", config("version", value="gemv_fast"), 2, "version is gemv_fast"),
    ("awq: exllama", config("version", value="exllama"), 2, "version is exllama"),
    ("awq: marlin", config("version", value="marlin"), 2, "version is marlin"),
    ("awq: ipex", config("version", value="ipex"), 2, "version is ipex"),
    ("awq: llm-awq", config("backend", value="llm-awq"), 2, "backend is llm-awq"),
    ("awq: bits 3", config("bits", value=3), 2, "bits is 3"),
    ("awq: bits are absent", no_config("bits"), 2, "expected 4"),
    ("awq: no zero points", config("zero_point", value=False), 2, "zero_point is false"),
    ("awq: qzeros is missing", drop("m.qzeros"), 2, "m.qzeros is missing"),
    ("awq: group_size does not divide", config("group_size", value=48), 2, "does not fit group_size 48"),
    ("awq: group_size is absent", no_config("group_size"), 2, "group_size is absent"),
    ("awq: another group_size", config("group_size", value=64), 2, "does not fit group_size 64"),
    ("awq: scales of fewer columns", shape("m.scales", [2, 24]), 2, "scales [2,24]"),
    ("awq: qweight of rank 3", shape("m.qweight", [1, 64, 4]), 2, "shape [1,64,4]"),
    ("awq: a scale is infinite", patch("m.scales", 0, b"\x00\x7c"), 2, "element [0,0] is not a finite number"),
    ("awq: AutoRound with its packing", together(config("quant_method", value="intel/auto-round"), config("packing_format", value="auto_round:auto_awq")), 0, "="),
    ("awq: g_idx exists", put("m.g_idx", "I32", [64], bytes(256)), 2, "no quantized weight m belongs to it"),
    ("awq: it is said to be gptq", together(config("quant_method", value="gptq"), config("checkpoint_format", value="gptq")), 2,
     "does not fit 4 bits"),
]
INT8 = [
    ("int8: SCB is missing", drop("m.SCB"), 2, "m.SCB is missing"),
    ("int8: weight_format is missing", drop("m.weight_format"), 2, "m.weight_format is missing"),
    ("int8: col_turing", data("m.weight_format", b"\2"), 2, "is 2 (col_turing)"),
    ("int8: an unknown format", data("m.weight_format", b"\7"), 2, "is 7 (unknown)"),
    ("int8: SCB of other rows", shape("m.SCB", [4]), 2, "with SCB F32 [4]"),
    ("int8: SCB is NaN", patch("m.SCB", 8, NAN32), 2, "element [2,0] is not a finite number"),
    ("int8: SCB of another dtype", dtype("m.SCB", "I32"), 2, "with SCB I32 [5]"),
    ("int8: the largest scale", patch("m.SCB", 0, b"\xff\xff\x7f\x7f"), 2, "exceeds the range"),
    ("int8: values beyond F16", patch("m.SCB", 0, b"\x00\x24\x74\x49"), 2, "beyond the range of F16", ["--dequantize=F16"]),
    ("int8: the same values in BF16", patch("m.SCB", 0, b"\x00\x24\x74\x49"), 0, "dequantized 1 weight"),
    ("int8: weight is missing", drop("m.weight"), 2, "no tensor is quantized like that"),
]
BNB = [
    ("bnb: absmax is missing", drop("nf4.weight.absmax"), 2, "nf4.weight.absmax is missing"),
    ("bnb: quant_map is missing", drop("nf4.weight.quant_map"), 2, "nf4.weight.quant_map is missing"),
    ("bnb: quant_state is missing", drop("nf4.weight.quant_state.bitsandbytes__nf4"), 2, "quant_state.bitsandbytes__nf4 (or fp4) is missing"),
    ("bnb: all companions are missing", drop("nf4.weight.quant_state.bitsandbytes__nf4", "nf4.weight.absmax", "nf4.weight.quant_map"), 2, "quant_state.bitsandbytes__nf4 (or fp4) is missing"),
    ("bnb: weight is missing", drop("nf4.weight"), 2, "no quantized weight nf4.weight belongs to it"),
    ("bnb: nested_absmax is missing", drop("nf4dq.weight.nested_absmax"), 2, "nf4dq.weight.nested_absmax is missing"),
    ("bnb: nested_quant_map is missing", drop("nf4dq.weight.nested_quant_map"), 2, "nf4dq.weight.nested_quant_map is missing"),
    ("bnb: another quant_map", patch("nf4.weight.quant_map", 8, INF32), 2, "element 2 is not that of the table of nf4"),
    ("bnb: quant_map of another count", shape("nf4.weight.quant_map", [15]), 2, "expected F32 [16]"),
    ("bnb: states of both types", put("nf4.weight.quant_state.bitsandbytes__fp4", "U8", [2], b"{}"), 2, "the states of both nf4 and fp4"),
    ("bnb: absmax of another count", shape("nf4.weight.absmax", [5]), 2, "expected F32 [4]"),
    ("bnb: absmax of another dtype", dtype("nf4.weight.absmax", "I32"), 2, "expected F32 [4]"),
    ("bnb: nested_absmax of another count", shape("nf4dq.weight.nested_absmax", [2]), 2, "expected F32 [1]"),
    ("bnb: absmax is NaN", patch("nf4.weight.absmax", 12, NAN32), 2, "element 3 is not a finite number"),
    ("bnb: nested_absmax is infinite", data("nf4dq.weight.nested_absmax", INF32), 2, "element 0 is not a finite number"),
    ("bnb: nested_quant_map has a NaN", patch("nf4dq.weight.nested_quant_map", 1020, NAN32), 2, "element 255 is not a finite number"),
    ("bnb: fewer bytes", shape("nf4.weight", [119, 1]), 2, "expected 240 elements"),
    ("bnb: bytes of another dtype", together(dtype("nf4.weight", "BF16"), lambda t, c: t.update({"nf4.weight": ("BF16", [60, 1], t["nf4.weight"][2])})), 0, "="),
    ("bnb: quant_type of the other table", state(quant_type="fp4"), 2, "quant_type is fp4: expected nf4"),
    ("bnb: no quant_type", state(quant_type=None), 2, "quant_type is missing"),
    ("bnb: blocksize 0", state(blocksize=0), 2, "blocksize is 0: expected a power of two"),
    ("bnb: blocksize 48", state(blocksize=48), 2, "blocksize is 48: expected a power of two"),
    ("bnb: blocksize -64", state(blocksize=-64), 2, "blocksize is -64"),
    ("bnb: blocksize 64.0", state(blocksize=64.0), 2, "blocksize is 64.0"),
    ("bnb: blocksize 2^40", state(blocksize=1 << 40), 2, "blocksize is 1099511627776"),
    ("bnb: no blocksize", state(blocksize=None), 2, "blocksize is missing"),
    ("bnb: dtype float64", state(dtype="float64"), 2, "dtype is float64"),
    ("bnb: another shape", state(shape=[6, 43]), 2, "expected F32 [5]"),
    ("bnb: a shape of 0", state(shape=[6, 0]), 2, "shape is 0"),
    ("bnb: a shape beyond 2^64", state(shape=[1 << 40, 1 << 40]), 2, "shape is 1099511627776"),
    ("bnb: shape is a number", state(shape=240), 2, "shape is 240"),
    ("bnb: no shape", state(shape=None), 2, "shape is missing"),
    ("bnb: nested_blocksize alone", state(nested_blocksize=256), 2, "nested_dtype is missing"),
    ("bnb: nested_offset alone", state(nested_offset=1.0), 2, "nested_dtype is missing"),
    ("bnb: nested without absmax of bytes", state(nested_blocksize=256, nested_dtype="float32", nested_offset=1.0), 2, "nf4.weight.nested_absmax is missing"),
    ("bnb: nested_dtype float16", state(nested_blocksize=256, nested_dtype="float16", nested_offset=1.0), 2, "nested_dtype is float16"),
    ("bnb: nested_offset 1e300", state(nested_blocksize=256, nested_dtype="float32", nested_offset=1e300), 2, "nested_offset is 1e+300"),
    ("bnb: no JSON", state_text(b"nf4"), 2, "offset"),
    ("bnb: an empty state", state_text(b""), 2, "bitsandbytes__nf4"),
    ("bnb: a list", state_text(b"[]"), 2, "expected a dict"),
    ("bnb: duplicate keys", state_text(b'{"blocksize": 64, "blocksize": 64}'), 2, "a second key"),
    ("bnb: five levels", state_text(b'{"a":[[[[1]]]]}'), 2, "4"),
    ("bnb: 64 KiB and more", state_text(b" " * 65537), 2, "expected at most 65536"),
    ("bnb: names suffice", lambda t, c: c.pop("quantization_config"), 0, "="),
    ("bnb: gptqmodel's names", together(rename("nf4.weight.absmax", "nf4.weight_absmax"), rename("nf4.weight.quant_map", "nf4.weight_quant_map"),
     rename("nf4.weight.quant_state.bitsandbytes__nf4", "nf4.weight_quant_state")), 2, "another layout"),
]
MLX = [
    ("mlx: scales are missing", drop("b2.scales"), 2, "b2.scales is missing"),
    ("mlx: biases are missing", drop("b2.biases"), 2, "b2.biases is missing"),
    ("mlx: weight is missing", drop("b2.weight"), 2, "no quantized weight b2 belongs to it"),
    ("mlx: bits 7", mlx("bits", 7, "b4"), 2, "7 bits"),
    ("mlx: bits 1", mlx("bits", 1, "b4"), 2, "1 bits"),
    ("mlx: bits are a text", mlx("bits", "4", "b4"), 2, "expected an integer"),
    ("mlx: no bits", no_mlx("bits", "b4"), 2, "bits is missing"),
    ("mlx: no group_size", no_mlx("group_size", "b4"), 2, "group_size is missing"),
    ("mlx: group_size 0", mlx("group_size", 0, "b4"), 2, "expected an integer from 1"),
    ("mlx: other bits than the shapes", mlx("bits", 8, "b4"), 2, "does not fit 8 bits"),
    ("mlx: another group_size", mlx("group_size", 64, "b4"), 2, "group_size 64"),
    ("mlx: rows of no whole words", together(shape("b3.weight", [4, 5]), shape("b3.scales", [4, 2])), 2, "does not fit 3 bits"),
    ("mlx: a module that is not quantized", lambda t, c: [c[k].update(b4=False) for k in ("quantization", "quantization_config")], 2,
     "says that this module is not quantized"),
    ("mlx: an unknown mode", mlx("mode", "foo"), 0, "dequantized 7 weights"),
    ("mlx: an unknown mode of a module", mlx("mode", "foo", "b4"), 2, "mode is foo"),
    ("mlx: mxfp4 with biases", mlx("mode", "mxfp4", "b4"), 2, "b4.biases exists"),
    ("mlx: biases of another dtype", dtype("b4.biases", "F16"), 2, "has dtype F16, and the scales BF16"),
    ("mlx: scales are integers", together(drop("b4.biases"), dtype("b4.scales", "I16")), 2, "b4.biases is missing"),
    ("mlx: a scale is NaN", patch("b4.scales", 2, b"\xc0\x7f"), 2, "element [0,1] is not a finite number"),
    ("mlx: a bias is NaN", patch("b4.biases", 2, b"\xc0\x7f"), 2, "element [0,1] is not a finite number"),
    ("mlx: no configuration", lambda t, c: [c.pop("quantization"), c.pop("quantization_config")] and None, 2, "no quantization is recognised"),
]
MLX_FP = [
    ("mlx: E8M0 255", patch("mxfp4.scales", 1, b"\xff"), 2, "element [0,1] is not a finite number"),
    ("mlx: a negative E4M3 scale", patch("nvfp4.scales", 4, b"\x81"), 2, "element [1,0] is negative"),
    ("mlx: an E4M3 scale that is NaN", patch("nvfp4.scales", 0, b"\x7f"), 2, "element [0,0] is not a finite number"),
    ("mlx: mxfp8 of four bits", mlx("bits", 4, "mxfp8"), 2, "4 bits and group_size 32 in mode mxfp8"),
    ("mlx: scales of another dtype", dtype("mxfp4.scales", "I8"), 2, "expected U8 in mode mxfp4"),
    ("mlx: E8M0 254 overflows", patch("mxfp8.scales", 0, b"\xfe\xfe"), 2, "exceeds the range"),
]
CT_INT8 = [
    ("ct: scales are missing", drop("a.weight_scale"), 2, "a.weight_scale is missing"),
    ("ct: weight is missing", drop("a.weight"), 2, "no quantized weight a belongs to it"),
    ("ct: zero points are missing", drop("b.weight_zero_point"), 2, "b.weight_zero_point is missing"),
    ("ct: zero points of a symmetric weight", put("a.weight_zero_point", "I8", [8, 1], bytes(8)), 2, "is symmetric"),
    ("ct: zero points of another shape", shape("b.weight_zero_point", [4, 1]), 2, "I8 [4,1] does not fit"),
    ("ct: zero points of another dtype", dtype("b.weight_zero_point", "U8"), 2, "U8 [8,1] does not fit"),
    ("ct: scales of another shape", shape("a.weight_scale", [8, 2]), 2, "BF16 [8,2] does not fit"),
    ("ct: scales of other rows", shape("a.weight_scale", [4, 1]), 2, "BF16 [4,1] does not fit"),
    ("ct: one scale for all", together(shape("a.weight_scale", [1]), group("group_0", "strategy", "tensor")), 0, "dequantized 2 weights"),
    ("ct: a column of scales", shape("a.weight_scale", [8]), 0, "="),
    ("ct: scales of a dtype that is none", dtype("a.weight_scale", "I16"), 2, "expected F16, BF16 or F32"),
    ("ct: a scale is NaN", patch("a.weight_scale", 6, b"\xc0\x7f"), 2, "element [3,0] is not a finite number"),
    ("ct: type float", group("group_0", "type", "float"), 2, "type is float: expected int"),
    ("ct: strategy block", group("group_0", "strategy", "block"), 2, "strategy is block"),
    ("ct: strategy group without a size", group("group_0", "strategy", "group"), 2, "group_size is absent"),
    ("ct: a format of packed codes", config("format", value="pack-quantized"), 2, "has dtype I8, but the format of group_0 is pack-quantized"),
    ("ct: dynamic", group("group_0", "dynamic", True), 2, "dynamically"),
    ("ct: rotated weights", config("transform_config", value={"config_groups": {"u": {}}}), 2, "rotated"),
    ("ct: sparse", config("sparsity_config", value={"format": "sparse-24-bitmask"}), 2, "sparse"),
    ("ct: frozen", config("quantization_status", value="frozen"), 2, "frozen"),
    ("ct: no target", config("config_groups", "group_0", "targets", value=["x"]), 2, "no group of config_groups has it as a target"),
]
CT_PACK = [
    ("pack: scales are missing", drop("i4g.weight_scale"), 2, "i4g.weight_scale is missing"),
    ("pack: shape is missing", drop("i4g.weight_shape"), 2, "i4g.weight_shape is missing"),
    ("pack: weight is missing", drop("i4g.weight_packed"), 2, "no quantized weight i4g belongs to it"),
    ("pack: shape of another dtype", dtype("i4g.weight_shape", "F64"), 2, "expected I64 [2]"),
    ("pack: shape of three", shape("i4g.weight_shape", [3]), 2, "expected I64 [2]"),
    ("pack: other rows", data("i4g.weight_shape", i64(9, 64)), 2, "dimension 0 is 9"),
    ("pack: other columns", data("i4g.weight_shape", i64(8, 96)), 2, "does not fit rows of 96 codes of 4 bits"),
    ("pack: negative columns", data("i4g.weight_shape", i64(8, -64)), 2, "dimension 1 is -64"),
    ("pack: no columns", data("i4g.weight_shape", i64(8, 0)), 2, "dimension 1 is 0"),
    ("pack: columns beyond 2^64", data("i4g.weight_shape", i64(8, (1 << 62))), 2, "dimension 1 is 4611686018427387904"),
    ("pack: bits 9", group("group_0", "num_bits", 9), 2, "num_bits is 9"),
    ("pack: bits are absent", config("config_groups", "group_0", "weights", value={"type": "int"}), 2, "num_bits is absent"),
    ("pack: other bits", group("group_0", "num_bits", 5), 2, "does not fit rows of 64 codes of 5 bits"),
    ("pack: group_size 48", group("group_0", "group_size", 48), 2, "rows of 64 columns in groups of 48"),
    ("pack: group_size 0", group("group_0", "group_size", 0), 2, "expected an integer from 1"),
    ("pack: group_size 2^40", group("group_0", "group_size", 1 << 40), 2, "expected an integer from 1"),
    ("pack: another group_size", group("group_0", "group_size", 16), 2, "BF16 [8,2] does not fit"),
    ("pack: zero points of bytes", together(shape("i4ga.weight_zero_point", [16, 2]), dtype("i4ga.weight_zero_point", "F32")), 2, "does not fit"),
    ("pack: zero points of other rows", shape("i4ga.weight_zero_point", [3, 2]), 2, "I32 [3,2] does not fit"),
    ("pack: two ways of packing", together(data("i3g.weight_shape", i64(4, 10)), shape("i3g.weight_packed", [4, 1]),
     shape("i3g.weight_scale", [4, 1]), group("group_5", "strategy", "channel")), 2, "in two ways of packing"),
    ("pack: older packing", repack("i3g.weight_packed", 3, 64), 0, "="),
    ("pack: g_idx is too large", patch("i4act.weight_g_idx", 12, words(2)), 2, "element 3 is group 2"),
    ("pack: a group of more columns", data("i4act.weight_g_idx", words(*[0] * 33, *[1] * 31)), 2, "group 0 has 33 columns"),
    ("pack: a negative g_idx counts as absent", patch("i4act.weight_g_idx", 12, words(0xFFFFFFFF)), 0, "dequantized 7 weights"),
    ("pack: g_idx is too short", shape("i4act.weight_g_idx", [63]), 2, "expected I32 [64]"),
    ("pack: i4g.weight exists", put("i4g.weight", "F16", [1], b"\0\0"), 2, "beside it is i4g.weight"),
    ("pack: a scale is infinite", patch("i4g.weight_scale", 2, b"\x80\x7f"), 2, "element [0,1] is not a finite number"),
    ("pack: a format of bytes", config("format", value="int-quantized"), 2, "has dtype I32, but the format"),
]
CT_FP6 = [
    ("mxfp6: scales are missing", drop("a.weight_scale"), 2, "a.weight_scale is missing"),
    ("mxfp6: scales of another shape", shape("a.weight_scale", [5, 1]), 2, "U8 [5,1]: expected"),
    ("mxfp6: scales of another dtype", dtype("a.weight_scale", "I8"), 2, "I8 [5,2]: expected"),
    ("mxfp6: rows of no whole groups", shape("a.weight_packed", [5, 42]), 2, "shape [5,42]"),
    ("mxfp6: E8M0 255", patch("a.weight_scale", 3, b"\xff"), 2, "element [1,1] is not a finite number"),
    ("mxfp6: a.weight exists", put("a.weight", "F16", [1], b"\0\0"), 2, "beside it is a.weight"),
]

CASES = [(case[0], base, *case[1:]) for base, cases in (
    ("gptq-4bit", GPTQ), ("awq-gemm", AWQ), ("bnb-int8", INT8), ("bnb-4bit", BNB), ("mlx-affine", MLX), ("mlx-fp", MLX_FP),
    ("ct-mxfp6", CT_FP6), ("ct-int8", CT_INT8), ("ct-pack", CT_PACK)) for case in cases]
