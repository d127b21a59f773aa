"""Tests of the report: the page as text, and in a real browser at phone and desktop width."""

from __future__ import annotations

import base64
import json
import re
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import decost
from browser import DESKTOP, PHONE, complaints_of, need_browser, opened, requests_of
from decost import FormatError, Instance, Place, Result, Stop, Vehicle, generate
from decost.method.value import judged
from decost.show.report import MODULES, page_of, write_report
from decost.show.scene import scene_of, verdict

ODD = [
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(2)>",
    '浅草寺 & "q"',
    "מוזיאון",
]


def odd_day() -> Result:
    """Plan a day with names that are markup, or written from right to left; one stop is far."""
    near = [
        Stop(name, lat=46.06 + k / 100, lon=11.12, reward=10, min_stay=20)
        for k, name in enumerate(ODD)
    ]
    must = Stop("far", lat=47.5, lon=11.12, reward=9, required=True)
    instance = Instance.build(
        name="<b>day</b>",
        unit="minutes",
        speed="5 km/h",
        begin="09:00",
        budget="13:00",
        depot=Place(lat=46.07, lon=11.12),
        vehicles=[Vehicle("<i>red</i>")],
        stops=[*near, must],
    )
    return decost.solve(instance, "greedy")


def whole_day(stops: list[Stop]) -> Instance:
    """Give a day on foot among these stops."""
    return Instance.build(
        unit="minutes",
        speed="5 km/h",
        begin="09:00",
        budget="17:00",
        depot=Place(lat=46.07, lon=11.12),
        stops=stops,
    )


def made(path: Path, nodes: int, vehicles: int) -> Path:
    """Write the report of a plan for random people."""
    (instance,) = generate("people", nodes=nodes + 1, vehicles=vehicles, seed=5)
    decost.solve(instance, "greedy").report(path, explain_time=0.3)
    return path


