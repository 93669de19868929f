"""Process with the tokenizers library that answers bench/run: time to learn a vocabulary."""

import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "interop"))
from answer import serve  # noqa: E402


def train(path, size):
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(vocab_size=size - 1, min_frequency=2, show_progress=False,
                                  initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    start = time.perf_counter()
    tokenizer.train([path], trainer)
    return {"seconds": time.perf_counter() - start, "tokens": tokenizer.get_vocab_size()}


def main():
    import tokenizers  # noqa: F401 (paid here)
    serve({"train": train})


if __name__ == "__main__":
    main()
