"""Conversions by the presets of --rules, judged by the frameworks on both sides: models made by transformers, timm,
Keras, torch and TensorFlow with random weights, loaded strictly on the other side, outputs compared; bytes compared
after the way back.

rules_tf_peer.py writes the checkpoints of TensorFlow 1, rules_peer.py does the rest in the environment `rules`."""

import environment
from common import Suite, run_peer

PARTS = [("tf", "rules_tf_peer.py"), ("rules", "rules_peer.py")]


def run(folder):
    suite = Suite("presets of --rules, judged by the frameworks")
    for name, program in PARTS:
        try:
            done = run_peer(name, program, folder)
        except environment.Unavailable as reason:
            suite.skip(f"the environment {name} cannot be created: {reason}")
            continue
        for line in done.stdout.splitlines():
            word, _, what = line.partition(" ")
            if word in ("pass", "FAIL"):
                suite.check(word == "pass", what)
        suite.equal(done.returncode, 0, f"{program} ran to its end: {done.stderr[-800:]}")
    return suite
