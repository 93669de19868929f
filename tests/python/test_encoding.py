"""Encoding: its results, arguments, errors, threads, processes."""

import array
import concurrent.futures
import gc
import importlib.util
import itertools
import json
import multiprocessing
import os
import pathlib
import pickle
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest
import warnings

import heft

HERE = pathlib.Path(__file__).resolve().parent
SMALL = HERE.parent / "golden" / "tokens" / "small"
PATTERN = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
END = "<|endoftext|>"
PARTS = ["a", "Z", "the", "ing", " the", "s", "'s", "re", "'", "1", "2026", " ", "  ", "\n", "\t", "\r\n", ".", "é",
         "ß", "中", "한", "\u0301", "\u00a0", "\u3000", "\u2028", "²", "٣", "\U0001f600", "\u200d", "\U0010ffff",
         "\x00", "http://", END, "<|endof", "<", "\ud800", "\udc00", "\ud83d\ude00"]


def texts(count, seed=1):
    rng = random.Random(seed)
    return ["".join(rng.choices(PARTS, k=rng.randrange(40))) for _ in range(count)]


def has(*modules):
    return all(importlib.util.find_spec(name) for name in modules)


class Ordinary(unittest.TestCase):
    def setUp(self):
        self.enc = heft.get_encoding("gpt2")

    def test_known_ids(self):
        self.assertEqual(self.enc.encode("hello world"), [31373, 995])
        self.assertEqual(self.enc.encode_ordinary(""), [])
        self.assertEqual(self.enc.decode([31373, 995]), "hello world")
        self.assertEqual(self.enc.n_vocab, 50257)
        self.assertEqual(self.enc.max_token_value, 50256)
        self.assertEqual(self.enc.eot_token, 50256)
        self.assertEqual(self.enc.special_tokens_set, {END})
        self.assertEqual(self.enc.name, "gpt2")
        self.assertEqual(repr(self.enc), "<Encoding 'gpt2'>")

    def test_same_object(self):
        self.assertIs(heft.get_encoding("gpt2"), self.enc)
        self.assertIn("gpt2", heft.list_encoding_names())

    def test_unknown_name(self):
        with self.assertRaisesRegex(ValueError, "cl100k_base.*from_file"):
            heft.get_encoding("cl100k_base")

    def test_text_of_any_type(self):
        for text in ("héllo wörld " * 300, "", "x"):
            data = text.encode()
            wanted = self.enc.encode_ordinary(text)
            for value in (data, bytearray(data), memoryview(data), array.array("B", data)):
                self.assertEqual(self.enc.encode_ordinary(value), wanted)
                self.assertEqual(self.enc.encode(value), wanted)

    def test_wrong_type(self):
        for value in (1, None, ["a"], 1.5):
            with self.assertRaisesRegex(TypeError, "expected str, bytes or a buffer"):
                self.enc.encode(value)
        with self.assertRaises(TypeError):
            self.enc.encode_batch("one text")

    def test_not_utf8(self):
        with self.assertRaises(heft.MalformedError) as caught:
            self.enc.encode_ordinary(b"abc\xff")
        self.assertEqual(caught.exception.offset, 3)
        self.assertIsInstance(caught.exception, ValueError)
        with self.assertRaises(heft.MalformedError) as caught:
            self.enc.encode(END.encode() + b"ab\xff", allowed_special="all")
        self.assertEqual(caught.exception.offset, len(END) + 2)

    def test_surrogates(self):
        self.assertEqual(self.enc.encode("\ud83d\ude00"), self.enc.encode("\U0001f600"))
        self.assertEqual(self.enc.encode("a\ud800"), self.enc.encode("a\ufffd"))

    def test_round_trip(self):
        for text in texts(500):
            clean = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
            ids = self.enc.encode_ordinary(text)
            self.assertEqual(self.enc.decode(ids), clean)
            self.assertEqual(self.enc.decode_bytes(ids), clean.encode())
            self.assertEqual(b"".join(self.enc.decode_tokens_bytes(ids)), clean.encode())


