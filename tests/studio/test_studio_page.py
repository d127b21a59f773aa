"""Tests of the page in a real browser: all that a user does, at phone and desktop width."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from running import Service, running

import decost
from browser import DESKTOP, PHONE, complaints_of, need_browser, opened, requests_of
from conftest import EXAMPLES
from decost.files.instances import instance_dict, instance_of
from decost.planner.orders import first_break, stop_numbers

SHOTS = os.environ.get("DECOST_SHOTS")
"""A folder for screenshots, to look at."""


measured = pytest.mark.skipif(
    not os.environ.get("DECOST_MEASURE"), reason="is measured if DECOST_MEASURE is set"
)


class Page:
    """The studio in a browser, as a user handles it."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def do(self, script: str, *given: Any) -> Any:
        """Run JavaScript in the page."""
        return self.driver.execute_script(script, *given)

    def wait(self, script: str, seconds: float = 200.0) -> Any:
        """Wait until an expression is true; while the page is redrawn, it may fail as well."""
        from selenium.common.exceptions import JavascriptException

        end = time.monotonic() + seconds
        while time.monotonic() < end:
            with contextlib.suppress(JavascriptException):
                if found := self.do(f"return {script}"):
                    return found
            time.sleep(0.03)
        self.shot("timeout")
        raise AssertionError(f"{script}: {complaints_of(self.driver)}; {self.text('.says')}")

    def wait_in_lane(self, lane: int, label: str) -> None:
        """Wait until a visit is in a lane."""
        self.wait(
            f"document.querySelectorAll('.board g.lane')[{lane}]?"
            f".querySelector(`.bar[data-label='{label}']`)"
        )

    def wait_kept(self, *words: str) -> None:
        """Wait until the draft that the browser keeps of this tab has these words."""
        script = (
            "const done = arguments[0]; const open = indexedDB.open('decost');"
            "open.onsuccess = () => {"
            "const drafts = open.result.transaction('drafts').objectStore('drafts');"
            "drafts.get(sessionStorage.getItem('tab')).onsuccess = (event) => {"
            "open.result.close(); done(JSON.stringify(event.target.result ?? null)); }; }"
        )
        end = time.monotonic() + 200
        while time.monotonic() < end:
            kept = self.driver.execute_async_script(script)
            if all(word in kept for word in words):
                return
            time.sleep(0.03)
        raise AssertionError(f"{words}: not in {kept}")

    def text(self, selector: str) -> str:
        """Read an element."""
        return str(
            self.do("return document.querySelector(arguments[0])?.innerText ?? ''", selector)
        )

    def click(self, selector: str) -> None:
        """Click on an element."""
        self.driver.find_element("css selector", selector).click()

    def button(self, name: str) -> None:
        """Press the button of a name."""
        self.wait(
            f"document.querySelector('[aria-label=\"{name}\"]:not([disabled]):not([hidden])')"
        )
        self.do('document.querySelector(`[aria-label="${arguments[0]}"]`).click()', name)

    def drop_file(self, name: str, content: bytes) -> None:
        """Drop a file on the page."""
        self.do(
            "const given = new DataTransfer();"
            "given.items.add(new File([new Uint8Array(arguments[1])], arguments[0]));"
            "dispatchEvent(new DragEvent('drop', {dataTransfer: given, cancelable: true}))",
            name,
            list(content),
        )

    def bars(self) -> list[list[str]]:
        """List the visits of each lane."""
        self.wait("document.querySelector('.board g.lane')")  # it may be redrawn just now
        found: list[list[str]] = self.do(
            "return [...document.querySelectorAll('.board g.lane')].map((lane) => "
            "[...lane.querySelectorAll('.bar')].map((bar) => bar.dataset.label))"
        )
        return found

    def profit(self) -> float:
        """Read the profit."""
        return float(self.text(".facts dd").replace(",", ""))

    def solve(self, seconds: float = 2.0) -> None:
        """Solve, and wait for the plan."""
        self.do("delete document.body.dataset.solved")
        self.do("document.getElementById('seconds').value = arguments[0]", seconds)
        self.click("button.primary")
        self.wait("document.body.dataset.solved")

    def drag(self, label: str, to: tuple[float, float], steps: int = 4) -> None:
        """Drag a visit with the mouse to a place of the window."""
        from selenium.webdriver.common.action_chains import ActionChains

        x, y = self.place(label)
        mouse = ActionChains(self.driver, duration=20)
        mouse.w3c_actions.pointer_action.move_to_location(int(x), int(y))
        mouse.w3c_actions.pointer_action.pointer_down()
        for k in range(1, steps + 1):
            at = (x + (to[0] - x) * k / steps, y + (to[1] - y) * k / steps)
            mouse.w3c_actions.pointer_action.move_to_location(int(at[0]), int(at[1]))
        mouse.w3c_actions.pointer_action.pointer_up()
        mouse.perform()

    def place(self, label: str) -> tuple[float, float]:
        """Find a visit in the window."""
        box = self.do(
            "const bar = document.querySelector(`.board .bar[data-label='${arguments[0]}'] .stay`);"
            "bar.scrollIntoView({block: 'center', inline: 'center'});"
            "const box = bar.getBoundingClientRect(); "
            "return [box.left + box.width / 2, box.top + box.height / 2]",
            label,
        )
        return box[0], box[1]

    def key(self, label: str, name: str) -> None:
        """Press a key on a visit."""
        self.wait(f"document.querySelector(`.board .bar[data-label='{label}']`)")
        self.do(
            "const bar = document.querySelector(`.board .bar[data-label='${arguments[0]}']`);"
            "bar.focus();"
            "bar.dispatchEvent(new KeyboardEvent('keydown', {key: arguments[1], bubbles: true}))",
            label,
            name,
        )

    def shot(self, name: str) -> None:
        """Keep a screenshot, if somebody wants to look."""
        if SHOTS:
            Path(SHOTS).mkdir(exist_ok=True)
            self.driver.save_screenshot(str(Path(SHOTS) / f"{name}.png"))


