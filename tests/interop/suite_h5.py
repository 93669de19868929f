"""HDF5 in both directions, and the hub's split for TensorFlow: h5_peer.py, in its own environment."""

from common import peer_suite


def run(folder):
    return peer_suite("h5py, Keras, huggingface_hub 0.36", "h5", "h5_peer.py", folder)
