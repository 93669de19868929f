#!/usr/bin/env python3
"""Writes tests/golden/tokens/small: a vocabulary of 1000 ids, and texts with their ids in it.

    heft train small/text.txt -o small --vocab-size 1000 -f      the vocabulary
    python make.py                                               small/vectors.jsonl

text.txt is a frozen copy of documentation and code of this repository. The ids are those of the packages
tokenizers 0.23.3 (tokenizer.json) and tiktoken 0.14.0 (ranks from vocab.bpe), which must be equal; the merges
must equal those that tokenizers itself learns from text.txt.
"""
import json
import random
from pathlib import Path

import tiktoken
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

SMALL = Path(__file__).parent / "small"
PATTERN = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
TEXTS = [
    "", " ", "  ", "   ", "\n", "\n\n", "\n\n\n", "\t", "\r\n", "a", "Hello world", "Hello, world!",
    "they're", "I'd've", "don't", "DON'T", "'s's", "''s", "\"'s", " 's", "we'll see", "a'", "'",
    "aaabdaaabac", "aaaaaaaa", "I had a lot of pie", "the tensors of a checkpoint",
    "return heft_fail(err, HEFT_MALFORMED, offset, \"no UTF-8\");", "        indented", "a  b   c",
    "trailing   ", "   leading", "x\n  y", "x \ny", "1234567890", "3.14159", "2026-11-21", "½ ² Ⅷ 〇",
    "é", "e\u0301e", "naïve café", "Straße", "Donaudampfschifffahrtsgesellschaft", "Привет, мир",
    "你好，世界", "こんにちは", "한국어", "नमस्ते", "👩‍👩‍👧‍👦", "1\ufe0f\u20e3", "a\u00a0\u00a0b", "\u3000\u3000a",
    "\u200b", "\ufeffx", "\x00", "a\x00b", "\x1c\x1d", "\x7f", "\U0010ffff", "\U00020000",
    "<|endoftext", "#version: 0.2", "Ġt", "_", "__init__", "::", "->", "=" * 100, "ab" * 50,
    "tensor" * 20, " " * 50 + "x", "\n" * 31, "https://example.org/a?b=c&d=%20", "{\"a\": [1, 2]}",
]
PIECES = ["a", "s", "the", " the", "tensor", " ", "  ", "\n", "'", "'s", "1", "23", ".", "!?", "é", "中",
          "\t", "\u00a0", "heft", "_", " of", "Z", "\U0001f600", "\u0301"]


def texts():
    rng = random.Random(1)
    made = ["".join(rng.choice(PIECES) for _ in range(rng.randint(1, 40))) for _ in range(130)]
    text = (SMALL / "text.txt").read_text("utf-8")
    return TEXTS + made + [text[i:i + 300] for i in range(0, len(text), 9000)]


def ranks(merges):
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    order = plain + [b for b in range(256) if b not in plain]
    byte_of = {chr(b): b for b in plain}
    byte_of.update({chr(0x100 + i): b for i, b in enumerate(order[188:])})
    tokens = [bytes([b]) for b in order]
    tokens += [bytes(byte_of[c] for c in left + right) for left, right in merges]
    return {token: i for i, token in enumerate(tokens)}


def learned():
    other = Tokenizer(models.BPE())
    other.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(vocab_size=999, min_frequency=2, show_progress=False,
                                  initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    other.train_from_iterator([(SMALL / "text.txt").read_text("utf-8")], trainer)
    return [tuple(pair) for pair in json.loads(other.to_str())["model"]["merges"]]


def main():
    lines = (SMALL / "vocab.bpe").read_text("utf-8").split("\n")[1:-1]
    merges = [tuple(line.split(" ")) for line in lines]
    assert merges == learned(), "tokenizers learns other merges"
    first = Tokenizer.from_file(str(SMALL / "tokenizer.json"))
    second = tiktoken.Encoding("small", pat_str=PATTERN, mergeable_ranks=ranks(merges),
                               special_tokens={"<|endoftext|>": 999})
    with open(SMALL / "vectors.jsonl", "w", encoding="ascii") as out:
        for text in texts():
            ids = first.encode(text).ids
            assert ids == second.encode_ordinary(text), text
            out.write(json.dumps({"text": text, "ids": ids}) + "\n")


if __name__ == "__main__":
    main()