def visit(driver: Any, service: Service) -> Page:
    """Wait for the page."""
    page = Page(driver)
    page.wait("document.body.dataset.ready")
    return page


@pytest.fixture(scope="module")
def desktop(service: Service) -> Iterator[Page]:
    """Open the page in a wide window, once; tests begin with an example."""
    need_browser()
    with opened(service.address, DESKTOP) as driver:
        yield visit(driver, service)


@pytest.fixture(scope="module")
def best(guides: dict[str, Any]) -> decost.Result:
    """Solve the example without a service."""
    return decost.solve(instance_of("guides", guides), time_limit=5)


@pytest.fixture
def page(desktop: Page, guides: dict[str, Any], best: decost.Result) -> Iterator[Page]:
    """Give the page with a plan; nobody else is asked, and nothing is complained of."""
    desktop.drop_file("guides.json", json.dumps(guides).encode())
    desktop.wait("!document.querySelector('.board .bar') && document.querySelector('.board')")
    desktop.drop_file("plan.json", json.dumps(best.to_dict()).encode())
    desktop.wait("document.querySelector('.board .bar')")
    requests_of(desktop.driver)
    yield desktop
    asked = [one for one in requests_of(desktop.driver) if not one.startswith(("blob:", "data:"))]
    own = desktop.do("return location.origin")
    assert all(one.startswith(own) for one in asked), asked
    assert not [one for one in complaints_of(desktop.driver) if "status of 4" not in one]


def test_solves_and_links(page: Page, best: decost.Result) -> None:
    """The plan shown earns what the planner earns; pointing at a visit marks it on the map."""
    page.solve()
    assert page.profit() == pytest.approx(best.profit, rel=1e-3)
    assert "It is proven" in page.text(".verdict") or "This is proven" in page.text(".verdict")
    page.do(
        "const bar = document.querySelector(`.board .bar[data-label='castle']`);"
        "bar.dispatchEvent(new PointerEvent('pointerenter', {pointerType: 'mouse'}))"
    )
    assert page.do("return document.querySelectorAll('#map .stop.on').length") == 1
    assert "castle" in page.text(".tip")
    page.wait("document.querySelector('.left-out .why').innerText.includes('cost')")
    page.shot("solved")


