"""The converters of transformers' conversion_mapping.py as rules files (rules/converters), which must give the same
bytes as the operations of transformers in both directions. The checks are in converters_peer.py, which runs in the
environment `rules`."""

from common import peer_suite


def run(folder):
    return peer_suite("transformers' converters as rules", "rules", "converters_peer.py", folder)
