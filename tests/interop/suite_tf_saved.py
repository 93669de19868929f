"""SavedModels that TensorFlow writes: what heft says of them beside what TensorFlow says. The work is
done by tf_saved_peer.py in the environment of TensorFlow."""

from common import peer_suite


def run(folder):
    return peer_suite("SavedModels, beside TensorFlow and its saved_model_cli", "tf", "tf_saved_peer.py", folder)