class Special(unittest.TestCase):
    def setUp(self):
        self.enc = heft.get_encoding("gpt2")

    def test_refused(self):
        for call in (self.enc.encode, lambda text: self.enc.encode(text.encode())):
            with self.assertRaisesRegex(ValueError, "endoftext"):
                call(f"a{END}")
        with self.assertRaisesRegex(ValueError, "endoftext"):
            self.enc.encode_batch(["a", f"b{END}"])
        with self.assertRaisesRegex(ValueError, "hello"):
            self.enc.encode("say hello", disallowed_special={"hello"})

    def test_allowed(self):
        for allowed in ("all", {END}):
            self.assertEqual(self.enc.encode(f"{END}a{END}{END}", allowed_special=allowed), [50256, 64, 50256, 50256])
        self.assertEqual(self.enc.encode(END, disallowed_special=()), [27, 91, 437, 1659, 5239, 91, 29])
        self.assertEqual(self.enc.encode(END, allowed_special={"<other>"}, disallowed_special=()),
                         self.enc.encode_ordinary(END))
        self.assertTrue(self.enc.is_special_token(50256))
        self.assertFalse(self.enc.is_special_token(5))

    def test_many_are_linear(self):
        text = (END + "<|endof") * 20000
        self.assertEqual(self.enc.encode(text, allowed_special="all").count(50256), 20000)

    def test_empty_special(self):
        with self.assertRaises(ValueError):
            self.enc.encode("a", disallowed_special=[""])


class Tokens(unittest.TestCase):
    def setUp(self):
        self.enc = heft.get_encoding("gpt2")

    def test_sequences(self):
        ids = [31373, 995]
        for value in (ids, tuple(ids), iter(ids), range(31373, 31375), array.array("I", ids), array.array("q", ids),
                      array.array("H", ids), memoryview(array.array("i", ids))):
            wanted = self.enc.decode_bytes([31373, 31374]) if isinstance(value, range) else b"hello world"
            self.assertEqual(self.enc.decode_bytes(value), wanted)
        self.assertEqual(self.enc.decode_bytes([]), b"")
        self.assertEqual(self.enc.decode_bytes(array.array("I")), b"")

    def test_long_tokens(self):
        longest = max((t for t in self.enc._tokens() if t), key=len)
        number = self.enc.encode_single_token(longest)
        self.assertEqual(self.enc.decode_bytes([number] * 5000), longest * 5000)

    def test_unknown(self):
        with self.assertRaises(KeyError) as caught:
            self.enc.decode([1, 2, 50257])
        self.assertEqual(caught.exception.offset, 2)
        self.assertIn("50257", str(caught.exception))
        for number in (50257, -1, 1 << 40):
            with self.assertRaises(KeyError):
                self.enc.decode_single_token_bytes(number)

    def test_out_of_range(self):
        for value in ([-1], [1 << 32], [1, 1 << 70], array.array("q", [-5]), array.array("Q", [1 << 40])):
            with self.assertRaises(OverflowError):
                self.enc.decode_bytes(value)
        for value in (["a"], [1.5], 5, array.array("f", [1.0])):
            with self.assertRaises(TypeError):
                self.enc.decode_bytes(value)

    def test_list_that_shrinks(self):
        class Odd:
            def __index__(self):
                numbers.clear()
                return 5

        numbers = [Odd(), 1, 2, 3]
        self.assertEqual(self.enc.decode_bytes(numbers), self.enc.decode_bytes([5]))

    def test_single(self):
        self.assertEqual(self.enc.encode_single_token("hello"), 31373)
        self.assertEqual(self.enc.encode_single_token(END), 50256)
        self.assertEqual(self.enc.decode_single_token_bytes(31373), b"hello")
        with self.assertRaises(KeyError):
            self.enc.encode_single_token("hello world")

    def test_incomplete_characters(self):
        ids = self.enc.encode("\U0001f600")
        self.assertEqual(self.enc.decode(ids[:1]), "\ufffd")
        with self.assertRaises(UnicodeDecodeError):
            self.enc.decode(ids[:1], errors="strict")

    def test_batches(self):
        many = texts(700)
        wanted = [self.enc.encode_ordinary(text) for text in many]
        for threads in (1, 2, 8, 1000):
            self.assertEqual(self.enc.encode_ordinary_batch(many, num_threads=threads), wanted)
            self.assertEqual(self.enc.encode_batch(iter(many), num_threads=threads, disallowed_special=()), wanted)
        self.assertEqual(self.enc.encode_ordinary_batch([]), [])
        self.assertEqual(self.enc.decode_batch(wanted), [self.enc.decode(ids) for ids in wanted])
        self.assertEqual(self.enc.decode_bytes_batch(wanted), [self.enc.decode_bytes(ids) for ids in wanted])
        with self.assertRaises(ValueError):
            self.enc.encode_ordinary_batch(["a"], num_threads=0)
        with self.assertRaises(heft.MalformedError):
            self.enc.encode_ordinary_batch([b"ok"] * 500 + [b"\xff"] + [b"ok"] * 500)
        with self.assertRaises(TypeError):
            self.enc.encode_ordinary_batch(["a", 5])

    def test_offsets(self):
        ids = self.enc.encode("hello wörld")
        text, offsets = self.enc.decode_with_offsets(ids)
        self.assertEqual(text, "hello wörld")
        self.assertEqual(offsets[0], 0)

    @unittest.skipUnless(has("numpy"), "numpy is not installed")
    def test_numpy(self):
        import numpy

        text = "hello world " * 1000
        ids = self.enc.encode_to_numpy(text)
        self.assertEqual(ids.dtype, numpy.uint32)
        self.assertEqual(ids.tolist(), self.enc.encode(text))
        ids[0] = 7  # it owns its memory
        for dtype in ("uint16", "int32", "int64", "uint32"):
            self.assertEqual(self.enc.decode_bytes(self.enc.encode_to_numpy(text).astype(dtype)), text.encode())
        self.assertEqual(self.enc.decode(numpy.array([31373, 995])[::1]), "hello world")
        self.assertEqual(self.enc.encode_to_numpy("").tolist(), [])

    @unittest.skipIf(has("numpy"), "numpy is installed")
    def test_without_numpy(self):
        with self.assertRaisesRegex(ImportError, "numpy"):
            self.enc.encode_to_numpy("a")


