"""Bundles written by heft, compared with those of TensorFlow's SaveV2 and MergeV2Checkpoints; restored
by tf.train.Checkpoint and Saver; weights put into SavedModels. The checks are in tf_write_peer.py, which
runs in the environment of TensorFlow."""

from common import peer_suite


def run(folder):
    return peer_suite("bundles written, beside TensorFlow's", "tf", "tf_write_peer.py", folder)