def data_of(page: str) -> Any:
    """Read the data out of a page."""
    found = re.search(r'<script type="application/json" id="scene">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    return json.loads(found[1])


def test_scene_by_hand() -> None:
    """Two stops on a line: all times, profits, ways and reasons as worked out by hand."""
    instance = Instance.build(
        unit="minutes",
        begin="09:00",
        budget="10:00",
        depot=Place(x=0, y=0),
        stops=[
            Stop("museum", x=0, y=10, open="09:20", min_stay=5, reward=3),
            Stop("far", x=0, y=99, reward=1),
        ],
    )
    result = decost.solve(instance)
    scene = scene_of(result, result.explain().to_dict())
    (route,) = scene["routes"]
    assert (route["depart"], route["finish"], route["travel"]) == (550, 575, [10, 10])
    (visit,) = route["visits"]
    assert (visit["arrive"], visit["start"], visit["stay"], visit["leave"]) == (560, 560, 5, 565)
    assert [(place["x"], place["y"]) for place in scene["places"]] == [(0, 0), (0, -10), (0, -99)]
    (far,) = scene["left_out"]
    assert (far["stop"], far["why"]) == (1, "unreachable")
    assert far["words"] == "too far away (10:39 at the earliest, 10:00 at the latest)"
    assert (
        scene["verdict"]
        == "This is proven to be a best plan: none that keeps all rules earns more."
    )


def test_the_bound_in_words() -> None:
    """Each state of knowledge has its own words."""
    result = decost.solve(Instance(budget=2, xy=[[0, 0], [1, 0]], reward=[0, 100]))
    plan = judged(result.instance, result.solution)
    assert (
        verdict(plan) == "This plan earns 100. How much more another one could earn is not known."
    )
    plan = judged(result.instance.replace(reward=[0, 110]), result.solution, bound=110.0)
    assert verdict(plan).endswith("It is proven that none earns more than 110, which is 10% more.")
    assert verdict(plan, broken=True).startswith("This plan breaks rules")
    assert verdict(odd_day()).startswith("0 of 1 required stops are visited. It is proven that no")


def test_names_are_data() -> None:
    """No name of a user ends an element or becomes one, and all of them arrive as they are."""
    result = odd_day()
    page = page_of(result, None, None)
    assert page.count("<script") == page.count("</script>") == 2
    assert "<img" not in page
    assert "<i>red" not in page
    assert [stop["name"] for stop in data_of(page)["stops"]] == [*ODD, "far"]


def test_modules_become_one() -> None:
    """Nothing is imported or exported in the page, and no two modules declare the same name."""
    page = page_of(odd_day(), None, None)
    script = page[page.index('<script type="module">') :]
    assert not re.search(r"^(import|export) ", script, re.MULTILINE)
    names = re.findall(r"^(?:const|let|function|class) (\w+)", script, re.MULTILINE)
    assert len(names) > 50
    assert len(set(names)) == len(names)
    folder = Path(decost.__file__).parent / "show" / "web"
    assert sorted(path.stem for path in folder.glob("*.js")) == sorted(MODULES)


@pytest.mark.parametrize(
    ("tiles", "complaint"),
    [
        ("tiles.example/{z}/{x}/{y}.png", "must be an address with"),
        ("https://tiles.example/{z}/{x}.png", "must be an address with"),
        ("javascript://a/{z}/{x}/{y}", "must be an address with"),
        ("https://a;script-src *//{z}/{x}/{y}", "must be an address with"),
        ("https://[/{z}/{x}/{y}", "must be an address with"),
    ],
)
def test_bad_tiles(tmp_path: Path, tiles: str, complaint: str) -> None:
    """What is no address of tiles is refused before anything is written."""
    with pytest.raises(FormatError, match=complaint):
        write_report(odd_day(), tmp_path / "plan.html", tiles=tiles)
    assert not list(tmp_path.iterdir())


def test_bad_reports(tmp_path: Path) -> None:
    """A report ends in .html, and tiles need degrees."""
    with pytest.raises(FormatError, match=r"plan.pdf: a report must end in .html"):
        odd_day().report(tmp_path / "plan.pdf")
    flat = decost.solve(Instance(budget=2, xy=[[0, 0], [1, 0]], reward=[0, 1]))
    with pytest.raises(FormatError, match="are for places with lat and lon"):
        flat.report(tmp_path / "plan.html", tiles="https://tiles.example/{z}/{x}/{y}.png")


@pytest.mark.parametrize(("nodes", "vehicles"), [(5, 1), (60, 4), (500, 12)])
def test_page_in_a_browser(tmp_path: Path, nodes: int, vehicles: int) -> None:
    """On a phone and a desktop all is drawn, nothing overflows, complains or leaves the page."""
    need_browser()
    path = made(tmp_path / "plan.html", nodes, vehicles)
    scene = data_of(path.read_text(encoding="utf-8"))
    visits = sum(len(route["visits"]) for route in scene["routes"])
    for size in (PHONE, DESKTOP):
        with opened(path.as_uri(), size, dark=size == PHONE) as driver:

            def count(selector: str, driver: Any = driver) -> int:
                return len(driver.find_elements("css selector", selector))

            assert count("tr.visit") == count(".bar") == count(".stop.routed") == visits > 0
            assert count(".stop") == nodes
            assert count(".left-out li") == min(nodes - visits, 24)
            assert driver.execute_script("return document.documentElement.scrollWidth") == size[0]
            boxes = """return [".controls", ".label"].map((one) =>
                [...document.querySelectorAll(one)].map((found) => found.getBoundingClientRect())
                .map((box) => [box.left, box.top, box.right, box.bottom]))"""
            ((left, _, _, bottom),), labels = driver.execute_script(boxes)
            assert labels
            assert all(label[2] <= left or label[1] >= bottom for label in labels), "is covered"
            for card in driver.find_elements("css selector", ".card"):
                script = """return [...arguments[0].querySelectorAll("td.profit")].map((one) =>
                    one.firstChild.data)"""
                digits = {len(one.partition(".")[2]) for one in driver.execute_script(script, card)}
                assert len(digits) == 1, "numbers below each other"
            assert complaints_of(driver) == []
            assert requests_of(driver) == [path.as_uri()]


def test_hover_and_zoom(tmp_path: Path) -> None:
    """Pointing at a visit marks it everywhere and tells of it; the map is enlarged and moved."""
    need_browser()
    from selenium.webdriver.common.action_chains import ActionChains

    path = made(tmp_path / "plan.html", 60, 4)
    with opened(path.as_uri(), DESKTOP) as driver:
        row = driver.find_element("css selector", "tr.visit")
        name = row.find_element("css selector", ".what bdi").text
        driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", row)
        ActionChains(driver).move_to_element(row).perform()
        tip = driver.find_element("css selector", ".tip")
        assert tip.is_displayed()
        assert name in tip.text
        for selector in (".stop.on", ".bar.on", "tr.visit.on"):
            assert len(driver.find_elements("css selector", selector)) == 1

        def places() -> list[complex]:
            script = """return [...document.querySelectorAll(".stop.routed")].map(
                (one) => one.getAttribute("transform").match(/[-\\d.]+/g).map(Number))"""
            return [complex(x, y) for x, y in driver.execute_script(script)]

        before = places()
        driver.execute_script("document.querySelector('.map-box').scrollIntoView()")
        driver.find_element("css selector", ".controls button").click()
        larger = places()
        assert abs(larger[0] - larger[1]) == pytest.approx(
            1.6 * abs(before[0] - before[1]), abs=0.5
        )
        box = driver.find_element("css selector", ".map-box")
        corner = (-box.rect["width"] // 2 + 30, box.rect["height"] // 2 - 60)
        actions = ActionChains(driver).move_to_element_with_offset(box, *map(int, corner))
        actions.click_and_hold().move_by_offset(40, -30).release().perform()
        assert places()[0] - larger[0] == pytest.approx(40 - 30j, abs=1.5)
        assert complaints_of(driver) == []
        assert requests_of(driver) == [path.as_uri()]


def test_odd_names_in_a_browser(tmp_path: Path) -> None:
    """Names that are markup are shown as they are, and run nothing."""
    need_browser()
    path = tmp_path / "plan.html"
    result = odd_day()
    result.report(path, explain_time=0.3)
    with opened(path.as_uri(), PHONE) as driver:
        text = driver.find_element("css selector", "main").text
        assert all(name in text for name in [*ODD, "<i>red</i>", "<b>day</b>"])
        assert "Required, but not visited: far" in text
        assert complaints_of(driver) == []
        assert requests_of(driver) == [path.as_uri()]


def test_long_words_in_a_browser(tmp_path: Path) -> None:
    """On a phone a name with a long word stays in one line; a longer one is broken at a hyphen."""
    need_browser()
    names = ["Museum Naturwissenschaften", "Schauinslandbergbahnaussichtsturmterrasse"]
    stops = [
        Stop(name, lat=46.07 + k / 100, lon=11.12, reward=10, min_stay=95)
        for k, name in enumerate(names)
    ]
    decost.solve(whole_day(stops), "greedy").report(tmp_path / "plan.html")
    with opened((tmp_path / "plan.html").as_uri(), PHONE) as driver:
        lines = driver.execute_script(
            "return Object.fromEntries([...document.querySelectorAll('.what bdi')].map((name) => {"
            "const lines = new Map(); const text = name.firstChild; const range = new Range();"
            "for (let k = 0; k < text.length; k++) {"
            "range.setStart(text, k); range.setEnd(text, k + 1);"
            "const box = [...range.getClientRects()].at(-1); const top = Math.round(box?.top);"
            "if (box?.width) lines.set(top, (lines.get(top) ?? '') + text.data[k]); }"
            "return [text.data.replaceAll('\u00ad', ''), [...lines.values()]]; }))"
        )
        assert len(lines[names[0]]) == 1
        first, second = lines[names[1]]
        assert first.endswith("\N{SOFT HYPHEN}")  # drawn only at the end of a line
        assert len(second) > 3
        assert driver.execute_script("return document.documentElement.scrollWidth") == PHONE[0]


def test_tiles_are_all_that_is_asked_for(tmp_path: Path) -> None:
    """With an address for tiles the page asks that server alone, for the tiles of its places."""
    need_browser()
    path = tmp_path / "plan.html"
    odd_day().report(path, explain_time=0.0, tiles="http://127.0.0.1:9/{z}/{x}/{y}.png")
    with opened(path.as_uri(), DESKTOP) as driver:
        driver.execute_async_script("setTimeout(arguments[0], 400)")
        asked = [url for url in requests_of(driver) if url != path.as_uri()]
        assert asked
        for url in asked:
            found = re.fullmatch(r"http://127\.0\.0\.1:9/(\d+)/(\d+)/(\d+)\.png", url)
            assert found is not None, url
            level, x, _ = map(int, found.groups())
            # 11.12 degrees east is 0.5309 of the way round from the 180th meridian; near it
            assert abs((x + 0.5) / 2**level - (11.12 / 360 + 0.5)) < 4 / 2**level + 0.001


def test_print(tmp_path: Path) -> None:
    """On paper there is an overview, a page for each vehicle, and one for what was left out."""
    need_browser()
    path = made(tmp_path / "plan.html", 30, 3)
    scene = data_of(path.read_text(encoding="utf-8"))
    with opened(path.as_uri(), DESKTOP) as driver:
        paper = driver.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})
    pdf = base64.b64decode(paper["data"])
    packed = re.findall(rb"stream\r?\n(.*?)endstream", pdf, re.DOTALL)
    whole = pdf + b"".join(_inflated(part) for part in packed)
    pages = len(re.findall(rb"/Type\s*/Page\b", whole))
    moving = sum(route["moves"] for route in scene["routes"])
    assert pages == moving + 2


