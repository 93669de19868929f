#!/usr/bin/env python3
"""Makes the files of this directory: small look-alikes of the byte-level BPE families, and the ids that the
reference programs give for texts.json. ids: added tokens are found in the text; ids_plain: special ones are not.

    pip install tokenizers==0.23.3 tiktoken==0.14.0
    python make.py

Trained on a text that is made here from a seed, so nothing else is needed. Each look-alike has the normalizer,
pre-tokenizer, model options and kinds of added tokens of the real family; only the vocabulary is small.
"""
import base64, json, os, pickle, random
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers as N, pre_tokenizers as P, processors, trainers
import tiktoken

HERE = os.path.dirname(os.path.abspath(__file__))
os.chdir(HERE)
SIZE = 900

# ---- texts -----------------------------------------------------------------------------------------------------
def train_text():
    r = random.Random(2026)
    en = ("the of and to in a is that it for was on are as with they be at this have from or one had by word but not "
          "what all were when your can said there each which their time will way about many then them write would like "
          "these long make thing see him two has look more day could go come did number sound most people my over know "
          "water than call first who may down side been now find any new work part take get place made live where after "
          "back little only round man year came show every good give our under name very through just form sentence").split()
    code = ["def ", "return ", "self.", "for i in range(", "):\n", "    ", "        ", "if ", " == ", "//", "/* ", " */", "get_id",
            "();\n", "();\n\n", "{\n", "}\n", "\t", "\t\t", "http://", "print(", "x_", "[0]", "->", "::", "<div>", "</div>\n",
            "importFrom", "HTTPServer", "\r\n", "    # ", "!= ", ".join("]
    other = ("中文English 学习Python 你好World 今天Today", "привет мир это новый день работа время человек слово дом", "中文 你好 世界 我们 今天 天气 很好 时间 工作 学习 中国",
             "こんにちは 世界 です ます 日本語 カタカナ ひらがな", "안녕하세요 세계 한국어 오늘 시간", "नमस्ते दुनिया यह एक परीक्षण है हिन्दी",
             "السلام عليكم مرحبا بكم العالم", "สวัสดีครับ ประเทศไทย วันนี้", "é è ü ñ naïve café résumé Straße ŒUVRE", "😀 👍🏽 ❤️ 👩‍👩‍👧‍👦 🇩🇪 — … “ ” ’")
    out = []
    for _ in range(3000):
        k = r.random()
        if k < .45:
            s = " ".join(r.choice(en) for _ in range(r.randint(3, 12)))
            s = r.choice([s, s.capitalize(), s.upper() if r.random() < .2 else s]) + r.choice([".", ".\n", "!", "?\n\n", ",", "...", ":", " it's", " don't", " I'LL"])
        elif k < .70:
            s = "".join(r.choice(code) + r.choice(en + ["", "", ""]) for _ in range(r.randint(3, 9)))
        elif k < .80:
            s = " ".join(str(r.randint(0, 10 ** r.randint(1, 7))) for _ in range(4))
        else:
            w = r.choice(other).split(" ")
            s = r.choice(["", " "]).join(r.choice(w) for _ in range(r.randint(2, 8)))
        out.append(s + r.choice([" ", " ", "\n", "  ", "\n\n"]))
    return "".join(out)

TEXTS = [
    "", " ", "  ", "Hello world", " Hello  world ", "I'm, you'RE, WE'LL 'S 's 'sx IT'S I'd've",
    "don\u2019t 'ſ 'ſx x'ſ ab'\u212a", "1234567 12 3 1,234.5 ²½Ⅷ٣٤〇 a1b22c333", "tabs\tand\t\tmore\n  x\n\n   y  \n", "a\r\n\r\n b\r\r\n  \n",
    "x   ", "x\n", "x \n ", "\n\n\n", "    def f(x):\n        return x_1 + y[0];\n\n", "a.b();\n//c/d/\n\n#!/bin/sh\n", "HTTPServer getIdFromURL iPhone McDONALD'S ǅungla ʰaʰB",
    "naïve café e\u0301 A\u030a \u212b \ufb01 \u00bd \u2126", "Straße ŒUVRE ẞ ŉ İı", "中文English混合 你好，世界！123中文", "日本語カタカナひらがなー。 こんにちは",
    "안녕하세요 \u1112\u1161\u11ab 한국", "привет, мир! Привет", "नमस्ते दुनिया हिन्दी", "السلام عليكم ٣٤", "สวัสดีครับ",
    "😀👍🏽❤️👩‍👩‍👧‍👦🇩🇪 1\ufe0f\u20e3", "a\u00a0\u00a0b \u3000\u3000c\u2028d\u0085e \u200b\ufeff", "\x00\x1c\x1f\x7f a", "((a|b)) [c] {d} ,. !? …。，、।۔،",
    "<|endoftext|>", "a <|endoftext|> b<|endoftext|>\n", "<mask> x  <mask>  y<mask>", "   word  word word", "\t\t\tx", "\u1c89's \u0897 \U00016ea0 \ua7ce 10\U00016ff4 \U00011de0",
    "_a __init__ -x --flag a-b @me #tag $5 50% a&b", "「引用」（全角） ！？ ～", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ ................ ",
]

