"""Checkpoints of integer codes that are made here: larger than the golden files, with scales of which the values are
integers. Each function returns (tensors, config, expected): expected maps a name to (shape, list of integers)."""
import random
import struct

BF16_ONE, F16_ONE = b"\x80\x3f", b"\x00\x3c"


def stream(codes, bits):
    """Codes as a stream of bits in whole 32-bit words."""
    size = -(-len(codes) * bits // 32) * 4
    pieces = []
    for at in range(0, len(codes), 1024):  # 1024 codes fill whole words
        total = 0
        for code in reversed(codes[at:at + 1024]):
            total = total << bits | code
        pieces.append(total.to_bytes(-(-min(1024, len(codes) - at) * bits // 32) * 4, "little"))
    return b"".join(pieces).ljust(size, b"\0")


def transpose(rows):
    return [list(column) for column in zip(*rows)]


def word_columns(rows):
    """Rows of packed words, transposed: word k of row r becomes word r of row k."""
    words = [struct.unpack(f"<{len(row) // 4}I", row) for row in rows]
    return b"".join(struct.pack(f"<{len(line)}I", *line) for line in zip(*words))


def config(**quantization):
    return {"model_type": "heft_test", "torch_dtype": "bfloat16", "quantization_config": quantization}


def values(codes, zeros, group):
    """(code − zero of the group) for each row; `group`: column → group."""
    return [code - zeros[r][group(c)] for r, row in enumerate(codes) for c, code in enumerate(row)]


def mlx(rows, columns, bits, size, seed):
    rng = random.Random(seed)
    codes = [[rng.randrange(1 << bits) for _ in range(columns)] for _ in range(rows)]
    biases = [[rng.choice((0, 1, 2, -1)) for _ in range(columns // size)] for _ in range(rows)]
    bf16 = {0: b"\0\0", 1: BF16_ONE, 2: b"\x00\x40", -1: b"\x80\xbf"}
    tensors = {"a.weight": ("U32", [rows, columns * bits // 32], b"".join(stream(row, bits) for row in codes)),
               "a.scales": ("BF16", [rows, columns // size], BF16_ONE * (rows * columns // size)),
               "a.biases": ("BF16", [rows, columns // size], b"".join(bf16[x] for row in biases for x in row))}
    quantization = {"group_size": size, "bits": bits}
    return (tensors, {"quantization": quantization},
            {"a.weight": ([rows, columns], values(codes, [[-x for x in row] for row in biases], lambda c: c // size))})


def gptq(out, columns, bits, size, seed, permuted=False, transposed_zeros=1):
    rng = random.Random(seed)
    groups = columns // size
    codes = [[rng.randrange(1 << bits) for _ in range(columns)] for _ in range(out)]
    zeros = [[rng.randrange(1, 1 << bits) for _ in range(groups)] for _ in range(out)]
    index = [c // size for c in range(columns)]
    if permuted:
        rng.shuffle(index)
    stored = [[zero - transposed_zeros for zero in column] for column in transpose(zeros)]
    tensors = {"a.qweight": ("I32", [columns * bits // 32, out], word_columns([stream(row, bits) for row in codes])),
               "a.qzeros": ("I32", [groups, out * bits // 32], b"".join(stream(row, bits) for row in stored)),
               "a.scales": ("F16", [groups, out], F16_ONE * (groups * out)),
               "a.g_idx": ("I32", [columns], struct.pack(f"<{columns}i", *index))}
    return (tensors, config(quant_method="gptq", bits=bits, group_size=size, sym=False, desc_act=permuted),
            {"a.weight": ([out, columns], values(codes, zeros, lambda c: index[c]))})


def awq(out, columns, size, seed):
    rng = random.Random(seed)
    groups = columns // size
    codes = [[rng.randrange(16) for _ in range(columns)] for _ in range(out)]
    zeros = [[rng.randrange(16) for _ in range(groups)] for _ in range(out)]

    def pack(rows):  # [columns][out] codes
        return b"".join(sum(row[k + order] << 4 * p for p, order in enumerate((0, 2, 4, 6, 1, 3, 5, 7))).to_bytes(4, "little")
                        for row in rows for k in range(0, out, 8))
    tensors = {"a.qweight": ("I32", [columns, out // 8], pack(transpose(codes))),
               "a.qzeros": ("I32", [groups, out // 8], pack(transpose(zeros))),
               "a.scales": ("F16", [groups, out], F16_ONE * (groups * out))}
    return (tensors, config(quant_method="awq", bits=4, group_size=size, version="gemm", zero_point=True),
            {"a.weight": ([out, columns], values(codes, zeros, lambda c: c // size))})


def pack_quantized(slices, out, columns, bits, size, seed, old=False, permuted=False):
    """3-D if there are slices; old: no code crosses a word."""
    rng = random.Random(seed)
    groups = columns // size
    rows = max(slices, 1) * out
    each = 32 // bits
    codes = [[rng.randrange(1 << bits) for _ in range(columns)] for _ in range(rows)]
    zeros = [[rng.randrange(1 << bits) for _ in range(groups)] for _ in range(rows)]

    def pack(row):
        if not old:
            return stream(row, bits)
        return b"".join(sum(code << bits * i for i, code in enumerate(row[at:at + each])).to_bytes(4, "little")
                        for at in range(0, len(row), each))
    lead = [slices] if slices else []
    index = [c // size for c in range(columns)]
    if permuted:
        rng.shuffle(index)
    packed = b"".join(pack(row) for row in codes)
    packed_zeros = b"".join(word_columns([pack(column) for column in transpose(zeros[at:at + out])])
                            for at in range(0, rows, out))
    tensors = {"a.weight_packed": ("I32", [*lead, out, len(packed) // rows // 4], packed),
               "a.weight_scale": ("BF16", [*lead, out, groups], BF16_ONE * (rows * groups)),
               "a.weight_shape": ("I64", [len(lead) + 2], struct.pack(f"<{len(lead) + 2}q", *lead, out, columns)),
               "a.weight_zero_point": ("I32", [*lead, len(packed_zeros) // max(slices, 1) // groups // 4, groups], packed_zeros)}
    if permuted:
        tensors["a.weight_g_idx"] = ("I32", [columns], struct.pack(f"<{columns}i", *index))
    weights = {"num_bits": bits, "type": "int", "strategy": "group", "group_size": size, "symmetric": False}
    return (tensors, config(quant_method="compressed-tensors", format="pack-quantized",
                            config_groups={"group_0": {"targets": ["Linear"], "weights": weights}}),
            {"a.weight": ([*lead, out, columns], values(codes, zeros, lambda c: index[c]))})


def bf16(data):
    return struct.unpack(f"<{len(data) // 2}f", b"".join(b"\0\0" + data[i:i + 2] for i in range(0, len(data), 2)))


def mlx_exactly(bits, seed):
    """F32 is rounded once, from exact products; BF16 is rounded after each step."""
    tensors, quantization, _ = mlx(5, 320, bits, 32, seed)
    rng = random.Random(seed + 1)
    for name in ("a.scales", "a.biases"):
        dtype, shape, data = tensors[name]
        tensors[name] = (dtype, shape, b"".join(struct.pack("<f", rng.uniform(-2, 2))[2:] for _ in range(len(data) // 2)))
    scales, biases = bf16(tensors["a.scales"][2]), bf16(tensors["a.biases"][2])
    packed = tensors["a.weight"][2]
    size = len(packed) // 5
    streams = [int.from_bytes(packed[size * r:size * (r + 1)], "little") for r in range(5)]
    numbers = [(streams[r] >> bits * c & ((1 << bits) - 1)) * scales[10 * r + c // 32] + biases[10 * r + c // 32]
               for r in range(5) for c in range(320)]
    rounded = struct.unpack("<1600f", struct.pack("<1600f", *numbers))
    return tensors, quantization, {"a.weight": ([5, 320], list(rounded))}


CASES = [
    ("mlx, F32 by --dequantize", lambda: mlx_exactly(5, 16)),
    ("mlx, F32 by a cast", lambda: mlx_exactly(6, 17), ["--dequantize", "--cast", "*=F32"]),
    ("mlx, rows longer than a tile", lambda: mlx(3, 131072 + 96, 3, 32, 1)),
    ("mlx, 5 bits", lambda: mlx(700, 320, 5, 64, 2)),
    ("mlx, 6 bits, many short rows", lambda: mlx(20000, 16, 6, 16, 3)),
    ("mlx, groups of one column", lambda: mlx(2, 65536 + 8, 4, 1, 18)),
    ("gptq, 3 bits, many rows", lambda: gptq(4128, 96, 3, 32, 4)),
    ("gptq, 4 bits, permuted columns", lambda: gptq(352, 1024, 4, 128, 5, permuted=True)),
    ("gptq, 8 bits", lambda: gptq(96, 2048, 8, 64, 6)),
    ("gptq, 2 bits, rows longer than a tile", lambda: gptq(32, 65536 + 128, 2, 128, 7)),
    ("awq, many rows", lambda: awq(4104, 96, 32, 8)),
    ("awq, rows longer than a tile", lambda: awq(8, 65536 + 64, 64, 9)),
    ("pack, 3 bits in words", lambda: pack_quantized(0, 165, 200, 3, 40, 10, old=True)),
    ("pack, 5 bits in words, three slices", lambda: pack_quantized(3, 37, 128, 5, 32, 11, old=True)),
    ("pack, 7 bits, four slices", lambda: pack_quantized(4, 45, 96, 7, 32, 12)),
    ("pack, 1 bit", lambda: pack_quantized(0, 100, 1000, 1, 100, 13)),
    ("pack, 6 bits, permuted columns", lambda: pack_quantized(0, 99, 256, 6, 32, 14, permuted=True)),
    ("pack, 2 bits, rows longer than a tile", lambda: pack_quantized(0, 3, 131072 + 32, 2, 32, 15)),
]
