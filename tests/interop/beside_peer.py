"""Folders of vocab.json, merges.txt and added tokens, as transformers' classes read them: [{"class": NAME, "folder":
PATH, "texts": […], "told": {content: id}}] in a file becomes [{"ids": […], "numbers": {content: id}} or null]."""

import json
import pathlib
import sys

import transformers


def ids_of(tokenizer, text):
    """None: tokenizers panics, where tokens that strip blanks overlap."""
    try:
        return tokenizer(text, add_special_tokens=False)["input_ids"]
    except BaseException as panic:
        if type(panic).__name__ != "PanicException":
            raise
        return None


def answer(case):
    try:
        tokenizer = getattr(transformers, case["class"]).from_pretrained(case["folder"])
    except Exception:  # it does not open this folder
        return None
    return {"ids": [ids_of(tokenizer, text) for text in case["texts"]],
            "numbers": {content: tokenizer.convert_tokens_to_ids(content) for content in case["told"]}}


if __name__ == "__main__":
    cases = json.loads(pathlib.Path(sys.argv[1]).read_text())
    pathlib.Path(sys.argv[2]).write_text(json.dumps([answer(case) for case in cases]))
