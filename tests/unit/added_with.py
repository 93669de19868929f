#!/usr/bin/env python3
"""Writes added_with.inc: sets of added tokens, and checksums of what the tokenizers library makes of random texts.

    python added_with.py [FILE]        # made with tokenizers 0.23.3

The library cuts a text with an NFC normalizer or none, and a model that knows only characters: a piece of text is a
word of the encoding. A checksum is the CRC-32 of all results: for a token the byte 0xFE and its index in the set,
for text the byte 0xFD and the text, and 0xFF at the end. Texts are made alike by test_added_stage.c: they consist of
parts. Texts at which the library panics (a token strips white space to its left that the token before it has) are
made, and left out."""
import random
import sys
import zlib
from pathlib import Path

from tokenizers import AddedToken, Tokenizer, models, normalizers

OUTPUT = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_name("added_with.inc")
LEFT, RIGHT, WORD, NORMAL, NFC = 1, 2, 4, 8, 16
TEXTS = 400
rng = random.Random(21)
SPACES = [" ", " ", "  ", "\t", "\n", "\u3000", "\u00a0"]
BESIDE = ["a", "b", "_", "1", "\u0301", "\u00e9", "-", ".", "\u4e2d", "\u200c", "\u2460", "\u24b6", "<", ">"]


def flags(choices):
    return sum(bit for bit in choices if rng.random() < 0.4)


def sets():
    """(tokens with flags, parts, bits of the set)"""
    yield [("<|endoftext|>", 0), ("<|im_start|>", 0), ("<|im_end|>", 0)], ["<|", "|>", "<|endoftext", "im_", "end|>"], 0
    yield [("<mask>", LEFT | NORMAL), ("<s>", 0), ("</s>", 0)], ["<", "s>", "<mask", "</", " <mask>"], 0
    yield [("<m>", LEFT | RIGHT)], ["<m", "<m>"], 0
    yield [("<r>", RIGHT), ("<l>", LEFT), ("<w>", WORD), ("<wl>", WORD | LEFT), ("<wr>", WORD | RIGHT)], ["<", ">"], 0
    yield [(" " * n, NORMAL) for n in range(24, 1, -1)] + [("<|e|>", 0)], [" " * 9, " " * 30, "<|e", " "], NFC
    yield [("  ", 0), ("<r>", RIGHT), (" x", 0), ("\n\n", 0), ("<rw>", RIGHT | WORD)], ["x", " x", "   "], 0
    yield [("  ", RIGHT), ("<r>", RIGHT), ("\t ", WORD)], ["\t", "   "], 0
    yield [("ab", NORMAL), ("bc", 0)], ["a", "b", "c"], 0
    yield [("a", 0), ("aaaab", 0), ("aab", 0)], ["a", "a", "a", "b"], 0
    yield [("a" * n, 0) for n in (2, 3, 5, 8, 13)] + [("a" * 7 + "b", 0)], ["a", "aa", "b"], 0
    yield [("e\u0301", NORMAL), ("x\u0323\u0307", NORMAL), ("<k>", 0)], ["e", "e\u0301", "\u00e9", "x\u0307\u0323", "\u0323"], NFC
    yield [("\u4e2d\u6587", 0), ("\u6587\u5b57", 0), ("\uff5c", 0), ("<\uff5cUser\uff5c>", NORMAL)], ["\u6587", "\u5b57", "<\uff5c", "User"], 0
    yield [("\U0001f600\U0001f601", LEFT), ("\U0001f601", RIGHT)], ["\U0001f600", "\U0001f601"], 0
    yield [("<r>", RIGHT), ("\t ", LEFT), ("  ", RIGHT | LEFT), ("\n", LEFT)], ["<r>", "<r>\t x", "<r> \n.", "\t"], 0
    for bits in [0] * 8 + [NFC] * 3:
        letters = rng.choice(["ab", "abc", "a <", "xy\u00e9"])
        texts = {"".join(rng.choice(letters) for _ in range(rng.randint(2, 5))) for _ in range(rng.randint(2, 12))}
        choices = rng.choice([(), (LEFT,), (RIGHT,), (WORD,), (LEFT, RIGHT), (LEFT, WORD), (LEFT, RIGHT, WORD, NORMAL)])
        yield [(text, flags(choices)) for text in sorted(texts)], list(letters), bits


def random_texts(parts, state):
    def draw(n):
        nonlocal state
        state = (state * 1664525 + 1013904223) & 0xFFFFFFFF
        return (state >> 8) % n

    for _ in range(TEXTS):
        yield "".join(parts[draw(len(parts))] for _ in range(1 + draw(16)))


def make(tokens, texts, bits):
    chars = sorted({c for text in texts for i in range(len(text)) for j in range(i + 1, min(i + 8, len(text) + 1))
                    for c in (normalizers.NFC().normalize_str(text[i:j]) if bits & NFC else text[i:j])})
    known = Tokenizer(models.BPE({c: i for i, c in enumerate(chars)}, []))
    if bits & NFC:
        known.normalizer = normalizers.NFC()
    known.add_tokens([AddedToken(text, lstrip=bool(flag & LEFT), rstrip=bool(flag & RIGHT), single_word=bool(flag & WORD),
                                 normalized=bool(flag & NORMAL)) for text, flag in tokens])
    return known


def result(known, tokens, text):
    done = known.encode(text, add_special_tokens=False)
    index = {known.token_to_id(token): i for i, (token, _) in enumerate(tokens)}
    out, last = b"", None
    for i, word in zip(done.ids, done.word_ids):
        if i in index:
            out += bytes([0xFE, index[i]])
        else:
            out += (b"\xfd" if word != last else b"") + known.id_to_token(i).encode()
        last = word
    return out + b"\xff"


def checksum(tokens, parts, bits, state):
    texts = list(random_texts(parts, state))
    known, crc, skipped = make(tokens, texts, bits), 0, []
    for i, text in enumerate(texts):
        try:
            crc = zlib.crc32(result(known, tokens, text), crc)
        except BaseException as panic:  # pyo3's PanicException is no Exception
            assert "bad split" in str(panic), panic
            skipped.append(i)
    return crc, skipped


def literal(text):
    return '"' + "".join(f"\\{byte:03o}" if not 32 <= byte < 127 or byte in b'"\\?' else chr(byte) for byte in text.encode()) + '"'


def main():
    rows = []
    for state, (tokens, some, bits) in enumerate(sets()):
        parts = [*[token for token, _ in tokens][:8], *some, *SPACES, *BESIDE]
        crc, skipped = checksum(tokens, parts, bits, state)
        rows.append(f"    {{{{{', '.join(f'{{{literal(t)}, {flag}}}' for t, flag in tokens)}}},\n"
                    f"     {{{', '.join(map(literal, parts))}}},\n     {bits}, 0x{crc:08X}, "
                    f"{{{', '.join(f'{i + 1}' for i in skipped) or 0}}}}},\n")
    OUTPUT.write_text(
        "/* made by added_with.py */\n/* clang-format off */\n"
        f"#define TEXTS {TEXTS} /* of each set */\n"
        "enum { LEFT = 1, RIGHT = 2, WORD = 4, NORMAL = 8, NFC = 16 };\n"
        "static const struct {\n    struct { const char *text; unsigned flags; } tokens[32];\n    const char *parts[64];\n"
        "    unsigned flags;\n    uint32_t crc;\n    uint16_t skipped[64]; /* 1 + index of a text that is left out */\n} SETS[] = {\n"
        + "".join(rows) + "};\n", encoding="ascii")


if __name__ == "__main__":
    main()
