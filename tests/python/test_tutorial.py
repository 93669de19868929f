"""Runs the blocks of python/TUTORIAL.md in order, and compares what they print."""

import contextlib
import importlib.util
import io
import os
import pathlib
import re
import tempfile
import unittest

TUTORIAL = pathlib.Path(__file__).resolve().parents[2] / "python" / "TUTORIAL.md"
BLOCK = re.compile(r"^```python\n(.*?)^```\n```output\n(.*?)^```$", re.M | re.S)


@unittest.skipUnless(all(importlib.util.find_spec(name) for name in ("torch", "numpy")), "needs torch and numpy")
class Tutorial(unittest.TestCase):
    def test_blocks(self):
        text = TUTORIAL.read_text(encoding="utf-8")
        blocks = BLOCK.findall(text)
        self.assertEqual(len(blocks), text.count("```python"), "a block without its output")
        before, names = os.getcwd(), {}
        self.addCleanup(os.chdir, before)
        os.chdir(self.enterContext(tempfile.TemporaryDirectory()))
        for code, wanted in blocks:
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile(code, TUTORIAL.name, "exec"), names)
            self.assertEqual(printed.getvalue(), wanted, code)
        os.chdir(before)


if __name__ == "__main__":
    unittest.main()