def test_drags_a_visit(page: Page) -> None:
    """A visit dragged to another lane is there with exact stays; undo brings it back."""
    before, profit = page.bars(), page.profit()
    label = "hill park"
    assert label in before[1]
    x, y = page.place(label)
    page.drag(label, (x, y - 40))
    page.wait_in_lane(0, label)
    after = page.bars()
    assert label in after[0]
    assert page.do("return performance.getEntriesByName('drag').length") > 0
    page.shot("dragged")
    page.button("Undo (Ctrl+Z)")
    page.wait_in_lane(1, label)
    assert page.bars() == before
    assert page.profit() == profit
    page.button("Redo (Ctrl+Y)")
    page.wait_in_lane(0, label)
    assert page.bars() == after


def test_drags_along_the_lane(page: Page, guides: dict[str, Any]) -> None:
    """A visit dragged behind the last of its lane is there, with the best stays of that order."""
    first, second, *_ = page.bars()[1]
    last = page.bars()[1][-1]
    x, y = page.place(last)
    page.drag(second, (x + 60, y), steps=6)
    page.wait(
        "[...document.querySelectorAll('.board g.lane')[1].querySelectorAll('.bar')]"
        f".at(-1).dataset.label === '{second}'"
    )
    after = page.bars()
    assert after[1][0] == first
    instance = instance_of("guides", guides)
    broken = page.do("return document.querySelector('.board .bar.broken') !== null")
    numbers = stop_numbers(instance, after)
    assert broken == (first_break(instance, numbers) is not None)
    if not broken:
        best = decost.optimal_stays(instance, numbers, vehicles=range(2)).profit.sum()
        assert page.profit() == pytest.approx(best, rel=1e-3)


def test_drags_out_and_adds(page: Page, guides: dict[str, Any]) -> None:
    """A visit dragged out is left out, and may be added again where it earns most."""
    profit = page.profit()
    label = "hill park"
    x, y = page.place(label)
    page.drag(label, (x, y + 300))
    page.wait(f"!document.querySelector(`.board .bar[data-label='{label}']`)")
    assert page.profit() < profit
    orders = [[one for one in lane if one != label] for lane in page.bars()]
    instance = instance_of("guides", guides)
    alone = decost.solve(instance, "search", iterations=0, start=orders)
    assert page.profit() <= alone.profit * (1 + 1e-3)
    page.button(f"Add {label} where it earns most")
    page.wait(f"document.querySelector(`.board .bar[data-label='{label}']`)")
    assert page.profit() == pytest.approx(profit, rel=1e-3)


def test_broken_orders_are_marked(page: Page) -> None:
    """Keys move a visit; an order that breaks says which visit and why."""
    first = page.bars()[0]
    page.key(first[0], "ArrowRight")
    page.wait(f"document.querySelectorAll('.board .bar')[0]?.dataset.label === '{first[1]}'")
    for place in range(2, len(first)):
        page.key(first[0], "ArrowRight")
        page.wait(
            f"document.querySelectorAll('.board .bar')[{place}].dataset.label === '{first[0]}'"
        )
    page.wait("document.querySelector('.board .bar.broken')")
    assert "cannot be served in time (open until 13:00, and it would be" in page.text(".complaints")
    assert page.text(".facts dd") == "\N{EN DASH}"
    assert page.text(".lane-name.broken")
    assert page.do("return document.getElementById('export').disabled")
    page.shot("broken")
    page.key(first[0], "Delete")
    page.wait("!document.querySelector('.board .bar.broken')")


def test_locks_hold(page: Page, guides: dict[str, Any]) -> None:
    """A locked visit keeps its vehicle when the rest is solved anew."""
    label = "hill park"
    page.key(label, "ArrowUp")
    page.wait_in_lane(0, label)
    page.key(label, "l")
    page.wait("document.querySelector('.board .bar.locked')")
    page.solve()
    assert label in page.bars()[0]
    stops = [
        one | {"vehicles": ["red"], "required": True} if one["id"] == label else one
        for one in guides["stops"]
    ]
    expected = decost.solve(instance_of("guides", guides | {"stops": stops}), time_limit=6)
    assert page.profit() == pytest.approx(expected.profit, rel=1e-3)
    page.shot("locked")


