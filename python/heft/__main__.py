"""The command heft: `python -m heft`, and the program `heft` of the package."""

from __future__ import annotations

import sys
from typing import NoReturn


def main() -> NoReturn:
    from heft import _heft

    _heft.command(["heft", *sys.argv[1:]])


if __name__ == "__main__":
    main()
