"""The command `decost`, and `python -m decost`."""

import os
import sys


def main() -> None:
    """Run the command line; Ctrl-C is heeded from the first import on."""
    try:
        from decost.cli import main as run

        run()
    except KeyboardInterrupt:
        sys.stderr.write("decost: interrupted\n")
        os._exit(130)


if __name__ == "__main__":
    main()
