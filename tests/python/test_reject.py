"""Every sample of tests/reject through Python: the exception's class, code, offset and text, and no crash."""

import functools
import gc
import hashlib
import os
import pathlib
import time
import unittest
import warnings

import heft

SAMPLES = pathlib.Path(__file__).resolve().parents[1] / "reject"
CLASSES = {"malformed": heft.MalformedError, "unsupported": heft.UnsupportedError, "limit": heft.LimitError,
           "unsafe": heft.UnsafeError, "mismatch": heft.MismatchError, "io": heft.IoError, "usage": heft.UsageError}
LACKING = ("heft_hdf5.so", "heft_snappy.so")  # modules that are not installed


def folders():
    """Directories of samples that Python opens."""
    return sorted(path for path in SAMPLES.iterdir() if (path / "expect.tsv").exists() and path.name != "digest-list")


def rows(folder):
    for line in (folder / "expect.tsv").read_text(encoding="utf-8").split("\n"):
        if line and not line.startswith("#"):
            yield ([*line.split("\t"), "*", ""] + [""])[:4] if line.count("\t") < 3 else line.split("\t")[:4]


def event(error):
    return error.code, error.offset, error.text


def touch(tensor):
    """Reads all bytes of a tensor, and writes to them."""
    memory = tensor._memory()[0]
    sum(memory.tobytes())
    if memory.nbytes:
        memory[-1] ^= 1


def events(path):
    """What is wrong with a checkpoint: of opening it, reading each tensor, also by views, statistics, verify."""
    try:
        checkpoint = heft.open(path, mmap=False)
        views = heft.open(path)
    except heft.Error as error:
        return [error]
    found = []
    for call in [*(tensor.raw for tensor in checkpoint.values()), lambda: heft.stats(checkpoint),
                 *(functools.partial(touch, tensor) for tensor in views.values()),
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


def rules_events(path):
    """What is wrong with a rules file: applied to a checkpoint, and backwards."""
    checkpoint, found = heft.open(SAMPLES.parent / "golden/safetensors/dtypes.safetensors"), []
    for reverse in (False, True):
        try:
            checkpoint.ruled(path, reverse=reverse)
        except heft.Error as error:
            found.append(error)
    return found


def events_of(folder):
    return {"vocab": vocabulary_events, "rules": rules_events}.get(folder.name, events)


def glance(path):
    """Opens a checkpoint, and reads its tensors by views."""
    try:
        for tensor in heft.open(path).values():
            touch(tensor)
    except heft.Error:
        pass


def matches(found, code, offset, text):
    kind = found.severity if isinstance(found, heft.Finding) else found.code
    place = "-" if found.offset is None else f"{found.offset:#x}"
    return kind == code and offset in ("*", "", place) and text in found.text


def digest_of(folder):
    """SHA-256 of all files of a directory."""
    total = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()):
        total.update(path.read_bytes())
    return total.hexdigest()


def resident():
    return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Rejected(unittest.TestCase):
    def setUp(self):
        self.addCleanup(os.chdir, os.getcwd())
        before = digest_of(SAMPLES)
        self.addCleanup(lambda: self.assertEqual(digest_of(SAMPLES), before, "a sample has changed"))

    def test_all(self):
        checked = lacking = 0
        for folder in folders():
            os.chdir(folder)  # paths in messages are relative
            for name, code, offset, text in rows(folder):
                with self.subTest(f"{folder.name}/{name}"):
                    found = events_of(folder)(name)
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


@unittest.skipUnless(os.environ.get("HEFT_TEST_LONG"), "takes ten minutes: tests/python/run --long")
class Rounds(unittest.TestCase):
    """Memory over 10 000 rounds of the rejected files: HEFT_TEST_LONG is the number of rounds.

    Every two hundredth round does everything with each file, the others open it, and read its tensors; the few files
    that take more than 1 ms of processor time are left to the former.
    """

    def setUp(self):
        self.addCleanup(os.chdir, os.getcwd())

    def full_round(self):
        slow = set()
        for folder in folders():
            os.chdir(folder)
            for name, *_ in rows(folder):
                events_of(folder)(name)
                start = time.process_time()
                glance(name)
                if time.process_time() - start > 0.001:
                    slow.add((folder, name))
        return slow

    def test_memory_stays(self):
        count, sizes = int(os.environ["HEFT_TEST_LONG"]), []
        files = [(folder, {name for name, *_ in rows(folder)}) for folder in folders() if folder.name not in ("vocab", "rules")]
        for number in range(count):
            if number % 200 == 0:
                slow = self.full_round()
                gc.collect()
                sizes.append(resident())
            for folder, names in files:
                os.chdir(folder)
                for name in names:
                    if (folder, name) not in slow:
                        glance(name)
        gc.collect()
        sizes.append(resident())
        told = " ".join(f"{size / (1 << 20):.1f}" for size in sizes[::max(1, len(sizes) // 10)])
        print(f"{sum(len(names) for _, names in files)} files, {count} rounds; resident MiB: {told} ... ", end="")
        self.assertLess(sizes[-1] - sizes[len(sizes) // 5], 4 << 20, told)


if __name__ == "__main__":
    unittest.main()
