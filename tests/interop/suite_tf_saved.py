"""SavedModels that TensorFlow writes: what heft says of them beside what TensorFlow says. The work is
done by tf_saved_peer.py in the environment of TensorFlow."""

import os
import pathlib
import subprocess

import environment
from common import HEFT, ROOT, Suite

PEER = pathlib.Path(__file__).resolve().parent / "tf_saved_peer.py"


def run(folder):
    suite = Suite("SavedModels, beside TensorFlow and its saved_model_cli")
    try:
        python = environment.interpreter("tf")
    except environment.Unavailable as reason:
        suite.skip(f"TensorFlow: {reason}")
        return suite
    done = subprocess.run([str(python), str(PEER), str(folder)], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True,
                          env={**os.environ, "HEFT": HEFT, "HEFT_ROOT": str(ROOT),
                               "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""})
    for line in done.stdout.splitlines():
        word, _, what = line.partition(" ")
        if word in ("pass", "FAIL"):
            suite.check(word == "pass", what)
    suite.equal(done.returncode, 0, f"the peer ran to its end: {done.stderr[-800:]}")
    return suite
