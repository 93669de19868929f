"""What tokenizers and subword-nmt learn: the text of vocab.bpe, or of the file of codes; and the ids that
a tokenizer.json gives.

Runs inside an environment of its own (requirements-train.txt).
"""

import codecs
import io
import json

from answer import serve
from subword_nmt.learn_bpe import learn_bpe
from tokenizers import Tokenizer, models, pre_tokenizers, trainers


def learn_bytes(path, size, least):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(vocab_size=size - 1, min_frequency=least, show_progress=False,
                                  initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    with open(path, encoding="utf-8", newline="") as file:
        tokenizer.train_from_iterator([file.read()], trainer)
    merges = json.loads(tokenizer.to_str())["model"]["merges"]
    return "#version: 0.2\n" + "".join(f"{left} {right}\n" for left, right in merges)


def learn_subword(path, size, least):
    out = io.StringIO()
    try:
        learn_bpe(codecs.open(path, encoding="utf-8"), out, size, least)
    except ValueError:  # no pair at all
        return None
    return out.getvalue()


def encode(path, texts):
    tokenizer = Tokenizer.from_file(path)
    return [tokenizer.encode(text).ids for text in texts]


if __name__ == "__main__":
    serve({"bytes": learn_bytes, "subword-nmt": learn_subword, "encode": encode})
