"""Compile all kernels of some methods, with a bar: `python -m decost.cli.prepare METHOD ...`."""

from __future__ import annotations

import sys

from decost.cli.progress import show_preparing

if __name__ == "__main__":
    show_preparing(sys.argv[1:])
