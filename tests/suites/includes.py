"""The table of rooms and the other rules that scripts/check-includes keeps."""
from .common import ROOT, must_succeed

ONLY_PLAIN = True


def jobs(ctx):
    yield "scripts/check-includes", lambda: check(ctx)


def check(ctx):
    must_succeed(ctx, [ROOT / "scripts/check-includes"])
