"""Spark encodes a column of texts in its workers. Its package is large: only `make check-long` runs this suite."""

import shutil

import common


def run(folder):
    title = "the recipe for Spark, a worker killed"
    if not shutil.which("java"):
        suite = common.Suite(title)
        suite.skip("Spark needs Java: scripts/bootstrap spark installs a JRE")
        return suite
    return common.peer_suite(title, "spark", "spark_peer.py", folder)
