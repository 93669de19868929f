"""convert, diff, stats, scan, verify; progress, and what KeyboardInterrupt leaves."""

import os
import pathlib
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

import heft

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "data" / "training.ckpt"
SCANNED = ROOT / "tests" / "scan"


class Folder(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))


class Convert(Folder):
    def test_simple(self):
        out = self.folder / "a.safetensors"
        made = heft.convert(EXAMPLE, out, root="model", verify=True)
        self.assertEqual(made.files, {str(out): out.stat().st_size})
        self.assertEqual({(t.name, t.source_name, t.dtype, t.nbytes) for t in made.tensors},
                         {("weight", "model.weight", "F32", 24), ("bias", "model.bias", "F32", 12)})
        self.assertEqual((made.total_size, made.is_sharded, made.lost, made.overflowed), (36, False, {}, 0))
        self.assertEqual(made.tensor_to_filename, {"weight": "a.safetensors", "bias": "a.safetensors"})
        with heft.open(out) as c:
            self.assertEqual(sorted(c), ["bias", "weight"])

    def test_texts_mappings_and_pairs(self):
        outputs = []
        for number, options in enumerate((
                {"cast": "*=BF16", "rename": r"^model\.=>m.", "metadata": "a=b=c", "glob": "model.*"},
                {"cast": {"*": "bf16"}, "rename": [(r"^model\.", "m.")], "metadata": {"a": "b=c"},
                 "glob": ["model.*"]},
                {"cast": ["*=bfloat16"], "rename": [r"^model\.=>m."], "metadata": [("a", "b=c")],
                 "regex": r"^model\."})):
            heft.convert(heft.open(EXAMPLE), self.folder / f"{number}.safetensors", **options)
            outputs.append((self.folder / f"{number}.safetensors").read_bytes())
        self.assertEqual(len(set(outputs)), 1)
        c = heft.open(outputs[0])
        self.assertEqual({t.name: t.dtype for t in c.values()}, {"m.weight": "BF16", "m.bias": "BF16"})
        self.assertEqual(c.metadata()["a"], "b=c")

    def test_options_of_formats(self):
        heft.convert(EXAMPLE, self.folder / "a.ptd", root="model", segment_alignment=256, drop_values=True)
        with self.assertRaises(heft.UsageError):
            heft.convert(EXAMPLE, self.folder / "b.ptd", root="model", segment_alignment="many")
        with self.assertRaisesRegex(TypeError, "no_such"):
            heft.convert(EXAMPLE, self.folder / "b.ptd", no_such=1)

    def test_rules(self):
        rules = self.folder / "turn.rules"
        rules.write_text("let $n = given else 2\nweight [o, $n] | transpose 0 1 <=> w [$n, o]\nbias <=> b also c\n")
        out, back = self.folder / "a.safetensors", self.folder / "b.safetensors"
        stored = struct.unpack("<6f", heft.open(EXAMPLE)["model.weight"].raw())
        made = heft.convert(EXAMPLE, out, root="model", rules=rules, verify=True)
        self.assertEqual({(t.name, t.sources, t.rule) for t in made.tensors},
                         {("w", ("model.weight",), f"{rules}:2"), ("b", ("model.bias",), f"{rules}:3")})
        with heft.open(out) as c:
            self.assertEqual((c["w"].shape, c["c"].name), ((2, 3), "b"))
            self.assertEqual(bytes(c["w"].raw()), struct.pack("<6f", *stored[::2], *stored[1::2]))
            with c.ruled([rules], reverse=True) as view:
                self.assertEqual(list(view), ["bias", "weight"])
                weight = view["weight"]
            self.assertEqual((weight.shape, bytes(weight.raw())), ((3, 2), struct.pack("<6f", *stored)))
        self.assertTrue(heft.diff(EXAMPLE, out, root="model", rules=rules).is_equal)
        self.assertFalse(heft.diff(EXAMPLE, out, root="model").is_equal)
        heft.convert(out, back, rules=rules, reverse=True, variables={"n": 2})
        self.assertTrue(heft.diff(EXAMPLE, back, root="model").is_equal)
        with self.assertRaisesRegex(heft.UsageError, r"turn\.rules:2: "):
            heft.convert(EXAMPLE, back, root="model", rules=rules, variables={"n": 4}, force=True)
        with self.assertRaisesRegex(heft.UsageError, "need rules"):
            heft.convert(EXAMPLE, back, reverse=True)
        self.assertIn("rename", heft.rules_presets()["unwrap"])

    def test_rules_of_several_files(self):
        rules, out = self.folder / "join.rules", self.folder / "a.safetensors"
        rules.write_text("weight @{s} | cat 0 => weight\nbias @{s} | same => bias\n")
        paths = [self.folder / "0.safetensors", self.folder / "1.safetensors"]
        for path in paths:
            heft.convert(EXAMPLE, path, root="model")
        heft.convert(paths, out, rules=rules)
        with heft.open(out) as c, heft.open(paths, number_names=True) as several:
            self.assertEqual(c["weight"].shape, (6, 2))
            self.assertEqual(sorted(several), ["bias@0", "bias@1", "weight@0", "weight@1"])
            self.assertTrue(heft.diff(several.ruled(rules), c).is_equal)

    def test_dequantize(self):
        source = pathlib.Path(__file__).resolve().parents[1] / "quantized" / "fp8-block"
        with heft.open(source / "expected.safetensors") as c:
            expected = {name: bytes(t.raw()) for name, t in c.items()}
        made = heft.convert(source / "model.safetensors", self.folder / "a.safetensors", dequantize=True)
        self.assertIn("dequantized", " ".join(made.notes))
        with heft.open(self.folder / "a.safetensors") as c:
            self.assertEqual({name: bytes(t.raw()) for name, t in c.items()}, expected)
        heft.convert(source / "model.safetensors", self.folder / "b.safetensors", dequantize="F32")
        with heft.open(self.folder / "b.safetensors") as c:
            self.assertEqual({t.dtype for name, t in c.items() if "norm" not in name}, {"F32"})
        with self.assertRaises(heft.UsageError):
            heft.convert(source / "model.safetensors", self.folder / "c.safetensors", dequantize="I8")
        with self.assertRaisesRegex(heft.UsageError, "dequantize"):
            heft.convert(source / "model.safetensors", self.folder / "c.safetensors", cast="*=BF16")
        heft.convert(source / "model.safetensors", self.folder / "c.safetensors", cast="*=BF16", ignore_scales=True)

    def test_shards_and_dry_run(self):
        made = heft.convert(EXAMPLE, f"{self.folder}/out/", root="optimizer", to="safetensors", max_shard_size="0.03KB",
                            dry_run=True)
        self.assertTrue(made.is_sharded)
        self.assertFalse((self.folder / "out").exists())
        again = heft.convert(EXAMPLE, f"{self.folder}/out/", root="optimizer", to="safetensors", max_shard_size=30)
        self.assertEqual(again.files, made.files)
        self.assertTrue(all(os.path.exists(path) for path in again.files))

    def test_errors(self):
        out = self.folder / "a.safetensors"
        out.write_bytes(b"old")
        with self.assertRaises(heft.UsageError):
            heft.convert(EXAMPLE, out, root="model")
        self.assertEqual(out.read_bytes(), b"old")
        heft.convert(EXAMPLE, out, root="model", force=True)
        for options in ({"to": "nothing"}, {"root": "none"}, {"cast": "*=X"}, {"regex": "("}, {"rename": "a"}):
            with self.assertRaises(ValueError):
                heft.convert(EXAMPLE, self.folder / "b.safetensors", **options)
        with self.assertRaises(FileNotFoundError):
            heft.convert(self.folder / "none", self.folder / "b.safetensors")
        with self.assertRaises(OSError):
            heft.convert(EXAMPLE, self.folder / "no" / "folder" / "b.safetensors", root="model")
        self.assertEqual([path.name for path in self.folder.iterdir()], ["a.safetensors"])

    def test_notes(self):
        made = heft.convert(EXAMPLE, self.folder / "a.safetensors", root="model", cast="none=F16")
        self.assertIn("cast 'none' matches no name", made.notes)

    def test_overflow(self):
        text = b'{"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}} '
        data = struct.pack("<Q", len(text)) + text + struct.pack("<2f", 1e9, 1)
        made = heft.convert(data, self.folder / "a.safetensors", cast={"*": "F16"})
        self.assertEqual(made.overflowed, 1)


