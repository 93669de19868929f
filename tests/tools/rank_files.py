"""Writes rank files into the current directory, for cases of tests/cli: few tokens; tokens that GPT-2's
pattern would split; 65536 ids and 65537."""
import base64

ORDER = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
ORDER += [b for b in range(256) if b not in ORDER]
PAIRS = [bytes([ORDER[i >> 8], ORDER[i & 255]]) for i in range(65536)]


def ranks(name, more):
    tokens = [bytes([b]) for b in ORDER] + more
    with open(name, "w", encoding="ascii") as f:
        f.writelines(f"{base64.b64encode(t).decode()} {i}\n" for i, t in enumerate(tokens))


ranks("digits.tiktoken", [b"ab", b" t", b"he", b" the", b"aa"])
ranks("gpt4.tiktoken", [b"." + bytes([97 + i]) for i in range(26)] + [b";\n", b"x_"])
ranks("full.tiktoken", PAIRS[:65280])
ranks("wide.tiktoken", PAIRS[:65281])
