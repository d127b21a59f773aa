"""Run pytest, and the few tests that fail once more, alone: `again.py WORDS`, words of pytest.

Some tests hold what takes time: a limit that is kept, a page that answers. On a machine that others
use one of those may fail though nothing is wrong. What fails twice has failed; what did not is
named. A crash, or a file that cannot be read, is never tried again.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

MOST = 5
"""Failures that may be bad luck; more are no coincidence."""


class Failures:
    """Notes which tests have failed, and whether that is all."""

    def __init__(self) -> None:
        self.tests: dict[str, None] = {}
        self.others = False

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Hear of a step of a test; a worker's crash comes as a step of no known name."""
        if report.failed:
            self.tests[report.nodeid] = None
            self.others |= report.when not in ("setup", "call", "teardown")

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Hear of a file."""
        self.others |= report.failed


if __name__ == "__main__":
    failures = Failures()
    code = pytest.main(sys.argv[1:], plugins=[failures])
    tests = list(failures.tests)
    if code == pytest.ExitCode.TESTS_FAILED and 0 < len(tests) <= MOST and not failures.others:
        print("\nFailed, and once more alone:", *tests, sep="\n  ", flush=True)
        code = subprocess.run([sys.executable, "-m", "pytest", *tests]).returncode
        if code == 0:
            print("\nPASSED ONLY THE SECOND TIME:", *tests, sep="\n  ")
    sys.exit(code)