class Sharing(unittest.TestCase):
    """Threads, processes, memory."""

    def setUp(self):
        self.enc = heft.get_encoding("gpt2")

    def test_threads(self):
        many = texts(300, 2) + ["a long text, longer than the bound " * 100]
        wanted = [self.enc.encode_ordinary(text) for text in many]
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            for _ in range(5):
                self.assertEqual(list(pool.map(self.enc.encode_ordinary, many)), wanted)

    def test_other_threads_run(self):
        ran = []
        text = "some words and more of them " * 400_000
        thread = threading.Thread(target=lambda: ran.append(len(self.enc._encode_ids(text, (), ()))))
        ticks = 0
        thread.start()
        while thread.is_alive():
            ticks += 1
        self.assertGreater(ticks, 50)
        self.assertEqual(len(ran), 1)

    def test_fork(self):
        if "fork" not in multiprocessing.get_all_start_methods():
            self.skipTest("no fork here")
        wanted = self.enc.encode("forked text")
        self.enc.encode_ordinary_batch(texts(200), num_threads=4)
        reader, writer = os.pipe()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of threads, from 3.12 on: none is running
            child = os.fork()
        if child == 0:
            os.write(writer, json.dumps(self.enc.encode_batch(["forked text"] * 300, num_threads=2)[299]).encode())
            os._exit(0)
        os.close(writer)
        with os.fdopen(reader) as answer:
            self.assertEqual(json.load(answer), wanted)
        self.assertEqual(os.waitpid(child, 0)[1], 0)

    def test_no_leak(self):
        def once():
            self.enc.encode("hello " * 50)
            self.enc.encode_batch(["a b c"] * 100, num_threads=2)
            self.enc.decode(self.enc._encode_ids("x" * 100, (), ()))
            for wrong in (5, b"\xff", END):
                with self.assertRaises((TypeError, ValueError)):
                    self.enc.encode(wrong)

        for _ in range(200):
            once()
        gc.collect()
        before = resident()
        for _ in range(3000):
            once()
        gc.collect()
        self.assertLess(resident() - before, 4 << 20)

    def test_objects_are_freed(self):
        before = resident()
        for _ in range(60):
            heft.from_file(SMALL).encode("the text")
        gc.collect()
        self.assertLess(resident() - before, 60 << 20)


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Files(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def test_directory(self):
        enc = heft.from_file(SMALL)
        for line in (SMALL / "vectors.jsonl").read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            self.assertEqual(enc.encode_ordinary(row["text"]), row["ids"])
        self.assertEqual(enc.name, str(SMALL))

    def test_file_forms(self):
        text = (SMALL / "text.txt").read_text(encoding="utf-8")
        wanted = heft.from_file(SMALL).encode_ordinary(text)
        self.assertEqual(heft.from_file(str(SMALL / "vocab.bpe")).encode_ordinary(text), wanted)
        self.assertEqual(heft.from_file(os.fsencode(SMALL / "vocab.bpe").decode()).encode_ordinary(text), wanted)

    def test_eot(self):
        enc = heft.from_file(SMALL, eot_token=5)
        self.assertEqual(enc.eot_token, 5)

    def test_pickle(self):
        self.assertIs(pickle.loads(pickle.dumps(heft.get_encoding("gpt2"))), heft.get_encoding("gpt2"))
        shutil.copytree(SMALL, self.folder / "v")
        enc = heft.from_file(self.folder / "v", eot_token=7)
        data = pickle.dumps(enc)
        again = pickle.loads(data)
        self.assertEqual((again.encode_ordinary("the"), again.eot_token), (enc.encode_ordinary("the"), 7))
        with open(self.folder / "v" / "vocab.bpe", "a") as file:
            file.write("\n")
        with self.assertRaises(heft.MismatchError):
            pickle.loads(data)

    def test_spawned_process(self):
        context = multiprocessing.get_context("spawn")
        with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as pool:
            enc = heft.from_file(SMALL)
            self.assertEqual(pool.submit(enc.encode_ordinary, "the").result(), enc.encode_ordinary("the"))

    def test_missing(self):
        with self.assertRaises(FileNotFoundError) as caught:
            heft.from_file(self.folder / "none")
        self.assertIsInstance(caught.exception, heft.Error)
        self.assertEqual(caught.exception.filename, str(self.folder / "none"))

    def test_damaged(self):
        (self.folder / "tokenizer.json").write_text('{"model": {"type": "BPE", "vocab": {"a": 1')
        with self.assertRaises(heft.MalformedError) as caught:
            heft.from_file(self.folder / "tokenizer.json")
        self.assertEqual(caught.exception.file, str(self.folder / "tokenizer.json"))

    def test_special_tokens_of_the_file(self):
        made = json.loads((SMALL / "tokenizer.json").read_text())
        made["added_tokens"].append({**made["added_tokens"][0], "id": 1000, "content": "<pad>"})
        (self.folder / "tokenizer.json").write_text(json.dumps(made))
        enc = heft.from_file(self.folder / "tokenizer.json")
        self.assertEqual(enc.special_tokens_set, {"<pad>", END})
        self.assertTrue(enc.is_special_token(1000))
        self.assertEqual(enc.encode(f"a<pad>{END}", allowed_special="all")[-2:], [1000, 999])
        with self.assertRaisesRegex(ValueError, "<pad>"):
            enc.encode("a<pad>")

    def test_families(self):
        """Vocabularies with other patterns, added tokens and normalization: a text may have more ids than bytes."""
        families = SMALL.parent / "families"
        known = json.loads((families / "ids.json").read_text())
        texts = json.loads((families / "texts.json").read_text())
        for name in ("gpt-neox", "qwen2", "o200k", "deepseek3", "tekken-file", "starcoder2"):
            encoding = heft.from_file(families / known[name]["file"])
            self.assertEqual([encoding.encode_ordinary(text) for text in texts], known[name]["ids_plain"])
        encoding = heft.from_file(families / known["gpt4"]["file"], pattern="gpt4")
        self.assertEqual([encoding.encode_ordinary(text) for text in texts], known["gpt4"]["ids_plain"])
        long = "\u0958" * 1000  # NFC makes two characters of it
        self.assertEqual(heft.from_file(families / known["qwen2"]["file"]).decode_bytes(
            heft.from_file(families / known["qwen2"]["file"]).encode_ordinary(long)).decode(), "\u0915\u093c" * 1000)

    def test_wrong_pattern(self):
        with self.assertRaises(ValueError):
            heft.from_file(SMALL, pattern="gpt5")

    def test_notes_are_warnings(self):
        shutil.copy(SMALL / "tokenizer.json", self.folder)
        (self.folder / "tokenizer_config.json").write_text('{"add_prefix_space": true}')
        with self.assertWarnsRegex(UserWarning, "add_prefix_space"):
            heft.from_file(self.folder)


@unittest.skipUnless(has("tiktoken"), "tiktoken is not installed")
class AsTiktoken(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        import tiktoken

        cls.enc = heft.get_encoding("gpt2")
        tokens = cls.enc._tokens()
        cls.peer = tiktoken.Encoding("gpt2", pat_str=PATTERN, special_tokens={END: 50256},
                                     mergeable_ranks={token: i for i, token in enumerate(tokens) if i < 50256})

    def test_properties(self):
        for name in ("n_vocab", "max_token_value", "eot_token", "special_tokens_set", "name"):
            self.assertEqual(getattr(self.enc, name), getattr(self.peer, name), name)
        self.assertEqual(self.enc.token_byte_values(), self.peer.token_byte_values())

    def test_random_texts(self):
        for text in texts(20_000, 3):
            self.assertEqual(self.enc.encode_ordinary(text), self.peer.encode_ordinary(text), repr(text))
            self.assertEqual(self.enc.encode(text, allowed_special="all"),
                             self.peer.encode(text, allowed_special="all"))

    def test_files_of_this_repository(self):
        for path in sorted(HERE.parents[1].glob("doc/**/*.md")) + sorted(HERE.parents[1].glob("src/base/*.c")):
            text = path.read_text(encoding="utf-8")
            ids = self.peer.encode(text, disallowed_special=())
            self.assertEqual(self.enc.encode(text, disallowed_special=()), ids, path)
            self.assertEqual(self.enc.decode(ids), text)

    def test_same_results_and_errors(self):
        many = texts(300, 4)
        calls = [
            lambda e: e.encode("a" + END), lambda e: e.encode(END, allowed_special={END}),
            lambda e: e.encode("x y", disallowed_special={"y"}), lambda e: e.decode([1 << 20]),
            lambda e: e.decode_single_token_bytes(50300), lambda e: e.encode_single_token("no such token"),
            lambda e: e.decode([-1]), lambda e: e.decode(["a"]), lambda e: e.encode(5),
            lambda e: e.encode_batch(many, disallowed_special=()), lambda e: e.encode_ordinary_batch(many),
            lambda e: e.decode_batch(e.encode_ordinary_batch(many)),
            lambda e: e.decode_with_offsets(e.encode("hello wörld 中文")), lambda e: e.is_special_token(50256),
            lambda e: e.encode_to_numpy("hello 1 2").tolist(), lambda e: str(e.encode_to_numpy("a").dtype),
        ]
        for number, call in enumerate(calls):
            got, wanted = (self.result(call, encoding) for encoding in (self.enc, self.peer))
            if isinstance(wanted, type):
                self.assertTrue(isinstance(got, type) and issubclass(got, wanted), f"{number}: {got} {wanted}")
            else:
                self.assertEqual(got, wanted, number)

    @staticmethod
    def result(call, encoding):
        try:
            return call(encoding)
        except Exception as error:
            return type(error)


class Packed(unittest.TestCase):
    def setUp(self):
        self.enc = heft.get_encoding("gpt2")

    def test_offsets_and_ids(self):
        texts = ["hello world", "", "é <|endoftext|>", b"bytes", "x" * 5000] * 40
        for threads in (1, 3):
            ids, offsets = self.enc.encode_ordinary_batch_packed(texts, num_threads=threads)
            self.assertEqual((ids.itemsize, offsets.itemsize, len(offsets), offsets[0], offsets[-1]),
                             (4, 8, len(texts) + 1, 0, len(ids)))
            self.assertEqual([list(ids[a:b]) for a, b in itertools.pairwise(offsets)],
                             self.enc.encode_ordinary_batch(texts))
        ids, offsets = self.enc.encode_batch_packed(["a<|endoftext|>"], allowed_special="all")
        self.assertEqual(list(ids), self.enc.encode("a<|endoftext|>", allowed_special="all"))
        self.assertEqual(list(self.enc.encode_ordinary_batch_packed([])[1]), [0])

    def test_errors(self):
        for texts, error in (("one", TypeError), ([1], TypeError), ([b"ab\xff"], heft.MalformedError),
                             (["<|endoftext|>"], ValueError)):
            with self.subTest(texts=texts), self.assertRaises(error):
                self.enc.encode_batch_packed(texts)
        with self.assertRaises(ValueError):
            self.enc.encode_batch_packed(["a"], num_threads=0)
        with self.assertRaises(TypeError):
            self.enc.encode_arrow(["a"])


@unittest.skipUnless(importlib.util.find_spec("pyarrow"), "needs pyarrow")
class Arrow(unittest.TestCase):
    def setUp(self):
        import pyarrow
        self.pa, self.enc = pyarrow, heft.get_encoding("gpt2")
        self.texts = ["hello world", None, "", "a text of more than twelve bytes <|endoftext|>", "é"] * 30
        self.ids = [None if text is None else self.enc.encode_ordinary(text) for text in self.texts]

    def test_types_slices_and_nulls(self):
        pa = self.pa
        for kind in (pa.string(), pa.large_string(), pa.binary(), pa.large_binary(), pa.string_view(),
                     pa.binary_view()):
            with self.subTest(kind=kind):
                array = pa.array([text and text.encode() if "binary" in str(kind) else text for text in self.texts],
                                 kind)
                found = self.enc.encode_arrow(array)
                self.assertIsInstance(found, pa.LargeListArray)
                found.validate(full=True)
                self.assertEqual((found.to_pylist(), found.null_count), (self.ids, 30))
                for part in (slice(3, 40), slice(11, 12), slice(5, 5)):
                    found = self.enc.encode_arrow(array[part])
                    found.validate(full=True)
                    self.assertEqual(found.to_pylist(), self.ids[part])

    def test_chunks(self):
        pa = self.pa
        array = pa.chunked_array([self.texts, self.texts[3:9], []], pa.string())
        found = self.enc.encode_arrow(array)
        found.validate(full=True)
        self.assertEqual((found.to_pylist(), found.num_chunks), (self.ids + self.ids[3:9], 3))
        self.assertEqual(found.type, self.enc.encode_arrow(array.chunk(0)).type)
        self.assertEqual(self.enc.encode_arrow(pa.chunked_array([], pa.string())).to_pylist(), [])

    def test_special_tokens_and_errors(self):
        pa = self.pa
        array = pa.array(["a<|endoftext|>"])
        self.assertEqual(self.enc.encode_arrow(array, allowed_special="all").to_pylist(),
                         [self.enc.encode("a<|endoftext|>", allowed_special="all")])
        with self.assertRaises(ValueError):
            self.enc.encode_arrow(array, disallowed_special="all")
        with self.assertRaisesRegex(heft.MalformedError, "UTF-8"):
            self.enc.encode_arrow(pa.array([b"ok", b"a\xff"]))
        for wrong in (pa.array([1, 2]), pa.array(["a"]).dictionary_encode(), pa.array([["a"]])):
            with self.assertRaises(TypeError):
                self.enc.encode_arrow(wrong)

    def test_parquet(self):
        """examples/encode_parquet.py: row groups, nulls, types of the column; the other columns stay."""
        import pyarrow.parquet
        example = pathlib.Path(__file__).resolve().parents[2] / "examples" / "encode_parquet.py"
        with tempfile.TemporaryDirectory() as folder:
            work = pathlib.Path(folder)
            for kind in (self.pa.string(), self.pa.large_string()):
                table = self.pa.table({"n": range(150), "text": self.pa.array(self.texts, kind)})
                pyarrow.parquet.write_table(table, work / "in.parquet", row_group_size=40)
                subprocess.run([sys.executable, example, work / "in.parquet", work / "out"], check=True)
                found = pyarrow.parquet.read_table(work / "out" / "in.parquet")
                self.assertEqual(found["ids"].to_pylist(), self.ids)
                self.assertEqual(found.drop_columns("ids"), table)

    def test_memory_is_released(self):
        array = self.pa.array(["some text " * 20] * 2000)
        first = None
        for turn in range(300):
            self.enc.encode_arrow(array)
            if turn == 100:
                first = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        self.assertLess(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - first, 20_000)
        # One consumer takes the array; what nobody takes is released with its capsule.
        made = self.enc._encode_arrow(*array.__arrow_c_array__(), (), (), 1)
        del made


if __name__ == "__main__":
    unittest.main()