def test_edits_the_table(page: Page) -> None:
    """A cell changes the problem; what is refused is marked and said, and changes nothing."""
    page.do("document.getElementById('tab-tables').click()")
    field = "document.querySelector(`[aria-label='castle: reward']`)"
    change = "arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('change'))"
    before = page.profit()
    page.do(change, page.do(f"return {field}"), "130")
    page.wait(
        f"{field}.value === '130' && "
        f"parseFloat(document.querySelector('.facts dd').innerText) > {before + 50}"
    )
    page.do(change, page.do(f"return {field}"), "much")
    page.wait("document.querySelector('.refusal').innerText")
    assert "reward" in page.text(".refusal")
    page.shot("tables")
    page.button("Undo (Ctrl+Z)")
    page.wait(f"Math.abs(parseFloat(document.querySelector('.facts dd').innerText) - {before}) < 1")
    page.do("document.getElementById('tab-left-out').click()")


def test_typing_goes_on(page: Page) -> None:
    """Who goes on to the next cell while an edit is taken stays there, with what was typed."""
    page.do("document.getElementById('tab-tables').click()")
    page.do(
        "const cell = (name) => document.querySelector(`[aria-label='castle: ${name}']`);"
        "cell('reward').value = '20'; cell('reward').dispatchEvent(new Event('change'));"
        "cell('least stay').focus(); cell('least stay').value = '4'; window.old = cell('reward')"
    )
    page.wait("!window.old.isConnected")
    assert page.do(
        "const now = document.activeElement; return [now.getAttribute('aria-label'), now.value]"
    ) == ["castle: least stay", "4"]
    page.do("document.getElementById('tab-left-out').click()")


def test_loads_and_goes_back(page: Page) -> None:
    """An example or tables take the place of the problem; undo brings that and its plan back."""
    before, profit = page.bars(), page.profit()
    page.do(
        "const list = document.getElementById('examples'); list.value = 'nurses';"
        "list.dispatchEvent(new Event('change'))"
    )
    page.wait("document.title.startsWith('morning round')")
    page.do(
        "const given = new DataTransfer();"
        "for (const [name, text] of arguments[0]) given.items.add(new File([text], name));"
        "dispatchEvent(new DragEvent('drop', {dataTransfer: given, cancelable: true}))",
        [
            (name, (EXAMPLES / name).read_text(encoding="utf-8"))
            for name in ("trento.csv", "trento_guides.csv")
        ],
    )
    tables = decost.read(EXAMPLES / "trento.csv", vehicles=EXAMPLES / "trento_guides.csv")
    page.wait(f"document.querySelectorAll('.board g.lane').length === {tables.vehicles}")
    page.wait(f"document.querySelector('#tab-left-out').innerText.includes('{tables.nodes - 1}')")
    for name in ("morning round", "two guides"):
        page.button("Undo (Ctrl+Z)")
        page.wait(f"document.title.startsWith('{name}')")
    assert (page.bars(), page.profit()) == (before, profit)


def test_a_table_alone(page: Page) -> None:
    """A table of places without one of vehicles is opened, and what was assumed is said."""
    table = (EXAMPLES / "trento.csv").read_text().replace("last entry", "telephone", 1)
    page.drop_file("places.csv", table.encode())
    page.wait("document.querySelector('.says').innerText.includes('no vehicles; assumed: red')")
    assert "columns not read: telephone" in page.text(".says")
    assert page.do("return document.querySelectorAll('.board g.lane').length") == 2
    page.shot("table-alone")


def test_tabs_have_drafts_of_their_own(page: Page) -> None:
    """What is loaded in another tab is not what the first one has after a reload."""
    driver = page.driver
    before, first = page.bars(), driver.current_window_handle
    page.wait_kept('"name":"two guides"', json.dumps(before, separators=(",", ":")))
    address = page.do("return location.origin")
    driver.switch_to.new_window("tab")
    driver.get(address)
    page.wait("document.body.dataset.ready")
    assert page.bars() == before  # a new tab begins with the latest
    page.do(
        "const list = document.getElementById('examples'); list.value = 'drone';"
        "list.dispatchEvent(new Event('change'))"
    )
    page.wait("!document.title.startsWith('two guides')")
    other = driver.title
    page.wait_kept(f'"name":"{other.partition(" ·")[0]}"')
    driver.refresh()
    page.wait("document.body.dataset.ready")
    assert driver.title == other
    driver.close()
    driver.switch_to.window(first)
    driver.refresh()
    page.wait("document.body.dataset.ready")
    assert driver.title.startswith("two guides")
    assert page.bars() == before


NAMED = {"button", "checkbox", "combobox", "textbox", "spinbutton", "tab", "img"}


