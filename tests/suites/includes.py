"""Runs scripts/check-includes: allowed includes of directories, and limits of sizes and names."""
from .common import ROOT, must_succeed

ONLY_PLAIN = True


def jobs(ctx):
    yield "scripts/check-includes", lambda: check(ctx)


def check(ctx):
    must_succeed(ctx, [ROOT / "scripts/check-includes"])
