#!/usr/bin/env python3
"""Writes nfc_with.inc: texts normalized by the tokenizers library, and checksums of many.

    python nfc_with.py [FILE]        # made with tokenizers 0.23.3

A checksum is the CRC-32 of all results, each followed by a newline. Random texts are made alike by
test_nfc.c: next_random, random_text."""
import sys
import zlib
from pathlib import Path

from tokenizers import normalizers

OUTPUT = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_name("nfc_with.inc")
nfc = normalizers.NFC().normalize_str
TEXTS = [
    "plain", "e\u0301", "\u00e9", "e\u0323\u0301", "e\u0301\u0323", "\u00e9\u0323", "\u1eb9\u0301", "\u212b\u2126K\u212a",
    "\u0344", "\u0308\u0301", "a\u0344\u0345", "\u1f82", "\u03b1\u0345\u0300\u0313", "\u1100\u1161\u11a8", "\uac00\u11a8",
    "\uac01\u11a8", "\uac00\u0301\u11a8", "\u1161\u11a8", "\u0915\u093c", "\u0958", "\u09c7\u09be", "\u09c7\u0301\u09be",
    "\u0b47\u0b56\u0b57", "\u0dd9\u0dcf\u0dca", "\uf900\uf901", "\U0002f800", "\ufb1d\u05b4", "\u0374;\u037e", "<\u0338", "=\u0338>\u0338",
    "\u0e01\u0e38\u0e48", "\u0e01\u0e48\u0e38", "\u05d0\u05b8\u05bc", "a\u05ae\u0315\u0300\u05c4b",
    "a\u08d3\u0334", "a\u0334\u08d3", "a\u1ac1\u0301", "e\u07fd\u0301", "\u11935\u11930", "\U00011935\U00011930",
    "\U00011938\u0334", "\U000105d2\u0307", "\U000105c9\u0334", "\U00011131\U00011127", "\U0001d15e", "\U0001d157\U0001d165",
    "\u0301", "\u0301\u0323", "\n\u0301", "\0\u0301", "x\u0301\u0301", "q\u0307\u0323", "\u1e0b\u0323", "\u1e69", "s\u0307\u0323",
    "\u4e2d\u6587\u0301", "\u304b\u3099", "\u304b\u3099\u304d", "ta\u0303\u0308u", "\u0cc6\u0cc2\u0cd5", "\u1b05\u1b35", "\u0f71\u0f72\u0f74\u0f73",
    "\u0f73", "\u0340\u0341\u0343", "o\u0304\u0328", "\u01ed", "\u01eb\u0304", "\u014d\u0328", "\u30ab\u3099\u3099",
]
RANGES = [
    (0x20, 0x7E), (0xC0, 0x24F), (0x300, 0x36F), (0x300, 0x315), (0x340, 0x345), (0x370, 0x400), (0x591, 0x5C7),
    (0x610, 0x6ED), (0x700, 0x8FF), (0x900, 0xDFF), (0x93C, 0x93C), (0xE30, 0xFBC), (0x1000, 0x109F), (0x1100, 0x11FF),
    (0x1AB0, 0x1B7F), (0x1DC0, 0x1DFF), (0x1E00, 0x1FFF), (0x20D0, 0x212F), (0x2190, 0x22ED), (0x302A, 0x309A),
    (0xA66F, 0xABFF), (0xAC00, 0xAC38), (0xF900, 0xFAD9), (0xFB1D, 0xFB4E), (0xFE20, 0xFE2F), (0x10590, 0x10600),
    (0x10A00, 0x10FFF), (0x11080, 0x11FFF), (0x16120, 0x16D6F), (0x1D158, 0x1D1BB), (0x1E000, 0x1E94A), (0x2F800, 0x2FA1D)]
BATCHES, BATCH = 20, 5000


def random_texts(state):
    def draw(n):
        nonlocal state
        state = (state * 1664525 + 1013904223) & 0xFFFFFFFF
        return (state >> 8) % n

    for _ in range(BATCH):
        text = ""
        for _ in range(1 + draw(12)):
            first, last = RANGES[draw(len(RANGES))]
            text += chr(first + draw(last - first + 1))
        yield text


def checksum(texts):
    """Nothing goes together with a newline: many texts are normalized in one."""
    crc, texts = 0, list(texts)
    for at in range(0, len(texts), 1000):
        crc = zlib.crc32(nfc("".join(text + "\n" for text in texts[at:at + 1000])).encode(), crc)
    return crc


def literal(text):
    return '"' + "".join(f"\\{byte:03o}" if not 32 <= byte < 127 or byte in b'"\\?' else chr(byte) for byte in text.encode()) + '"'


points = [chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000]
OUTPUT.write_text(
    "/* made by nfc_with.py */\n/* clang-format off */\n"
    + "static const struct { size_t n; const char *text; size_t normal_n; const char *normal; } TEXTS[] = {\n"
    + "".join(f"    {{{len(t.encode())}, {literal(t)}, {len(nfc(t).encode())}, {literal(nfc(t))}}},\n" for t in TEXTS)
    + "};\nstatic const struct { uint32_t first, last; } RANGES[] = {\n"
    + "".join(f"    {{0x{a:X}, 0x{b:X}}},\n" for a, b in RANGES)
    + f"}};\n#define BATCH {BATCH}\nstatic const uint32_t RANDOM[] = {{ /* batch i begins with the state i */\n"
    + "".join(f"    0x{checksum(random_texts(i)):08X},\n" for i in range(BATCHES))
    + f"}};\n#define ALL_POINTS 0x{checksum(points):08X} /* each code point alone */\n"
    + f"#define AFTER_E 0x{checksum('e' + c + chr(0x334) for c in points):08X} /* between e and U+0334 */\n",
    encoding="ascii")