def test_everything_has_a_name(page: Page) -> None:
    """A screen reader finds a name on all that can be used, on every tab."""
    for tab in ("left-out", "timetables", "tables", "compare"):
        page.do(f"document.getElementById('tab-{tab}').click()")
        nodes = page.driver.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
        used = [one for one in nodes if one.get("role", {}).get("value") in NAMED]
        assert len(used) > 20
        without = [
            one["role"]["value"]
            for one in used
            if not one.get("ignored") and not one.get("name", {}).get("value")
        ]
        assert not without, (tab, without)
    page.do("document.getElementById('tab-left-out').click()")


# The least contrast of texts that are seen, by the formula of WCAG 2.1.
CONTRAST = """
const part = (value) => (value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
const rgba = (colour) => {
  canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
  return [...canvas.getImageData(0, 0, 1, 1).data].map((value) => value / 255);
};
const light = ([r, g, b]) => 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
const behind = (element) => {
  for (let one = element; one; one = one.parentElement) {
    const colour = rgba(getComputedStyle(one).backgroundColor);
    if (colour[3] > 0.99) return colour;
  }
  return [1, 1, 1, 1];
};
const found = [];
for (const element of document.querySelectorAll("body *:not(svg *, option)")) {
  const text = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
  if (!text || element.closest(":disabled, [hidden]") || !element.checkVisibility()) continue;
  const [one, other] = [rgba(getComputedStyle(element).color), behind(element)].map(light);
  const ratio = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
  found.push([ratio, element.className || element.tagName, element.textContent.slice(0, 30)]);
}
return found.sort((one, other) => one[0] - other[0]);
"""


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("size", [PHONE, (1280, 800), (3840, 2160)])
def test_sizes_and_contrast(service: Service, size: tuple[int, int], dark: bool) -> None:
    """From a phone to 4K nothing is wider than the window, and all text can be read."""
    need_browser()
    with opened(service.address, size, dark=dark) as driver:
        page = visit(driver, service)
        page.wait("document.querySelector('.board .lane')")
        for tab in ("left-out", "timetables", "tables", "compare"):
            page.do(f"document.getElementById('tab-{tab}').click()")
            assert page.do("return document.documentElement.scrollWidth") <= size[0]
            (least, *where), *_ = page.do(CONTRAST)
            assert least >= 4.5, (tab, where)
        lane, name = page.do(
            "return ['.board .lane .shift', '.board .lane-name'].map((one) => "
            "document.querySelector(one).getBoundingClientRect()).map((box) => "
            "box.top + box.height / 2)"
        )
        assert lane == pytest.approx(name, abs=1.5)  # names are beside their lanes
        page.shot(f"{size[0]}-{'dark' if dark else 'light'}")


def test_replans(page: Page) -> None:
    """What has begun by now stays; a stop that fell away is not visited any more."""
    before = page.bars()
    page.button("Replan from now")
    page.wait("document.querySelector('dialog[open]')")
    page.do(
        "const [now, drop] = document.querySelectorAll('dialog input');"
        "now.value = '11:00'; drop.value = 'hill park'; delete document.body.dataset.solved;"
        "document.querySelector('dialog form').requestSubmit()"
    )
    page.wait("document.body.dataset.solved")
    after = page.bars()
    assert "hill park" not in [one for lane in after for one in lane]
    assert [lane[0] for lane in after] == [lane[0] for lane in before]


def test_compares(page: Page) -> None:
    """A kept plan is compared with another: what differs is listed, and it can be had again."""
    before, profit = page.bars(), page.profit()
    page.button("Keep this plan to compare with")
    page.key("hill park", "Delete")
    page.wait(
        "document.querySelector('.comparison') && "
        "!document.querySelector(`.board .bar[data-label='hill park']`)"
    )
    assert "hill park" in page.text(".comparison")
    assert "not visited" in page.text(".comparison")
    page.shot("compared")
    page.wait_kept('"kept":[{')
    page.driver.refresh()
    page.wait("document.body.dataset.ready")
    page.do("document.getElementById('tab-compare').click()")
    assert "not visited" in page.text(".comparison")
    page.do("[...document.querySelectorAll('.comparison button')].at(-1).click()")
    page.wait("document.querySelector(`.board .bar[data-label='hill park']`)")
    assert (page.bars(), page.profit()) == (before, profit)
    page.do("document.getElementById('tab-left-out').click()")


