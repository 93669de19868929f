"""For the scripts of tests/reject: samples of one file each, and the lines of expect.tsv."""
import importlib.util
import sys
from pathlib import Path

sys.dont_write_bytecode = True
REJECT = Path(__file__).resolve().parent.parent / "reject"


class Samples:
    """Samples are written to the directory in the script's argument, else to the script's own."""

    def __init__(self, script):
        self.folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(script).resolve().parent
        self.rows = []

    def add(self, name, code, offset, text, data):
        (self.folder / name).write_bytes(data)
        place = offset if isinstance(offset, str) else f"0x{offset:x}"
        self.rows.append(f"{name}\t{code}\t{place}\t{text}")

    def write(self, head):
        (self.folder / "expect.tsv").write_text(head + "\n".join(self.rows) + "\n", encoding="utf-8")


def torch_pieces():
    """Imports tests/reject/torch/make.py, which builds zips and pickles."""
    spec = importlib.util.spec_from_file_location("torch_pieces", REJECT / "torch" / "make.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
