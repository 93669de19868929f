"""Values of GGML's block types, and quantizing to them: blocks_peer.py, in its own environment."""

from common import peer_suite


def run(folder):
    return peer_suite("gguf-py 0.19", "blocks", "blocks_peer.py", folder)
