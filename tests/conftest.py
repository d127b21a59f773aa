"""What all tests share: the methods, the public benchmark data, and hypothesis settings."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

import decost
from browser import end_all
from command_line import Call
from seeds import MORE

# The same examples in every run, so that a failure is one of the change at hand. New ones are drawn
# by `make fuzz`.
_COMMON = {"deadline": None, "suppress_health_check": [HealthCheck.function_scoped_fixture]}
settings.register_profile("steady", derandomize=True, max_examples=25 * MORE, **_COMMON)
settings.register_profile("explore", max_examples=200, **_COMMON)
settings.load_profile("steady")

# In the background, or by nohup, these are ignored, and would be by all that the tests start.
for _name in {"SIGINT", "SIGHUP"} & set(dir(signal)):
    if signal.getsignal(_number := getattr(signal, _name)) is signal.SIG_IGN:
        signal.signal(_number, signal.default_int_handler if _name == "SIGINT" else signal.SIG_DFL)


def pytest_sessionfinish() -> None:
    """End the browsers in which pages were tested."""
    end_all()


@pytest.fixture(params=[method.name for method in decost.list_methods()])
def method(request: pytest.FixtureRequest) -> str:
    """Every method in turn, by its name, with nothing left to compile."""
    return decost.prepare(str(request.param)).name


@pytest.fixture(
    params=[
        method.name
        for method in decost.list_methods()
        if issubclass(method.options, decost.ImprovingOptions)
    ]
)
def improving(request: pytest.FixtureRequest) -> str:
    """Every method that goes on improving its plan, by its name, with nothing left to compile."""
    return decost.prepare(str(request.param)).name


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a test register methods of its own, and forget them after it."""
    monkeypatch.setattr("decost.planner.door._METHODS", dict(decost.planner.door._METHODS))
    monkeypatch.setattr("decost.planner.door._PREPARED", set(decost.planner.door._PREPARED))


@pytest.fixture(scope="session")
def data() -> Path:
    """Folder with the public benchmark files, which lies beside the project."""
    folder = Path(__file__).resolve().parents[1].parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("the benchmark data are not here")
    return folder


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """Call the command line in this process."""
    return Call(monkeypatch, capsys)
