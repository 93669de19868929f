"""Files of encode and join, read and written by the programs that own their formats; those that are not installed
are skipped."""

import json
import pathlib
import random

import numpy

from common import ROOT, Suite, heft

SMALL = ROOT / "tests" / "golden" / "tokens" / "small"
TEXTS = ["the cat", "", "sat on the mat", "x" * 300, "\u00e9t\u00e9 \U0001f600", "a b c d e f g " * 40]


def lines_of(folder, texts=TEXTS):
    path = folder / "texts.jsonl"
    path.write_text("".join(json.dumps({"t": text}) + "\n" for text in texts))
    return path


def encode(suite, label, *words):
    ran = heft("encode", "--jsonl", "t", "--vocab", SMALL, "-q", *words)
    return suite.check(ran.status == 0, label, ran.line)


def documents_of(path, index, dtype):
    ids, ends = numpy.fromfile(path, dtype=dtype), numpy.fromfile(index, dtype="<u8")
    return [ids[begin:end] for begin, end in zip([0, *ends[:-1].tolist()], ends.tolist())]


def datatrove_writes(suite, folder):
    """The three files of TokenizedFile, byte for byte."""
    try:
        from datatrove.pipeline.tokens.tokenizer import TokenizedFile
    except ImportError:
        suite.skip("datatrove: not installed")
        return
    lines = lines_of(folder)
    for size, more in ((2, ()), (4, ("--dtype", "u32"))):
        if not encode(suite, f"ds of {size} bytes", lines, "-o", folder / f"{size}.ds", *more):
            continue
        documents = documents_of(folder / f"{size}.ds", folder / f"{size}.ds.index", f"<u{size}")
        suite.equal(len(documents), len(TEXTS), f"ds of {size} bytes: documents")
        theirs = folder / f"theirs{size}"
        file = TokenizedFile(str(theirs), "x.ds", tokenizer_name_or_path=str(SMALL), save_final_metadata=True,
                             token_size=size)
        for ids in documents:
            file.write(ids.tolist(), None)
        file.close()
        for end in ("", ".index", ".metadata"):
            suite.check((theirs / f"x.ds{end}").read_bytes() == pathlib.Path(f"{folder}/{size}.ds{end}").read_bytes(),
                        f"ds of {size} bytes: x.ds{end} is that of datatrove")


def datatrove_reads(suite, folder):
    try:
        from datatrove.utils.dataset import DatatroveFileDataset
    except ImportError:
        suite.skip("datatrove with torch: not installed")
        return
    lines = lines_of(folder)
    if not encode(suite, "ds", lines, "-o", folder / "read.ds"):
        return
    ids = numpy.fromfile(folder / "read.ds", dtype="<u2")
    windows = DatatroveFileDataset(str(folder / "read.ds"), seq_len=15, token_size=2)
    suite.equal(len(windows), len(ids) // 16, "DatatroveFileDataset: windows")
    for at in range(len(windows)):
        suite.equal(windows[at]["input_ids"].tolist(), ids[at * 16:at * 16 + 16].tolist(), f"window {at}")


def lengths(suite, folder):
    """Ends beside bin are those of ds, and of the documents encoded one by one."""
    lines = lines_of(folder)
    if encode(suite, "lengths", lines, "--eot", "none", "-o", folder / "l.bin", "--lengths", folder / "l.bin.index"):
        found = documents_of(folder / "l.bin", folder / "l.bin.index", "<u2")
        for text, ids in zip(TEXTS, found):
            (folder / "one.txt").write_text(text)
            ran = heft("count", "--vocab", SMALL, folder / "one.txt")
            suite.equal(int(ran.out), len(ids), f"lengths: {text[:20]!r}")


def plant(rng, folder):
    """Files of JSON lines of very different sizes; some lines are long, some files end without a newline."""
    paths = []
    for number in range(rng.randrange(1, 7)):
        lines = [json.dumps({"t": "word \u4e2d " * rng.choice((0, 1, 3, 400)) + str(at)}, ensure_ascii=at % 2 == 0)
                 for at in range(rng.choice((0, 1, 5, 60)))]
        paths.append(folder / f"{number}.jsonl")
        paths[-1].write_text("\n".join(lines) + rng.choice(("", "\n", "\r\n")), "utf-8", newline="")
    return paths


def parts(suite, folder):
    """The parts of a run, joined, are the run."""
    rng = random.Random(11)
    for turn in range(24):
        here = folder / str(turn)
        here.mkdir()
        paths, count = plant(rng, here), rng.choice((1, 2, 3, 7, 30))
        form, eot = rng.choice(("bin", "npy", "llmc", "ids", "megatron", "ds")), rng.choice(("id", "none"))
        words = ["--format", form, "--eot", eot, *paths]
        if not all(encode(suite, f"parts {turn}", *words, "--part", f"{k + 1}/{count}", "-o", here / f"p{k}.bin")
                   for k in range(count)) or not encode(suite, f"whole {turn}", *words, "-o", here / "whole.bin"):
            continue
        ran = heft("join", *(here / f"p{k}.bin" for k in range(count)), "--format", form, "-o", here / "all.bin")
        suite.check(ran.status == 0, f"join {turn}", ran.line)
        for whole in here.glob("whole.*"):
            joined = here / whole.name.replace("whole", "all")
            suite.check(joined.exists() and joined.read_bytes() == whole.read_bytes(),
                        f"{turn}: {whole.name} of {form}")


def megatron_reads(suite, folder):
    """A joined pair, read by IndexedDataset."""
    try:
        from megatron.core.datasets.indexed_dataset import IndexedDataset
    except ImportError:
        suite.skip("megatron-core: not installed")
        return
    texts = [text for text in TEXTS if text]
    lines = lines_of(folder, texts)
    for k in 1, 2, 3:
        encode(suite, f"part {k}", lines, "--format", "megatron", "--part", f"{k}/3", "-o", folder / f"m{k}")
    ran = heft("join", *(folder / f"m{k}.idx" for k in (1, 2, 3)), "--format", "megatron", "-o", folder / "all")
    encode(suite, "ds", lines, "--eot", "none", "-o", folder / "all.ds")
    if suite.check(ran.status == 0, "join", ran.line):
        documents = documents_of(folder / "all.ds", folder / "all.ds.index", "<u2")
        dataset = IndexedDataset(str(folder / "all"))
        suite.equal(len(dataset), len(texts), "IndexedDataset: sequences")
        suite.equal(dataset.document_indices.tolist(), list(range(len(texts) + 1)), "IndexedDataset: documents")
        for at, ids in enumerate(documents):
            suite.equal(dataset[at].tolist(), ids.tolist(), f"IndexedDataset: sequence {at}")


def run(folder):
    suite = Suite("token files of other programs")
    for part in datatrove_writes, datatrove_reads, lengths, parts, megatron_reads:
        here = folder / part.__name__
        here.mkdir()
        part(suite, here)
    return suite
