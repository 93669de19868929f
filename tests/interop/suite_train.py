"""Vocabularies learned by heft train, compared with those of tokenizers, rustbpe and subword-nmt."""

import collections
import json
import random

import environment
from common import ROOT, Suite, heft
from peers import Peer

ALPHABETS = ["ab", "ab ", "aab", "abc \n", "aé中ю \n", "'s a't\n 12", "ab \r\n",
             "ab \x0b\x0c\x1c\x85\u2028\n", "aab \t\n", "abc \xa0\u3000\x1f\n"]
TEXTS = ["README.md", "HACKING.md", "tests/golden/tokens/small/text.txt", "doc/format/torch.md"]


def compare(suite, peer, path, style, size, least, out, memory="4GiB", **how):
    words = ["--vocab-size", size] if style == "bytes" else ["--style", style, "--symbols", size]
    words += ["--memory", memory]
    ran = heft("train", path, "-o", out, "-f", "-q", "--no-sync", "--min-frequency", least, *words)
    wanted = peer.ask(style, path=str(path), size=size, least=least, **how)
    label = " ".join([f"{style} {path.name} size {size} least {least} memory {memory}", *(name for name in how if how[name])])
    if wanted is None:  # subword-nmt fails on a text without pairs
        return suite.check(ran.status in (0, 2), label, ran.line)
    if not suite.check(ran.status == 0, label, ran.line):
        return False
    got = (out / "vocab.bpe" if style == "bytes" else out).read_text("utf-8")
    return suite.equal(got, wanted, label)


def generated(suite, peer, folder):
    rng = random.Random(5)
    for number in range(240):
        path = folder / f"text{number}"
        alphabet = ALPHABETS[number % len(ALPHABETS)]
        text = "".join(rng.choice(alphabet) for _ in range(rng.randint(1, 1500)))
        path.write_bytes(text.encode())
        memory = rng.choice(["4GiB", "72KiB"])
        compare(suite, peer, path, "bytes", rng.randint(258, 500), rng.randint(1, 3), folder / "out", memory)
        # subword-nmt splits symbols that contain white space (see man heft-train)
        odd = any(c.isspace() and c not in " \r\n" for c in alphabet)
        compare(suite, peer, path, "subword-nmt", rng.randint(1, 200), rng.randint(1, 3),
                folder / "codes", memory, whole=odd)


def real(suite, peer, folder):
    for name in TEXTS:
        for memory in ("4GiB", "200KiB"):  # with little memory, words and pairs do not fit in it at once
            compare(suite, peer, ROOT / name, "bytes", 3000, 2, folder / "out", memory)
            compare(suite, peer, ROOT / name, "subword-nmt", 3000, 2, folder / "codes", memory, whole=False)


def families(suite, peer, folder):
    """With the patterns of other vocabularies, and NFC."""
    for pattern in ("llama3", "qwen2", "nanochat", "o200k", "tekken", "kimi", "deepseek", "starcoder"):
        for name in TEXTS:
            out, label = folder / f"of-{pattern}", f"{pattern} {name}"
            ran = heft("train", ROOT / name, "-o", out, "-f", "-q", "--no-sync", "--vocab-size", 1500, "--pattern", pattern)
            if suite.check(ran.status == 0, label, ran.line):
                mine = json.loads((out / "tokenizer.json").read_text("utf-8"))["model"]["merges"]
                theirs = peer.ask("again", pipeline=str(out / "tokenizer.json"), path=str(ROOT / name), size=1500, least=2)
                suite.equal(mine, theirs, label)


NANOCHAT = (r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,2}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|"
            r"\s+(?!\S)|\s+")
# Bytes in the order of their ids: of GPT-2, as heft and tokenizers have them; rustbpe's are their values.
GPT2_ORDER = [b for b in range(256) if 33 <= b < 127 or 161 <= b < 173 or b >= 174]
GPT2_ORDER += [b for b in range(256) if b not in GPT2_ORDER]


def learned_slowly(words, size, order):
    """The tokens of a trainer that counts all pairs before each merge, and gives ties to the smallest pair of ids."""
    ids = {byte: at for at, byte in enumerate(order)}
    tokens = [bytes([byte]) for byte in order]
    words = [([ids[byte] for byte in word.encode()], n) for word, n in collections.Counter(words).items()]
    while len(tokens) < size:
        pairs = collections.Counter()
        for word, n in words:
            for pair in zip(word, word[1:]):
                pairs[pair] += n
        if not pairs:
            break
        best = min(pairs, key=lambda pair: (-pairs[pair], pair))
        for word, _ in words:
            at = 0
            while at + 1 < len(word):
                if (word[at], word[at + 1]) == best:
                    word[at:at + 2] = [len(tokens)]
                at += 1
        tokens.append(tokens[best[0]] + tokens[best[1]])
    return [token.hex() for token in tokens[256:]]


def rustbpe(suite, peer, folder):
    """nanochat's trainer: the same merges but for ties, which are decided by ids, and the ids of bytes differ."""
    rng, equal, out = random.Random(8), 0, folder / "of-rustbpe"
    for number in range(40):
        path, alphabet = folder / f"text{number}", ALPHABETS[number % 6] + "etaoin"
        path.write_bytes("".join(rng.choice(alphabet) for _ in range(rng.randint(1, 1500))).encode())
        size = rng.randint(258, 400)
        ran = heft("train", path, "-o", out, "-f", "-q", "--no-sync", "--vocab-size", size + 1, "--min-frequency", 1,
                   "--pattern", "nanochat")
        if not suite.check(ran.status == 0, f"nanochat {path.name}", ran.line):
            continue
        mine = merged_tokens(json.loads((out / "tokenizer.json").read_text("utf-8"))["model"]["merges"])
        theirs = peer.ask("rustbpe", path=str(path), size=size, pattern=NANOCHAT)
        words = peer.ask("words", path=str(path), pattern=NANOCHAT)
        suite.equal(mine, learned_slowly(words, size, GPT2_ORDER), f"nanochat {path.name}: ties by GPT-2's ids of bytes")
        suite.equal(theirs, learned_slowly(words, size, range(256)), f"rustbpe {path.name}: ties by the values of bytes")
        equal += mine == theirs
    suite.check(equal > 0, "rustbpe learns the same merges from a text without such ties")


def merged_tokens(merges):
    """The tokens that merges make in hexadecimal, from the characters that stand for bytes."""
    characters = {chr(byte): byte for byte in GPT2_ORDER[:188]}
    characters |= {chr(256 + i): byte for i, byte in enumerate(GPT2_ORDER[188:])}
    return [bytes(characters[c] for c in left + right).hex() for left, right in merges]


def loaded(suite, peer):
    """tokenizer.json in the package gives the ids of vectors.jsonl."""
    small = ROOT / "tests/golden/tokens/small"
    vectors = [json.loads(line) for line in open(small / "vectors.jsonl", encoding="ascii")]
    ids = peer.ask("encode", path=str(small / "tokenizer.json"), texts=[v["text"] for v in vectors])
    suite.equal(ids, [v["ids"] for v in vectors], "tokenizer.json in tokenizers")


def run(folder):
    suite = Suite("vocabularies as tokenizers, rustbpe and subword-nmt learn them")
    try:
        peer = Peer(environment.interpreter("train"), environment.HERE / "train_peer.py")
    except environment.Unavailable as reason:
        suite.skip(f"tokenizers, subword-nmt: {reason}")
        return suite
    real(suite, peer, folder)
    generated(suite, peer, folder)
    families(suite, peer, folder)
    rustbpe(suite, peer, folder)
    loaded(suite, peer)
    peer.close()
    return suite