class Progress(Folder):
    def setUp(self):
        super().setUp()
        text = b'{"w":{"dtype":"U8","shape":[400000000],"data_offsets":[0,400000000]}}   '
        self.big = self.folder / "big.safetensors"
        with open(self.big, "wb") as file:
            file.write(struct.pack("<Q", len(text)) + text)
            file.truncate(8 + len(text) + 400_000_000)
        self.out = self.folder / "out.pt"

    def left(self):
        return sorted(path.name for path in self.folder.iterdir() if path != self.big)

    def test_called(self):
        calls = []
        heft.convert(self.big, self.out, progress=lambda done, total: calls.append((done, total)))
        self.assertEqual(calls[-1][0], calls[-1][1])
        self.assertEqual(calls, sorted(calls))

    def test_false_stops(self):
        with self.assertRaises(heft.CancelledError):
            heft.convert(self.big, self.out, progress=lambda done, total: False)
        self.assertEqual(self.left(), [])

    def test_exception_is_passed_on(self):
        def fail(done, total):
            raise RuntimeError("enough")

        for call in (lambda: heft.convert(self.big, self.out, progress=fail),
                     lambda: heft.stats(self.big, progress=fail),
                     lambda: heft.diff(self.big, self.big, progress=fail)):
            with self.assertRaisesRegex(RuntimeError, "enough"):
                call()
        self.assertEqual(self.left(), [])

    def test_interrupt(self):
        """KeyboardInterrupt within 0.2 s (median of 5), and nothing is left."""
        code = f"""if True:
            import heft, sys, time, _thread, signal
            def step(done, total):
                print("go", flush=True)
            try:
                while True:
                    heft.convert({str(self.big)!r}, {str(self.out)!r}, force=True, progress=step)
            except KeyboardInterrupt:
                print("interrupted", time.time(), flush=True)
        """
        seconds = []
        for _ in range(5):
            with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as child:
                child.stdout.readline()
                before = time.time()
                child.send_signal(signal.SIGINT)
                text = child.communicate(timeout=60)[0].split()
            self.assertEqual((child.returncode, text[-2]), (0, "interrupted"))
            seconds.append(float(text[-1]) - before)
            self.assertIn(self.left(), ([], ["out.pt"]))  # that of a conversion that was complete
            self.out.unlink(missing_ok=True)
        self.assertLess(sorted(seconds)[2], 0.2, seconds)


