"""A real browser for tests of pages: Chromium without a screen."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
DRIVER = shutil.which("chromedriver")

PHONE, DESKTOP = (400, 800), (1280, 900)


def need_browser() -> None:
    """Skip a test where there is no Chromium with its driver, or no selenium."""
    if CHROMIUM is None or DRIVER is None:
        pytest.skip("there is no chromium with chromedriver")
    pytest.importorskip("selenium", reason="there is no selenium")


_idle: list[Any] = []
"""Browsers that nobody uses at the moment: to start one takes longer than most tests."""


@contextmanager
def opened(url: str, size: tuple[int, int], *, dark: bool = False) -> Iterator[Any]:
    """Open a page in an empty browser of this size in pixels; a narrow one is a phone."""
    driver = _idle.pop() if _idle else _start()
    try:
        origin = "{0.scheme}://{0.netloc}".format(urlsplit(url))
        for command, words in (
            ("Network.clearBrowserCookies", {}),
            ("Network.clearBrowserCache", {}),
            ("Storage.clearDataForOrigin", {"origin": origin, "storageTypes": "all"}),
        ):
            driver.execute_cdp_cmd(command, words)
        for kind in ("browser", "performance"):
            driver.get_log(kind)
        width, height = size
        screen = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
        driver.get(url)
        yield driver
        _leave(driver)
    except BaseException:
        driver.quit()
        raise
    _idle.append(driver)


def _start() -> Any:
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    assert CHROMIUM is not None
    assert DRIVER is not None
    options.binary_location = CHROMIUM
    for word in ("headless=new", "no-sandbox", "disable-dev-shm-usage", "hide-scrollbars"):
        options.add_argument(f"--{word}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    return webdriver.Chrome(options=options, service=Service(DRIVER))


def _leave(driver: Any) -> None:
    """Close all tabs but a new one, which knows nothing of what they were told."""
    driver.switch_to.new_window("tab")
    mine = driver.current_window_handle
    for tab in driver.window_handles:
        if tab != mine:
            driver.switch_to.window(tab)
            driver.close()
    driver.switch_to.window(mine)


def end_all() -> None:
    """End the browsers that nobody uses."""
    while _idle:
        _idle.pop().quit()


def requests_of(driver: Any) -> list[str]:
    """List all that the page has asked for since the last call, itself included."""
    events = (json.loads(row["message"])["message"] for row in driver.get_log("performance"))
    sent = (one for one in events if one["method"] == "Network.requestWillBeSent")
    return [one["params"]["request"]["url"] for one in sent]


def complaints_of(driver: Any) -> list[str]:
    """List what the console holds: errors, and what the security policy has blocked."""
    return [row["message"] for row in driver.get_log("browser")]