# ---- patterns --------------------------------------------------------------------------------------------------
CL100K = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
CL100K_TT = r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
R50K_TT = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"
NANO = r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,2}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+"
QWEN2 = CL100K.replace(r"\p{N}{1,3}", r"\p{N}")
QWEN35 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
UP, LO, AP = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]", r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
PRE = r"[^\r\n\p{L}\p{N}]?"
O200K = "|".join([PRE + UP + "*" + LO + "+" + AP, PRE + UP + "+" + LO + "*" + AP, r"\p{N}{1,3}", r" ?[^\s\p{L}\p{N}]+[\r\n/]*", r"\s*[\r\n]+", r"\s+(?!\S)", r"\s+"])
TEKKEN = "|".join([PRE + UP + "*" + LO + "+", PRE + UP + "+" + LO + "*", r"\p{N}", r" ?[^\s\p{L}\p{N}]+[\r\n/]*", r"\s*[\r\n]+", r"\s+(?!\S)", r"\s+"])
HUP, HLO = UP[:-1] + r"&&[^\p{Han}]]", LO[:-1] + r"&&[^\p{Han}]]"
KIMI = "|".join([r"[\p{Han}]+", PRE + HUP + "*" + HLO + "+" + AP, PRE + HUP + "+" + HLO + "*" + AP, r"\p{N}{1,3}", r" ?[^\s\p{L}\p{N}]+[\r\n]*", r"\s*[\r\n]+", r"\s+(?!\S)", r"\s+"])
DS3 = [r"\p{N}{1,3}", "[一-龥\u3040-ゟ゠-ヿ]+", "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+"]
BLOOM = r" ?[^(\s|[.,!?…。，、।۔،])]+"

def split(rx, behavior="isolated", invert=False): return P.Split(Regex(rx), behavior, invert)
def bl(use_regex=True, aps=False): return P.ByteLevel(add_prefix_space=aps, use_regex=use_regex)
def seq(*a): return P.Sequence(list(a))

