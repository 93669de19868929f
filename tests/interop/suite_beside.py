"""Added tokens beside vocab.json and merges.txt: ids, compared with those of transformers' classes.

The folders are look-alikes of GPT-2 and Qwen 2 with random files of added and special tokens beside them. Each text is
encoded with special tokens as ids. A folder that heft refuses must be one whose ids transformers numbers otherwise."""

import ctypes
import json
import os
import pathlib
import random
import re
import shutil
import subprocess

import environment
import suite_tokens
from common import ROOT, Suite

FAMILIES = ROOT / "tests" / "golden" / "tokens" / "families"
CLASSES = {"Qwen2Tokenizer": "qwen2-folder", "GPT2Tokenizer": "gpt2-folder", "CodeGenTokenizer": "gpt2-folder",
           "GPTNeoXTokenizer": "gpt2-folder"}
ROUNDS = int(os.environ.get("HEFT_BESIDE_ROUNDS", "60"))  # of each class

CONTENTS = ["<|im_start|>", "<|im_end|>", "<think>", "</think>", "<x>", "<|endoftext|>", "<|pad|>", "  ", "    ", "\t",
            "\n\n", "a b", "é", "e\u0301", "中文", "中", "word", "'s", "1", "12", "<", "<|", "İ", "ſ", "\u212b", "\U0001f600",
            "<|im", "_", "ab cd", "\u3000", "Ω"]
NAMES = ["bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token", "image_token"]
PARTS = [*CONTENTS, " ", "a", "b", "the ", "The", " and", "\n", "e", "\u0301", "1", "2", "!", "'", "s", "x", "\u00c5", "文", "語",
         "|>", "im_start", " \u3000 ", "\r\n", "ẛ̣"]


def named(chance, content):
    """A special token: a text, or an object."""
    if chance.random() < 0.6:
        return content
    return {"__type": "AddedToken", "content": content, **settings(chance), "special": chance.random() < 0.8}


def settings(chance):
    return {key: chance.random() < 0.25 for key in ("lstrip", "rstrip", "normalized", "single_word")}


def numbered(chance, vocab, contents):
    """Ids as transformers numbers them, and sometimes others."""
    ids, number = {}, len(vocab)
    for content in contents:
        if content in vocab:
            ids[content] = vocab[content]
        else:
            ids[content] = number
            number += 1
    if chance.random() < 0.1 and ids:
        ids[chance.choice(list(ids))] += chance.choice([1, 7, 100])
    return ids


def write(folder, name, content):
    (folder / name).write_text(json.dumps(content, ensure_ascii=name != "added_tokens.json"), encoding="utf-8")


