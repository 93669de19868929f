"""SavedModels written by TensorFlow: heft's description, compared with TensorFlow's. The checks are in
tf_saved_peer.py, which runs in the environment of TensorFlow."""

from common import peer_suite


def run(folder):
    return peer_suite("SavedModels, beside TensorFlow and its saved_model_cli", "tf", "tf_saved_peer.py", folder)
