"""Parts of the bench: GGUF files: listed with a large vocabulary, split, merged, edited."""

import os
import struct

import inputs
from copying import GB, QUIET, convert_size, fresh, settle
from measure import HEFT, STORE, alternate, bytes_of, command, median, text_of

WORDS = 150_000
ROWS, BLOCKS, Q4_K = 4096, 16, 12  # of a tensor: 4096 rows of 16 blocks, each 144 bytes for 256 elements
ALIGNMENT = 32
STRING, ARRAY, F32 = 8, 9, 6


def string(text):
    raw = text.encode()
    return struct.pack("<Q", len(raw)) + raw


def head(tensors):
    """Key-value pairs as those of a model with a vocabulary of 150 000 words, and tensor infos."""
    words = [f"word{number}" for number in range(WORDS)]
    pairs = [string("general.architecture") + struct.pack("<I", STRING) + string("llama"),
             string("tokenizer.ggml.tokens") + struct.pack("<IIQ", ARRAY, STRING, WORDS) + b"".join(map(string, words)),
             string("tokenizer.ggml.scores") + struct.pack(f"<IIQ{WORDS}f", ARRAY, F32, WORDS, *range(WORDS)),
             string("tokenizer.ggml.merges") + struct.pack("<IIQ", ARRAY, STRING, WORDS)
             + b"".join(string(word[:4] + " " + word[4:]) for word in words)]
    size = ROWS * BLOCKS * 144
    infos = [string(f"blk.{number}.ffn_up.weight") + struct.pack("<IQQIQ", 2, 256 * BLOCKS, ROWS, Q4_K, number * size)
             for number in range(tensors)]
    text = b"GGUF" + struct.pack("<IQQ", 3, tensors, len(pairs)) + b"".join(pairs + infos)
    return text + bytes(-len(text) % ALIGNMENT)


def write_model(path, tensors):
    block = os.urandom(ROWS * BLOCKS * 144)
    with open(path, "wb") as file:
        file.write(head(tensors))
        for _ in range(tensors):
            file.write(block)


def model(size):
    tensors = size // (ROWS * BLOCKS * 144)
    return inputs.made(STORE / f"model-{size // 10**6}MB.gguf", lambda part: write_model(part, tensors), size)


def copied(paths):
    """Time of cp of several files."""
    return command("cp", *paths, fresh())[0]


def converted(given, *more):
    return command(HEFT, "convert", given, "-o", fresh() / "model.gguf", *QUIET, "--no-sync", *more)


def against_cp(table, work, convert, paths, quick):
    mine, cp = alternate(5 if quick else 9, convert, lambda: copied(paths), settle)
    table.within(f"{work}, `--no-sync`", "cp", median([run[0] for run in mine]), median(cp), 1.0)
    table.below(f"{work}: peak RSS", max(run[1] for run in mine), 64 * 2**20, bytes_of)


def part_gguf_ls(table, quick):
    """ls: a GGUF with a vocabulary of 150 000 words"""
    path = model(GB // 2)
    times = [command(HEFT, "ls", path)[0] for _ in range(9 if quick else 25)]
    table.below(f"`ls` of a GGUF with {WORDS} words and as many merges, whole command", median(times), 0.008, text_of)


def part_gguf(table, quick):
    """convert: GGUF split, merged and edited, without sync, against cp"""
    size = convert_size(quick) // 4
    path = model(size)
    limit = size // 4
    inputs.warm(path)
    against_cp(table, f"split a {size / GB:.2g} GB GGUF", lambda: converted(path, "--max-shard-size", limit), [path],
               quick)
    against_cp(table, f"edit the metadata of a {size / GB:.2g} GB GGUF",
               lambda: converted(path, "--metadata", "general.name=x"), [path], quick)
    parts = STORE / f"model-parts-{size // 10**6}MB"
    files = sorted(inputs.made(parts, lambda part: split(path, part, limit), size).iterdir())
    for file in files:
        inputs.warm(file)
    against_cp(table, f"merge a {size / GB:.2g} GB GGUF of {len(files)} files", lambda: converted(files[0]), files,
               quick)
    fresh()


def split(path, folder, limit):
    folder.mkdir()
    command(HEFT, "convert", path, "-o", folder / "model.gguf", "--max-shard-size", limit, *QUIET)
