"""Random and mutated safetensors files, opened by heft and by the library (fuzz/differential)."""

import pathlib
import subprocess
import sys

from common import HEFT, ROOT, Suite

COMPARE = ROOT / "fuzz/differential/safetensors_compare.py"
SEEDS = ["tests/golden/safetensors", "tests/reject/safetensors", "fuzz/corpus/safetensors"]


def run(folder):
    suite = Suite("safetensors files opened as the library opens them")
    build = pathlib.Path(HEFT).parent
    for name, words in (("samples", ["--replay", *(str(ROOT / seed) for seed in SEEDS)]),
                        ("random files", ["--seconds", "5", "--seed", "1", "--broken", str(folder)])):
        done = subprocess.run([sys.executable, str(COMPARE), str(build), *words], capture_output=True, text=True,
                              check=False)
        suite.check(done.returncode == 0, name, done.stdout[-800:] + done.stderr[-800:])
    return suite