def _inflated(part: bytes) -> bytes:
    try:
        return zlib.decompressobj().decompress(part)
    except zlib.error:
        return b""


def test_ways_along_streets_in_a_browser(tmp_path: Path) -> None:
    """Ways are drawn point by point, all of them in view, and nothing is asked for."""
    need_browser()
    instance = whole_day([Stop("castle", lat=46.08, lon=11.13, reward=10)])
    result = decost.solve(instance, "greedy")
    far = [[11.12, 46.07], [11.2, 46.07], [11.2, 46.08], [11.13, 46.08]]
    ways = [[np.array(far), np.array(far[::-1])]]
    write_report(result, tmp_path / "a.html", ways=ways)
    with opened((tmp_path / "a.html").as_uri(), DESKTOP) as driver:
        line = driver.execute_script("return document.querySelector('.leg').getAttribute('d')")
        points = [tuple(map(float, point.split())) for point in line[1:].split("L")]
        width = driver.execute_script("return document.querySelector('.map-box').clientWidth")
        assert len(points) == 8
        assert points[0] == points[-1]
        assert points[1][1] == points[0][1] > points[2][1] == points[3][1]
        assert all(0 < x < width for x, _ in points)
        assert "Ways are along the streets." in driver.find_element("tag name", "main").text
        assert complaints_of(driver) == []
        assert requests_of(driver) == [(tmp_path / "a.html").as_uri()]