@pytest.mark.parametrize(
    ("ending", "begin"),
    [
        ("csv", "vehicle"),
        ("json", "{"),
        ("html", "<!doctype"),
        ("ics", "BEGIN:"),
        ("png", "\x89PNG"),
    ],
)
def test_exports(page: Page, ending: str, begin: str) -> None:
    """Every export is a file that begins as its format does."""
    page.do(
        "window.saved = null;"
        "URL.createObjectURL = (blob) => (blob.arrayBuffer().then((data) => "
        "(window.saved = [...new Uint8Array(data.slice(0, 9))])), 'blob:');"
        "HTMLAnchorElement.prototype.click = () => {};"
        "const list = document.getElementById('export'); list.value = arguments[0];"
        "list.dispatchEvent(new Event('change'))",
        ending,
    )
    if ending == "ics":
        page.wait("document.querySelector('dialog[open]')")
        page.do("document.querySelector('dialog form').requestSubmit()")
    data = bytes(page.wait("window.saved"))
    assert data.decode("latin-1").startswith(begin[:9])


def solving(driver: Any, service: Service) -> Page:
    """Give the page while it solves something that goes on until it is stopped."""
    page = visit(driver, service)
    (many,) = decost.generate("people", nodes=60, seed=2, vehicles=3)
    page.drop_file("many.json", json.dumps(instance_dict(many)).encode())
    page.wait("document.querySelectorAll('.board g.lane').length === 3")
    page.do("document.getElementById('method').value = 'search'")  # others may end with a proof
    page.do("document.getElementById('seconds').value = 600")
    page.click("button.primary")
    told = "document.querySelector('.progress .words')?.innerText.includes('profit')"
    page.wait(told, 600)  # kernels may be compiled first
    return page


def test_goes_on_after_a_reload(service: Service, guides: dict[str, Any]) -> None:
    """A page that is loaded again in the middle of a solve goes on with it; stop keeps the plan."""
    need_browser()
    with opened(service.address, PHONE, dark=True) as driver:
        page = solving(driver, service)
        page.shot("phone-live")
        driver.refresh()
        page.wait("document.body.dataset.ready")
        page.wait("document.querySelector('.board .bar')")
        page.button("Stop, and keep the plan")
        page.wait("document.body.dataset.solved")
        assert page.profit() > 0
        wide = page.do("return document.documentElement.scrollWidth > innerWidth")
        assert not wide
        page.shot("phone-solved")
        assert not complaints_of(driver)


def test_a_plan_that_ends_unseen(service: Service, guides: dict[str, Any]) -> None:
    """A page that is away when its plan ends shows it when it is back; so does another tab."""
    need_browser()
    with opened(service.address, DESKTOP) as driver:
        page = solving(driver, service)
        page.button("Stop, and keep the plan")
        page.wait("document.body.dataset.solved")
        first = page.do("return location.hash")
        page.click("button.primary")
        before = page.wait(f"location.hash !== '{first}' && location.hash")
        page.wait_kept('"awaited":true', before.removeprefix("#plan="))
        address = driver.current_url
        driver.get("about:blank")
        plan = before.removeprefix("#plan=")
        assert service.post(f"/plans/{plan}/stop", {}).is_success
        told = service.result(plan)
        orders = [[str(one["stop"]) for one in route["visits"]] for route in told["routes"]]
        for where in (service.address, address, address):  # the first without the name of the plan
            driver.get(where)
            page.wait("document.body.dataset.ready")
            page.wait("document.querySelector('.verdict').innerText.includes('earns')")
            page.wait("document.querySelector('button.stop').hidden")
            assert driver.current_url == address
            assert page.bars() == orders
            assert page.profit() == pytest.approx(told["profit"], rel=1e-3)
            last = driver.current_window_handle
            driver.switch_to.new_window("tab")
        driver.switch_to.window(last)
        # What is changed by hand is that plan no more; undo leads back to it.
        label = page.bars()[0][0]
        page.key(label, "Delete")
        page.wait("location.hash === ''")
        page.button("Undo (Ctrl+Z)")
        page.wait(f"location.hash === '{before}'")


