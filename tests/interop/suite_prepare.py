"""Normalization and added tokens: the tables of the library and the expected results of its unit tests (test_nfc.c,
test_added_stage.c, test_word_chars.c), made once more with the tokenizers library."""

import subprocess
import sys

from common import ROOT, Suite

TESTS = ROOT / "tests" / "unit"


def run(folder):
    suite = Suite("tables and expected results of normalization and added tokens")
    for script in ("unicode-nfc", "unicode-words"):
        done = subprocess.run([sys.executable, ROOT / "scripts" / script, "--check"], capture_output=True, text=True)
        suite.equal((done.returncode, done.stderr), (0, ""), f"{script} --check")
        suite.check("\ntokenizers" in done.stdout or script == "unicode-words", "the library was asked", done.stdout)
    for name in ("nfc", "added"):
        made = folder / f"{name}_with.inc"
        # stderr has what the library says where it panics
        done = subprocess.run([sys.executable, TESTS / f"{name}_with.py", made], capture_output=True, text=True)
        suite.check(done.returncode == 0, f"{name}_with.py", done.stderr[-300:])
        suite.check(made.read_bytes() == (TESTS / made.name).read_bytes(), f"{made.name} is what the library makes")
    return suite