class Inspect(Folder):
    def test_diff(self):
        heft.convert(EXAMPLE, self.folder / "a.safetensors", root="model")
        heft.convert(EXAMPLE, self.folder / "b.safetensors", root="model", cast="*=BF16", rename="bias=>beta")
        same = heft.diff(EXAMPLE, self.folder / "a.safetensors", root="model")
        self.assertTrue(same.is_equal)
        self.assertEqual(same.tensors, heft.Counts(2, 0, 0, 0))
        other = heft.diff(self.folder / "a.safetensors", heft.open(self.folder / "b.safetensors"))
        self.assertEqual({(item.kind, item.name) for item in other.items},
                         {("differ", "weight"), ("only a", "bias"), ("only b", "beta")})
        self.assertFalse(other.is_equal)
        close = heft.diff(self.folder / "a.safetensors", self.folder / "b.safetensors", rename="bias=>beta", atol=0.1)
        self.assertTrue(close.is_equal)

    def test_diff_of_values(self):
        a = heft.diff(EXAMPLE, ROOT / "examples" / "data" / "training.ckpt", metadata=True)
        self.assertTrue(a.is_equal)
        self.assertGreater(a.values.equal, 3)

    def test_figures(self):
        def file(*values):
            text = b'{"w":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]}}  '
            return struct.pack("<Q", len(text)) + text + struct.pack("<4f", *values)

        (item,) = heft.diff(file(1, 2, 3, 4), file(1, 2, 5, float("nan"))).items
        self.assertEqual((item.differing, item.max_abs, item.max_abs_at, item.nan, item.elements),
                         (2, 2.0, (1, 0), (0, 1), 4))
        (stats,) = heft.stats(file(1, -2, 0, float("inf")))
        self.assertEqual((stats.name, stats.elements, stats.zeros, stats.inf, stats.finite, stats.min, stats.max,
                          stats.abs_max), ("w", 4, 1, 1, 3, -2.0, 1.0, 2.0))

    def test_stats_select(self):
        self.assertEqual([s.name for s in heft.stats(EXAMPLE, glob="bias", root="model")], ["model.bias"])

    def test_verify(self):
        self.assertEqual(heft.open(EXAMPLE).verify(), [])
        damaged = bytearray(EXAMPLE.read_bytes())
        damaged[heft.open(EXAMPLE)["model.weight"].offset] ^= 1
        (finding,) = heft.open(damaged).verify()
        self.assertEqual(finding.severity, "finding")
        with self.assertRaises(heft.MismatchError):
            heft.open(damaged)["model.weight"].check()

    def test_scan(self):
        items = heft.scan(EXAMPLE)
        self.assertIn("argparse.Namespace", {item.name for item in items})
        self.assertIn("danger", {item.danger for item in heft.scan(SCANNED)})
        with self.assertRaises(OSError):
            heft.scan(self.folder / "none")


if __name__ == "__main__":
    unittest.main()
