"""GGUF as heft reads it, against gguf-py's reader: gguf_peer.py, in the environment of the block types."""

from common import peer_suite


def run(folder):
    return peer_suite("gguf-py 0.19, reading", "blocks", "gguf_peer.py", folder)
