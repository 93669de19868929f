"""Bundles that heft writes, beside those of TensorFlow's SaveV2 and MergeV2Checkpoints; restored by
tf.train.Checkpoint and Saver; weights put into SavedModels. The work is done by tf_write_peer.py in the
environment of TensorFlow."""

import os
import pathlib
import subprocess

import environment
from common import HEFT, Suite

PEER = pathlib.Path(__file__).resolve().parent / "tf_write_peer.py"


def run(folder):
    suite = Suite("bundles written, beside TensorFlow's")
    try:
        python = environment.interpreter("tf")
    except environment.Unavailable as reason:
        suite.skip(f"TensorFlow: {reason}")
        return suite
    done = subprocess.run([str(python), str(PEER), str(folder)], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True,
                          env={**os.environ, "HEFT": HEFT, "TF_CPP_MIN_LOG_LEVEL": "3"})
    for line in done.stdout.splitlines():
        word, _, what = line.partition(" ")
        if word in ("pass", "FAIL"):
            suite.check(word == "pass", what)
    suite.equal(done.returncode, 0, f"the peer ran to its end: {done.stderr[-800:]}")
    return suite
