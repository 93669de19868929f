"""HDF5 both ways, and the hub's TensorFlow split: h5_peer.py, inside an environment of its own."""

from common import peer_suite


def run(folder):
    return peer_suite("h5py, Keras, huggingface_hub 0.36", "h5", "h5_peer.py", folder)
