"""The command heft of the wheel: the same as python -m heft, with its exit codes and signals."""

import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import heft

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(sys.executable).with_name("heft")
EXAMPLE = ROOT / "examples" / "data" / "training.ckpt"


def run(*words, **more):
    return subprocess.run([*map(str, words)], stdin=subprocess.DEVNULL, capture_output=True, text=True, **more)


def heed_interrupts():
    """Shells let the programs that they start in the background ignore SIGINT."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class Command(unittest.TestCase):
    def test_version(self):
        for command in ([PROGRAM], [sys.executable, "-m", "heft"]):
            ran = run(*command, "--version")
            self.assertEqual((ran.returncode, ran.stderr), (0, ""))
            self.assertIn(heft.__version__, ran.stdout)

    def test_output(self):
        ran = run(PROGRAM, "ls", EXAMPLE)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertIn("model.", ran.stdout)

    def test_exit_codes(self):
        self.assertEqual(run(PROGRAM, "scan", EXAMPLE).returncode, 1)
        self.assertEqual(run(PROGRAM, "ls", "/nonexistent").returncode, 2)
        self.assertEqual(run(PROGRAM).returncode, 2)
        self.assertEqual(run(PROGRAM, "count", ROOT / "README.md").returncode, 0)

    def test_convert(self):
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder) / "x.safetensors"
            ran = run(PROGRAM, "convert", EXAMPLE, "--root", "model", "-o", out)
            self.assertEqual(ran.returncode, 0, ran.stderr)
            self.assertGreater(out.stat().st_size, 100)

    def test_closed_pipe(self):
        ran = subprocess.run(f"'{PROGRAM}' explain '{EXAMPLE}' --trace | head -n 1", shell=True, capture_output=True,
                             text=True)
        self.assertEqual(ran.stderr, "")

    def test_interrupt(self):
        """The end is that of a program of C: by the signal, without a traceback."""
        with tempfile.TemporaryDirectory() as folder:
            fifo = os.path.join(folder, "fifo")
            os.mkfifo(fifo)
            with subprocess.Popen([str(PROGRAM), "count", fifo], stderr=subprocess.PIPE,
                                  preexec_fn=heed_interrupts) as child:
                writer = os.open(fifo, os.O_WRONLY)  # it waits until the command reads
                time.sleep(0.1)
                child.send_signal(signal.SIGINT)
                try:
                    _, text = child.communicate(timeout=20)
                finally:
                    child.kill()
                    os.close(writer)
            self.assertNotIn(b"Traceback", text)
            self.assertNotEqual(child.returncode, 0)

    def test_hdf5_is_a_clear_error(self):
        ran = run(PROGRAM, "ls", next((ROOT / "tests" / "golden").rglob("*.h5")),
                  env={**os.environ, "HEFT_MODULES": "/nonexistent"})
        self.assertEqual(ran.returncode, 2)
        self.assertIn("heft_hdf5.so", ran.stderr)
        self.assertIn("HEFT_MODULES", ran.stderr)


if __name__ == "__main__":
    unittest.main()
