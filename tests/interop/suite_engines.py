"""Ray and Slurm run heft in parts, and in their workers."""

import common


def run(folder):
    return common.peer_suite("recipes for Ray and Slurm, workers killed", "engines", "ray_peer.py", folder)
