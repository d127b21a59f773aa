"""`python -m decost`."""

from decost.cli import main

main()