S = lambda *a: [AddedToken(x, special=True, normalized=False) for x in a]
U = lambda *a: [AddedToken(x, special=False, normalized=True) for x in a]
# name: normalizer, pre-tokenizer, special tokens trained first, tokens added after, ignore_merges, post-processor
HF = {
 "gpt2":       (None, bl(), [], S("<|endoftext|>"), False, None),
 "roberta":    (None, bl(), ["<s>", "<pad>", "</s>", "<unk>"], [AddedToken("<mask>", lstrip=True, normalized=True, special=True)], False, "roberta"),
 "gpt-neox":   (N.NFC(), bl(), ["<|endoftext|>", "<|padding|>"], U("        ", "       ", "      ", "     ", "    ", "   ", "  "), False, None),
 "codegen":    (None, bl(), [], S("<|endoftext|>") + U("        ", "    ", "   ", "  ", "\t\t\t", "\t\t"), False, None),
 "starcoder2": (None, seq(P.Digits(individual_digits=True), bl()), ["<|endoftext|>", "<fim_prefix>"], [], False, None),
 "command-r":  (N.NFC(), seq(P.Digits(individual_digits=True), bl()), ["<PAD>", "<BOS_TOKEN>"], [], False, None),
 "falcon":     (None, seq(P.Punctuation("contiguous"), bl(), P.Digits(individual_digits=False), split("[0-9][0-9][0-9]")), [">>TITLE<<", "<|endoftext|>"], [], False, None),
 "bloom":      (None, seq(split(BLOOM), bl(False)), ["<unk>", "<s>", "</s>", "<pad>"], [], False, None),
 "phi4":       (None, seq(split(CL100K, "removed", True), bl(False)), [], [AddedToken("<|endoftext|>", special=True, lstrip=True, rstrip=True, normalized=False)], False, None),
 "llama3":     (None, seq(split(CL100K), bl(False)), [], S("<|begin_of_text|>", "<|end_of_text|>"), True, "bos"),
 "qwen2":      (N.NFC(), seq(split(QWEN2), bl(False)), [], S("<|endoftext|>", "<|im_start|>", "<|im_end|>") + [AddedToken("<tool_call>", special=False, normalized=False)], False, None),
 "qwen35":     (N.NFC(), seq(split(QWEN35), bl(False)), [], S("<|endoftext|>", "<|im_start|>"), False, None),
 "o200k":      (None, seq(split(O200K), bl(False)), [], S("<|startoftext|>", "<|endoftext|>", "<|return|>"), True, None),
 "tekken":     (None, seq(split(TEKKEN), bl(False)), ["<unk>", "<s>", "</s>", "[INST]"], [], True, None),
 "deepseek3":  (N.Sequence([]), seq(*[split(x) for x in DS3], bl(False)), ["<｜begin▁of▁sentence｜>", "<｜end▁of▁sentence｜>"], U("<｜User｜>"), False, None),
 "deepseek-coder": (N.Sequence([]), seq(split("[\r\n]"), split(r"\s?\p{L}+"), split(r"\s?\p{P}+"), split("[一-龥ࠀ-一가-퟿]+"), P.Digits(individual_digits=True), bl(False)), [], S("<｜begin▁of▁sentence｜>"), False, None),
 "nanochat":   (None, seq(split(NANO), bl(False)), ["<|bos|>", "<|user_start|>"], [], False, None),
 "aps":        (None, bl(True, True), ["<|endoftext|>"], [], False, None),
}

def dump(name, v):
    with open(name, "w", encoding="ascii") as f: f.write(v)

def b2u():
    bs = list(range(33, 127)) + list(range(161, 173)) + list(range(174, 256)); cs = bs[:]; n = 0
    for b in range(256):
        if b not in bs: bs.append(b); cs.append(256 + n); n += 1
    return {chr(c): b for b, c in zip(bs, cs)}
U2B = b2u()

def train(name, corpus):
    norm, pre, first, later, ign, post = HF[name]
    t = Tokenizer(models.BPE(ignore_merges=ign))
    if norm is not None: t.normalizer = norm
    t.pre_tokenizer, t.decoder = pre, decoders.ByteLevel()
    t.train_from_iterator([corpus], trainers.BpeTrainer(vocab_size=SIZE, special_tokens=first, initial_alphabet=P.ByteLevel.alphabet(), show_progress=False))
    if ign: # a whole word that no merge makes: only ignore_merges finds it
        d = json.loads(t.to_str()); d["model"]["vocab"]["\u0120indivisible"] = len(d["model"]["vocab"]); t = Tokenizer.from_str(json.dumps(d))
    for x in later: (t.add_special_tokens if x.special else t.add_tokens)([x])
    if post == "roberta": t.post_processor = processors.RobertaProcessing(("</s>", t.token_to_id("</s>")), ("<s>", t.token_to_id("<s>")), trim_offsets=True, add_prefix_space=False)
    if post == "bos": t.post_processor = processors.TemplateProcessing(single="<|begin_of_text|> $A", special_tokens=[("<|begin_of_text|>", t.token_to_id("<|begin_of_text|>"))])
    return t

def ids_of(t, ts): return [t.encode(x, add_special_tokens=False).ids for x in ts]

