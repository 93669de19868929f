"""Every sample of tests/reject through Python: the exception's class, code, offset and text, and no crash."""

import os
import pathlib
import unittest
import warnings

import heft

SAMPLES = pathlib.Path(__file__).resolve().parents[1] / "reject"
CLASSES = {"malformed": heft.MalformedError, "unsupported": heft.UnsupportedError, "limit": heft.LimitError,
           "unsafe": heft.UnsafeError, "mismatch": heft.MismatchError, "io": heft.IoError, "usage": heft.UsageError}
LACKING = ("heft_hdf5.so", "heft_snappy.so")  # modules that are not installed


def rows(folder):
    for line in (folder / "expect.tsv").read_text(encoding="utf-8").split("\n"):
        if line and not line.startswith("#"):
            yield ([*line.split("\t"), "*", ""] + [""])[:4] if line.count("\t") < 3 else line.split("\t")[:4]


def event(error):
    return error.code, error.offset, error.text


def events(path):
    """What is wrong with a checkpoint: of opening it, reading each tensor, statistics, verify."""
    try:
        checkpoint = heft.open(path)
    except heft.Error as error:
        return [error]
    found = []
    for call in [*(tensor.raw for tensor in checkpoint.values()), lambda: heft.stats(checkpoint),
                 lambda: checkpoint.tree, lambda: checkpoint.info]:
        try:
            call()
        except heft.Error as error:
            found.append(error)
    try:
        found += checkpoint.verify()
    except heft.Error as error:
        found.append(error)
    return found


def vocabulary_events(path):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            heft.from_file(path).encode("")
    except heft.Error as error:
        return [error]
    return []


def matches(found, code, offset, text):
    kind = found.severity if isinstance(found, heft.Finding) else found.code
    place = "-" if found.offset is None else f"{found.offset:#x}"
    return kind == code and offset in ("*", "", place) and text in found.text


class Rejected(unittest.TestCase):
    def setUp(self):
        self.addCleanup(os.chdir, os.getcwd())

    def test_all(self):
        checked = lacking = 0
        for folder in sorted(path for path in SAMPLES.iterdir() if (path / "expect.tsv").exists()):
            if folder.name == "digest-list":
                continue
            os.chdir(folder)  # paths in messages are relative
            for name, code, offset, text in rows(folder):
                with self.subTest(f"{folder.name}/{name}"):
                    found = (vocabulary_events if folder.name == "vocab" else events)(name)
                    if any(word in item.text for item in found for word in LACKING):
                        lacking += 1
                        continue
                    checked += 1
                    self.check(found, code, offset, text)
        self.assertGreater(checked, 800)
        print(f"{checked} samples, {lacking} need a module that is not installed ... ", end="")

    def check(self, found, code, offset, text):
        if code == "ok":
            wrong = [item for item in found if getattr(item, "severity", "") == "finding"]
            self.assertEqual(wrong, [])
            return
        right = [item for item in found if matches(item, code, offset, text)]
        self.assertTrue(right, f"expected {code} {offset} {text}, found {found}")
        if code in CLASSES:
            self.assertIsInstance(right[0], CLASSES[code])


if __name__ == "__main__":
    unittest.main()