def test_an_end_that_is_told_again(service: Service) -> None:
    """A page that hears of the end, but cannot get the plan's instance just then, asks again."""
    need_browser()
    with opened(service.address, DESKTOP) as driver:
        page = solving(driver, service)
        driver.execute_cdp_cmd("Network.setBlockedURLs", {"urls": ["*/instance"]})
        page.button("Stop, and keep the plan")
        page.wait("document.querySelector('.progress .words').innerText.includes('again')")
        plan = page.do("return location.hash").removeprefix("#plan=")
        driver.execute_cdp_cmd("Network.setBlockedURLs", {"urls": []})
        page.wait("document.body.dataset.solved")
        assert page.profit() == pytest.approx(service.result(plan)["profit"], rel=1e-3)


def test_a_change_just_before_leaving(page: Page) -> None:
    """What is changed a moment before the page is left is there when it is back."""
    label = "hill park"
    page.key(label, "Delete")
    page.wait(f"!document.querySelector(`.board .bar[data-label='{label}']`)")
    orders = page.bars()
    page.driver.refresh()
    page.wait("document.body.dataset.ready")
    assert page.bars() == orders


def test_many_tabs(service: Service) -> None:
    """More tabs than a browser has connections wait for plans: only one that is seen listens."""
    need_browser()
    (many,) = decost.generate("people", nodes=60, seed=2, vehicles=3)
    plan = service.plan(instance_dict(many), method="search", time_limit=600)
    with opened(f"{service.address}/#plan={plan}", DESKTOP) as driver:
        page = Page(driver)
        for _ in range(8):
            page.wait("document.querySelector('.progress .words')?.innerText.includes('profit')")
            driver.switch_to.new_window("tab")
            driver.get(f"{service.address}/#plan={plan}")
        page.button("Stop, and keep the plan")
        page.wait("document.body.dataset.solved")
        driver.switch_to.window(driver.window_handles[0])
        page.wait("document.body.dataset.solved")


def test_goes_on_after_a_restart(tmp_path: Path) -> None:
    """The service is killed in the middle of a solve and started again: the page goes on."""
    need_browser()
    with running(tmp_path, "--workers", "1") as service:
        port = service.address.rpartition(":")[2]
        with opened(service.address, DESKTOP) as driver:
            page = solving(driver, service)
            service.kill()
            page.wait("document.querySelector('.progress .words').innerText.includes('again')")
            with running(tmp_path, "--workers", "1", "--port", port):
                page.wait("document.querySelector('.progress .words').innerText.includes('profit')")
                page.button("Stop, and keep the plan")
                page.wait("document.body.dataset.solved")
                assert page.profit() > 0


def test_drags_out_of_many_lanes(service: Service) -> None:
    """Where there are more lanes than are seen, a visit can still be dragged out below them."""
    need_browser()
    instance, plan = full_day(80, 40)
    with opened(service.address, DESKTOP) as driver:
        page = visit(driver, service)
        page.drop_file("day.json", json.dumps(instance_dict(instance)).encode())
        page.wait("document.title.startsWith('full day')")
        page.drop_file("plan.json", json.dumps(plan.to_dict()).encode())
        page.wait("document.querySelectorAll('.board .bar').length === 80")
        label = next(one for lane in page.bars()[20:] for one in lane)
        x, _ = page.place(label)
        below = page.do(
            "return document.querySelector('.board .schedule').getBoundingClientRect().bottom"
        )
        scrolled = page.do("return document.querySelector('.board .schedule').scrollTop")
        assert scrolled > 0
        page.drag(label, (x, min(below + 60, 890)))
        page.wait("document.querySelectorAll('.board .bar').length === 79")
        assert label not in [one for lane in page.bars() for one in lane]
        kept = page.do("return document.querySelector('.board .schedule').scrollTop")
        assert kept == pytest.approx(scrolled, abs=150)  # it scrolls at the edge, and no further


def full_day(visits: int, vehicles: int) -> tuple[decost.Instance, decost.Result]:
    """Give a problem and a plan with so many visits."""
    rows = range(vehicles)
    each = visits // vehicles + (visits % vehicles > 0)
    stops = [
        decost.Stop(id=f"stop {k}", x=k % each, y=k // each, rate=1 + k % 7, max_stay=3)
        for k in range(visits)
    ]
    instance = decost.Instance.build(
        name="full day",
        budget=5 * each + 2 * vehicles,
        vehicles=vehicles,
        depot=decost.Place(x=0, y=0),
        stops=stops,
    )
    orders = [
        [f"stop {k}" for k in range(row * each, min(visits, (row + 1) * each))] for row in rows
    ]
    return instance, decost.solve(instance, "search", iterations=0, start=orders)


def cpu_of(driver: Any) -> float:
    """CPU seconds of the page's main thread, which other programs do not lengthen."""
    told = driver.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]
    return float(next(one["value"] for one in told if one["name"] == "TaskDuration"))


