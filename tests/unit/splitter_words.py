#!/usr/bin/env python3
"""Writes splitter_words.inc: the words of some texts by the split patterns of the published vocabularies.

    python splitter_words.py        # made with tokenizers 0.23.3 (Unicode 16.0)

tokenizers is the oracle for both engines: the two things that its syntax reads in another way than tiktoken's are
spelt for it, $ as \\z and {1,3}+ as an atomic group.
"""
import zlib
from pathlib import Path

from tokenizers import Regex, pre_tokenizers

TEXTS = [
    " ", "Hello world", " Hello  world ", "I'm, you'RE, WE'LL 'S 's 'sx IT'S I'd've", "don\u2019t '\u017f '\u017fx x'\u017f ab'\u212a",
    "1234567 12 3 1,234.5 \u00b2\u00bd\u2167\u0663\u0664\u3007 a1b22c333", "tabs\tand\t\tmore\n  x\n\n   y  \n",
    "a\r\n\r\n b\r\r\n  \n", "x \n ", "    def f(x):\n        return x_1 + y[0];\n\n", "a.b();\n//c/d/\n\n#!/bin/sh\n",
    "HTTPServer getIdFromURL McDONALD'S \u01c5ungla \u02b0a\u02b0B", "na\u00efve e\u0301 A\u030a \u212b \ufb01 \u2126",
    "\u4e2d\u6587English\u6df7\u5408 \u4f60\u597d\uff0c\u4e16\u754c\uff01123\u4e2d\u6587", "\u65e5\u672c\u8a9e\u30ab\u30bf\u30ab\u30ca\u3072\u3089\u304c\u306a\u30fc\u3002 \u3053\u3093",
    "\u0928\u092e\u0938\u094d\u0924\u0947 \u0627\u0644\u0633 \u0e2a\u0e27\u0e31", "\U0001f600\u2764\ufe0f\U0001f469\u200d\U0001f469 1\ufe0f\u20e3",
    "a\u00a0\u00a0b \u3000\u3000c\u2028d\u0085e \u200b\ufeff", "\0\x1c\x7f a", "((a|b)) [c] {d} ,. !? \u2026\u3002\u060c",
    "\u1c89's \u0897 \u0295\u0295 10\U00016ff4 \ua7ce", "^^^^^^^^ ........ \n\n\n  \n x",
]
LETTERS, NEWLINES = r"[^\r\n\p{L}\p{N}]?\p{L}+", r"\s*[\r\n]+|\s+(?!\S)|\s+"
SHORT = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
BEFORE = r"[^\r\n\p{L}\p{N}]?"
UPPER, LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"


def cased(upper, lower, short, digits, marks):
    return "|".join([f"{BEFORE}{upper}*{lower}+{short}", f"{BEFORE}{upper}+{lower}*{short}", digits,
                     rf" ?[^\s\p{{L}}\p{{N}}]+[\r\n{marks}]*", NEWLINES])