def main():
    corpus = train_text()
    texts = TEXTS + [" indivisible indivisible"]
    dump("texts.json", json.dumps(texts))
    out = {}
    for name in HF:
        t = train(name, corpus)
        dump(f"{name}.tokenizer.json", json.dumps(json.loads(t.to_str()), separators=(",", ":")))
        t = Tokenizer.from_file(f"{name}.tokenizer.json")
        plain = Tokenizer.from_str(t.to_str())
        plain.encode_special_tokens = True  # special tokens in a text are text
        out[name] = {"file": f"{name}.tokenizer.json", "reference": "tokenizers 0.23.3",
                     "ids": ids_of(t, texts),            # added tokens found in the text, no template
                     "ids_plain": ids_of(plain, texts),  # only those found that are not special
                     "ids_template": [t.encode(x).ids for x in texts[:6]]}
    # rank files: the same kind of ranks with three patterns, as tiktoken reads them
    for name, src, pat in (("gpt4", "llama3", CL100K_TT), ("llama3-model", "llama3", CL100K), ("nanochat-ranks", "nanochat", NANO), ("o200k-ranks", "o200k", O200K), ("kimi", "o200k", KIMI), ("gpt2-ranks", "gpt2", R50K_TT)):
        v = json.load(open(f"{src}.tokenizer.json"))["model"]
        order = [bytes([b]) for b in range(256)] if name in ("kimi", "o200k-ranks") else [bytes([U2B[c]]) for c in U2B]
        order += [bytes(U2B[c] for c in "".join(m)) for m in v["merges"]]
        ranks = {}
        for tok in order: ranks.setdefault(tok, len(ranks))
        with open(f"{name}.tiktoken", "wb") as f:
            for tok, i in ranks.items(): f.write(base64.b64encode(tok) + b" %d\n" % i)
        e = tiktoken.Encoding(name, pat_str=pat, mergeable_ranks=ranks, special_tokens={"<|endoftext|>": len(ranks)})
        if name == "nanochat-ranks":  # as nanochat saves its tokenizer
            special = {"<|bos|>": len(ranks), "<|user_start|>": len(ranks) + 1}
            with open("nanochat.pkl", "wb") as f:
                pickle.dump(tiktoken.Encoding("nanochat", pat_str=pat, mergeable_ranks=ranks, special_tokens=special), f, 4)
        out[name] = {"file": f"{name}.tiktoken", "pattern": pat, "reference": "tiktoken 0.14.0", "ids_plain": [e.encode_ordinary(x) for x in texts], "ids": [e.encode(x, allowed_special="all") for x in texts]}
    # a folder of vocab.json + merges.txt (GPT-2's and Qwen2's: the files do not say which)
    for name in ("gpt2", "qwen2"):
        v = json.load(open(f"{name}.tokenizer.json"))["model"]
        os.makedirs(f"{name}-folder", exist_ok=True)
        dump(f"{name}-folder/vocab.json", json.dumps(v["vocab"]))
        with open(f"{name}-folder/merges.txt", "w", encoding="utf8") as f: f.write("#version: 0.2\n" + "".join(" ".join(m) + "\n" for m in v["merges"]))
    # tekken.json: ids = rank + the number of special tokens
    ranks = [base64.b64decode(l.split()[0]) for l in open("o200k-ranks.tiktoken", "rb")]
    NS = 20
    tk = {"config": {"pattern": TEKKEN, "num_vocab_tokens": len(ranks), "default_vocab_size": len(ranks) - 50 + NS, "default_num_special_tokens": NS, "version": "v3"},
          "vocab": [{"rank": i, "token_bytes": base64.b64encode(b).decode(), "token_str": (b.decode() if b.decode("utf8", "ignore").encode() == b else None)} for i, b in enumerate(ranks)]}
    dump("tekken.json", json.dumps(tk, separators=(",", ":")))
    used = {b: i for i, b in enumerate(ranks[:len(ranks) - 50])}
    e = tiktoken.Encoding("tekken", pat_str=TEKKEN, mergeable_ranks=used, special_tokens={})
    out["tekken-file"] = {"file": "tekken.json", "reference": "tiktoken 0.14.0 as mistral-common uses it: ranks from default_vocab_size - default_num_special_tokens up are cut off, ids = rank + default_num_special_tokens",
                          "ids_plain": [[i + NS for i in e.encode_ordinary(x)] for x in texts]}
    dump("ids.json", json.dumps(out, separators=(",", ":")))
    for f in sorted(os.listdir(".")):
        if os.path.isfile(f): print(f, os.path.getsize(f))
main()
