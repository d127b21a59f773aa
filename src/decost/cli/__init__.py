"""The command line: a file a command, each of which parses, calls and prints."""

from decost.cli.program import app, main

__all__ = ["app", "main"]
