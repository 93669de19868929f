"""GGUF as heft writes it, against gguf-py's writer and reader: gguf_write_peer.py, in the environment of the block
types."""

from common import peer_suite


def run(folder):
    return peer_suite("gguf-py 0.19, writing", "blocks", "gguf_write_peer.py", folder)