def make(chance, folder, of_class):
    """Random files beside a copy of the look-alike."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(FAMILIES / CLASSES[of_class], folder)
    vocab = json.loads((folder / "vocab.json").read_text(encoding="utf-8"))
    contents = chance.sample(CONTENTS, chance.randrange(1, 9))
    if chance.random() < 0.3:  # tokens of the vocabulary, in its spelling
        contents += [token for token in chance.sample(sorted(vocab), 3) if token.isascii()]
    contents = list(dict.fromkeys(contents))
    ids = numbered(chance, vocab, contents)
    config = {"tokenizer_class": of_class + chance.choice(["", "Fast"]), "model_max_length": 32768,
              "chat_template": "{% for x in y %}\n"}
    has_decoder = chance.random() < 0.5
    pool = contents + chance.sample(CONTENTS, 2)
    for name in NAMES:
        if chance.random() < 0.3:
            config[name] = chance.choice([None, named(chance, chance.choice(pool))])
    for name in ("additional_special_tokens", "extra_special_tokens"):
        if chance.random() < 0.3:
            config[name] = [named(chance, content) for content in chance.sample(pool, chance.randrange(0, 3))]
    if chance.random() < 0.15:
        config["extra_special_tokens"] = {"video_token": chance.choice(pool)}
    if has_decoder:
        config["added_tokens_decoder"] = {
            str(number): {"content": content, **{key: value for key, value in settings(chance).items()
                                                 if chance.random() < 0.8}, "special": chance.random() < 0.5}
            for content, number in ids.items()}
    if not has_decoder or chance.random() < 0.3:
        items = list(ids.items())
        chance.shuffle(items)
        write(folder, "added_tokens.json", dict(items))
    if chance.random() < 0.4:
        table = {name: named(chance, chance.choice(pool)) for name in NAMES if chance.random() < 0.4}
        for value in table.values():
            if isinstance(value, dict):
                value.pop("__type")
        if chance.random() < 0.3:
            table["additional_special_tokens"] = chance.sample(pool, 1)
        write(folder, "special_tokens_map.json", table)
    write(folder, "tokenizer_config.json", config)


class Options(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("unicode", ctypes.c_char_p), ("cache", ctypes.c_size_t),
                ("special", ctypes.c_bool), ("reserved", ctypes.c_bool * 7)]


class Special(suite_tokens.Vocabulary):
    """A vocabulary whose special tokens become ids."""

    def __init__(self, library, path):
        super().__init__(library, path)
        options = Options(ctypes.sizeof(Options), None, 0, True)
        self.library.heft_encoder_free(ctypes.c_void_p(self.encoder))
        self.encoder = library.heft_encoder_new(ctypes.c_void_p(self.handle), ctypes.byref(options),
                                                ctypes.byref(self.error))


def texts(chance):
    return ["".join(chance.choice(PARTS) for _ in range(chance.randrange(1, 14))) for _ in range(60)]


def told_ids(folder):
    """The ids of the files that transformers reads."""
    config = json.loads((folder / "tokenizer_config.json").read_text(encoding="utf-8"))
    if "added_tokens_decoder" in config:
        return {value["content"]: int(key) for key, value in config["added_tokens_decoder"].items()}
    return json.loads((folder / "added_tokens.json").read_text(encoding="utf-8"))


def ask_peer(folder, cases):
    """What transformers makes of each folder: None, or the ids of its added tokens and of the texts."""
    asked, answered = folder / "asked.json", folder / "answered.json"
    asked.write_text(json.dumps(cases))
    done = subprocess.run([environment.interpreter("tokens"), ROOT / "tests" / "interop" / "beside_peer.py", asked,
                           answered], capture_output=True, text=True,
                          env={**os.environ, "TRANSFORMERS_VERBOSITY": "error", "HF_HUB_OFFLINE": "1"})
    if done.returncode:
        raise RuntimeError(f"beside_peer.py: {done.stderr[-1000:]}")
    return json.loads(answered.read_text())


def compare_refusal(suite, what, reason, told, numbers):
    """Refused texts: transformers has other ids than the files, or a spelling means other bytes."""
    suite.check(re.search("transformers gives it|belongs to another|stands for other bytes", reason),
                f"{what}: why texts are refused", reason)
    suite.check("stands for" in reason or any(numbers[content] != number for content, number in told.items()),
                f"{what}: texts are refused, and transformers has the ids of the files", reason)


def compare(suite, library, case, answer, seen):
    folder = pathlib.Path(case["folder"])
    if answer is None:
        seen["by neither"] += 1
        return
    try:
        vocabulary = Special(library, folder)
    except ValueError as reason:
        suite.check("listed twice" in str(reason) or "two added tokens" in str(reason), f"{folder.name}: opens",
                    str(reason))
        seen["refused"] += 1
        return
    with vocabulary as mine:
        if not mine.encoder:
            seen["refused"] += 1
            compare_refusal(suite, folder.name, mine.error.text.decode(), case["told"], answer["numbers"])
            return
        for text, wanted in zip(case["texts"], answer["ids"], strict=True):
            got = mine.encode(text)
            if wanted is not None and got != wanted:
                suite.equal(got, wanted, f"{folder.name}: ids of {text!r}")
                return
        seen["equal"] += 1


def run(folder):
    suite = Suite("added tokens beside vocab.json and merges.txt as transformers has them")
    try:
        environment.interpreter("tokens")
    except environment.Unavailable as reason:
        suite.skip(f"the environment cannot be created: {reason}")
        return suite
    cases = []
    for of_class in CLASSES:
        chance = random.Random(f"{of_class} 5")
        for number in range(ROUNDS):
            place = folder / f"{of_class}-{number}"
            make(chance, place, of_class)
            cases.append({"class": of_class, "folder": str(place), "texts": texts(chance), "told": told_ids(place)})
    answers = ask_peer(folder, cases)
    library = suite_tokens.load()
    for of_class in CLASSES:
        seen = {"equal": 0, "refused": 0, "by neither": 0}
        for case, answer in zip(cases, answers, strict=True):
            if case["class"] == of_class:
                compare(suite, library, case, answer, seen)
        suite.check(seen["equal"] > ROUNDS / 2, f"{of_class}: most of the folders are compared", str(seen))
    return suite