@measured
@pytest.mark.parametrize(("visits", "vehicles", "most"), [(60, 2, 50), (500, 8, 200)])
def test_a_drag_is_answered_soon(service: Service, visits: int, vehicles: int, most: float) -> None:
    """From the move of the mouse to the picture it takes no longer than this, in milliseconds."""
    need_browser()
    instance, plan = full_day(visits, vehicles)
    assert len(plan.solution.visits) == visits
    with opened(service.address, DESKTOP) as driver:
        page = visit(driver, service)
        page.drop_file("day.json", json.dumps(instance_dict(instance)).encode())
        page.wait("document.title.startsWith('full day')")
        page.drop_file("plan.json", json.dumps(plan.to_dict()).encode())
        page.wait(f"document.querySelectorAll('.board .bar').length === {visits}")
        page.wait("document.getElementById('panel').innerText.includes('every stop is visited')")
        x, y = page.place("stop 3")
        page.do(
            "const fire = (name, x, y) => document.elementFromPoint(x, y).dispatchEvent("
            "new PointerEvent(name, {clientX: x, clientY: y, bubbles: true, pointerId: 1}));"
            "window.fire = fire; fire('pointerdown', ...arguments)",
            x,
            y,
        )
        driver.execute_cdp_cmd("Performance.enable", {"timeDomain": "threadTicks"})
        before = cpu_of(driver), service.cpu()
        for step in range(1, 25):
            page.do("fire('pointermove', ...arguments)", x + 14 * (step % 12), y + 40 * (step % 2))
            time.sleep(0.12)
        times = page.do("return performance.getEntriesByName('drag').map((one) => one.duration)")
        count = len(times)
        page_cpu, service_cpu = (
            1000 * (now - then) / count
            for now, then in zip((cpu_of(driver), service.cpu()), before, strict=True)
        )
        asked = page.do(
            "return performance.getEntriesByType('resource')"
            ".filter((one) => one.name.endsWith('/scenes'))"
            ".slice(-20).map((one) => one.responseEnd - one.startTime)"
        )
        page.do("fire('pointerup', ...arguments)", x + 5, y)
        page.shot(f"drag-{visits}")
    middle = sorted(times)[len(times) // 2]
    print(
        f"{visits} visits: {len(times)} moves, median {middle:.0f} ms, most {max(times):.0f} ms; "
        f"of it the service {sorted(asked)[len(asked) // 2]:.0f} ms; "
        f"CPU time of a move {page_cpu:.0f} ms in the page, {service_cpu:.0f} ms in the service"
    )
    assert len(times) > 10
    assert middle < most


@measured
def test_first_paint(service: Service) -> None:
    """The page is painted within a second."""
    need_browser()
    with opened(service.address, DESKTOP) as driver:
        visit(driver, service)
        script = "return performance.getEntriesByName('first-contentful-paint')[0].startTime"
        painted = Page(driver).do(script)
    print(f"first paint after {painted:.0f} ms")
    assert painted < 1000


def test_asks_for_a_token(tmp_path: Path) -> None:
    """Where a token is needed the page asks for it, until it is a known one."""
    need_browser()
    token = "token-of-sixteen"
    with (
        running(tmp_path, "--workers", "1", DECOST_TOKEN=token) as service,
        opened(service.address, PHONE) as driver,
    ):
        page = Page(driver)
        for word in ("a guess", token):
            page.wait("document.querySelector('dialog[open] input')")
            page.do(
                "document.querySelector('dialog input').value = arguments[0];"
                "document.querySelector('dialog form').requestSubmit()",
                word,
            )
            if word == "a guess":
                page.wait("document.querySelector('dialog')?.innerText.includes('not known')")
        page.wait("document.body.dataset.ready")
        page.wait("document.querySelectorAll('.board g.lane').length === 2")
        page.shot("token")
