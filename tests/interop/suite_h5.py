"""HDF5 both ways, and the hub's TensorFlow split: h5_peer.py, inside an environment of its own."""

import os
import subprocess

import environment
from common import HEFT, ROOT, Suite


def run(folder):
    suite = Suite("h5py, Keras, huggingface_hub 0.36")
    try:
        python = environment.interpreter("h5")
    except environment.Unavailable as reason:
        suite.skip(f"the environment cannot be made: {reason}")
        return suite
    done = subprocess.run([str(python), str(ROOT / "tests/interop/h5_peer.py"), str(folder)],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          env=os.environ | {"HEFT": os.path.abspath(HEFT)})
    lines = done.stdout.splitlines()
    for line in lines:
        if line == "ok" or line.startswith("FAIL "):
            suite.check(line == "ok", line.removeprefix("FAIL "))
    suite.check(lines[-1:] == ["done"], "the peer came to its end", done.stderr[-1200:])
    return suite