NO_HAN = "&&[^\\p{Han}]]"
# name: engine, pattern, symbols of its automaton (as a construction of another program has them), the pattern for
# the oracle if it is spelt in another way
PATTERNS = {
    "gpt2": ("TOKENIZERS", r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+", 14, None),
    "r50k": ("TIKTOKEN", r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s", 11,
             r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++\z|\s+(?!\S)|\s"),
    "cl100k": ("TOKENIZERS", rf"{SHORT}|{LETTERS}|\p{{N}}{{1,3}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|{NEWLINES}", 15, None),
    "cl100k of tiktoken": (
        "TIKTOKEN", r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|"
        r"\s*[\r\n]|\s+(?!\S)|\s", 12,
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|(?>\p{N}{1,3})| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++\z|"
        r"\s*[\r\n]|\s+(?!\S)|\s"),
    "cl100k of tiktoken in tokenizers": (
        "TOKENIZERS", r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|"
        r"\s++$|\s*[\r\n]|\s+(?!\S)|\s", 13, None),
    "nanochat": ("TIKTOKEN", r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,2}| ?[^\s\p{L}\p{N}]++[\r\n]*|"
                 r"\s*[\r\n]|\s+(?!\S)|\s+", 12, None),
    "qwen2": ("TOKENIZERS", rf"{SHORT}|{LETTERS}|\p{{N}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|{NEWLINES}", 15, None),
    "qwen3.5": ("TOKENIZERS", rf"{SHORT}|[^\r\n\p{{L}}\p{{N}}]?[\p{{L}}\p{{M}}]+|\p{{N}}| ?[^\s\p{{L}}\p{{M}}\p{{N}}]+"
                rf"[\r\n]*|{NEWLINES}", 16, None),
    "o200k": ("TOKENIZERS", cased(UPPER, LOWER, SHORT + "?", r"\p{N}{1,3}", "/"), 27, None),
    "tekken": ("TOKENIZERS", cased(UPPER, LOWER, "", r"\p{N}", "/"), 10, None),
    "kimi": ("TIKTOKEN", r"[\p{Han}]+|" + cased(UPPER[:-1] + NO_HAN, LOWER[:-1] + NO_HAN, SHORT + "?", r"\p{N}{1,3}", ""),
             29, None),
    "deepseek v3, 1": ("TOKENIZERS", r"\p{N}{1,3}", 2, None),
    "deepseek v3, 2": ("TOKENIZERS", "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+", 2, None),
    "deepseek v3, 3": ("TOKENIZERS", r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^"""
                       "\r\n" r"\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[" "\r\n" r"]*|\s*[" "\r\n"
                       r"]+|\s+(?!\S)|\s+", 9, None),
    "bloom": ("TOKENIZERS", " ?[^(\\s|[.,!?\u2026\u3002\uff0c\u3001\u0964\u06d4\u060c])]+", 3, None),
}
# All characters of the first two planes, and every 251st of the others, stand in these contexts.
CHARACTERS = [c for c in [*range(0x20000), *range(0x20000, 0x110000, 251)] if not 0xD800 <= c < 0xE000]
CONTEXTS = [("a", "b "), (" ", "1\n"), ("'s.", " ")]
CHUNK = 4096


def lengths(split, text):
    return [len(word.encode()) for word, _ in split.pre_tokenize_str(text)]


def literal(data):
    """A C string; octal escapes, which end after three digits."""
    return '"' + "".join(chr(b) if 32 <= b < 127 and b not in b'"\\?' else f"\\{b:03o}" for b in data) + '"'


def crc_of_all(split):
    """Checksum of the lengths of the words, u32 little-endian, of the characters in all contexts."""
    crc = 0
    for before, after in CONTEXTS:
        for at in range(0, len(CHARACTERS), CHUNK):
            text = "".join(before + chr(c) + after for c in CHARACTERS[at:at + CHUNK])
            crc = zlib.crc32(b"".join(n.to_bytes(4, "little") for n in lengths(split, text)), crc)
    return crc


def wrapped(data):
    cut = [data[at:at + 40] for at in range(0, len(data), 40)]
    return "\n     ".join(literal(part) for part in cut)


def main():
    lines = ["/* made by splitter_words.py */", "static const struct heft_str TEXTS[] = {"]
    lines += [f"    {{{wrapped(text.encode())},\n     {len(text.encode())}}}," for text in TEXTS]
    lines += ["};", "static const struct known_pattern PATTERNS[] = {"]
    for name, (engine, pattern, symbols, spelt) in PATTERNS.items():
        split = pre_tokenizers.Split(Regex(spelt or pattern), "isolated")
        lines += [f'    {{"{name}", HEFT_ENGINE_{engine}, {symbols}, 0x{crc_of_all(split):08X},',
                  f"     {wrapped(pattern.encode())},", "     {"]
        lines += [f'      "{" ".join(map(str, lengths(split, text)))}",' for text in TEXTS]
        lines += ["     }},"]
    Path(__file__).with_name("splitter_words.inc").write_text("\n".join([*lines, "};", ""]), encoding="ascii")


main()
