"""Tests of streets: against a real Valhalla, its recorded answers, and servers that fail."""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import numpy as np
import pytest
from loopback import replaying, serving
from town import ALONG, ISLAND, SIDE, crossing, need_valhalla, real_valhalla

import decost
from command_line import Call
from decost import FormatError, Instance, Place, Stop, Streets, Vehicle
from decost.streets import asking, engines

ANSWERS = Path(__file__).parent / "answers.json"
DATA = Path(__file__).parents[2] / "examples" / "data"
NAMES = ("here", "there")


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """Call the command line in this process."""
    return Call(monkeypatch, capsys)


@pytest.fixture
def valhalla() -> Iterator[str]:
    """Address of a server with the answers of a real Valhalla."""
    with replaying(ANSWERS) as url:
        yield url


def trento(url: str, profile: str = "pedestrian", **options: Any) -> tuple[Streets, Instance]:
    """Read the example of Trento with streets."""
    streets = Streets(f"valhalla:{url}", profile, **options)
    vehicles = DATA / "trento_guides.csv"
    return streets, decost.read(DATA / "trento.csv", vehicles=vehicles, travel=streets)


def two_profiles(url: str) -> Instance:
    """Two vehicles that move in their own ways, one of them from a place that has no name."""
    lat, lon = crossing(3, 4)
    return Instance.build(
        unit="minutes",
        begin="09:00",
        budget="17:00",
        depot=Place(lat=lat, lon=lon),
        vehicles=[
            Vehicle("a", speed="4 km/h"),
            Vehicle("b", profile="auto", start=Place(lat=lat + 3 * ALONG, lon=lon)),
        ],
        stops=[Stop("s", lat=crossing(9, 9)[0], lon=crossing(9, 9)[1], reward=1)],
        travel=Streets(f"valhalla:{url}", "pedestrian"),
    )


def points(*places: tuple[float, float]) -> Any:
    """Give latitudes and longitudes of crossings as points."""
    return np.array([(lon, lat) for lat, lon in (crossing(*place) for place in places)])


def questions(url: str) -> None:
    """Ask all that is asked of recorded answers."""
    streets, instance = trento(url)
    streets.ways(instance, decost.solve(instance, "greedy").solution)
    two_profiles(url)


def test_recorded_answers_are_real() -> None:
    """What is replayed is what a real Valhalla answers."""
    need_valhalla()
    from record import record

    found = json.loads(json.dumps(record(questions)))
    assert found == json.loads(ANSWERS.read_text(encoding="utf-8"))


def test_times_of_a_real_valhalla(tmp_path: Path) -> None:
    """Along a grid one walks as far as east and north together, at 5.1 km/h, in blocks or not."""
    places = [(k, (7 * k) % SIDE) for k in range(SIDE)] + [(k, 5) for k in range(SIDE)]
    where = points(*places)
    with real_valhalla(tmp_path, pairs=150) as url:
        streets = Streets(f"valhalla:{url}", "pedestrian")
        times = streets.times(where, [str(place) for place in places])
        width = math.cos(math.radians(where[:, 1].mean()))
        steps = np.abs(where[:, None] - where) * (width, 1.0) * math.pi / 180 * 6371.0088
        walk = steps.sum(axis=2) / 5.1 * 60
        np.testing.assert_allclose(times, walk, rtol=0.02, atol=0.6)
        assert (times.diagonal() == 0).all()
        cars = Streets(f"valhalla:{url}", "auto")
        one_way = cars.times(points((3, 2), (3, 8)), NAMES)
        assert one_way[0, 1] != one_way[1, 0]
        far, island = points((3, 2), (3, 400)), points((3, 2), ISLAND)
        with pytest.raises(FormatError, match=r"pedestrian: within 2000 m of 'there' \(46.0289, "):
            streets.times(far, NAMES)
        with pytest.raises(FormatError, match=r"pedestrian: .*'there' \(46.0205, 11.187\)"):
            streets.times(island, NAMES)
        with pytest.raises(FormatError, match=rf"{url}: answers 400: No costing .*: 'flying'"):
            streets.times(where, [""] * len(where), "flying")


def test_from_a_file_to_plan_page_and_calendar(call: Call, tmp_path: Path) -> None:
    """Each of them takes one command, along streets, and then again without the server."""
    places, guides = tmp_path / "trento.csv", tmp_path / "trento_guides.csv"
    for file in (places, guides):
        file.write_bytes((DATA / file.name).read_bytes())
    plan, page, calendar, lines, picture = (
        tmp_path / f"plan.{ending}" for ending in ("json", "html", "ics", "geojson", "png")
    )
    commands = [
        ["--out", plan],
        ["--report", page, "--explain-time", 0],
        ["--out", calendar, "--date", "2026-05-04"],
        ["--out", lines, "--plot", picture],
    ]

    def run(url: str) -> list[bytes]:
        reading = ["--vehicles", guides, "--profile", "pedestrian", "--travel", f"valhalla:{url}"]
        for words in commands:
            ended = call("solve", places, *reading, "--method", "greedy", *words)
            assert (ended.code, ended.err) == (0, "")
            assert "straight line" not in ended.out
        assert call("check", places, plan, *reading).code == 0
        return [path.read_bytes() for path in (page, lines, picture)]

    with replaying(ANSWERS) as url:
        first = run(url)
    assert run(url) == first
    scene = json.loads(page.read_text().partition('id="scene">')[2].partition("</script>")[0])
    assert scene["streets"]
    assert all(len(way) > 4 for route in scene["routes"] for way in route["ways"][:2])
    route = json.loads(lines.read_text())["features"][0]
    assert len(route["geometry"]["coordinates"]) > 50
    assert calendar.read_text().count("BEGIN:VEVENT") > 5


def test_kept_answers(valhalla: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """What was answered is there when the server is not; what was not asked names the server."""
    keep = tmp_path / "x.streets.npz"
    with replaying(ANSWERS) as url:
        streets, instance = trento(url, keep=keep)
        plan = decost.solve(instance, "greedy").solution
        ways = streets.ways(instance, plan)
    again, same = trento(url, keep=keep)
    assert same == instance
    for mine, others in zip(again.ways(same, plan), ways, strict=True):
        for one, other in zip(mine, others, strict=True):
            np.testing.assert_array_equal(one, other)
    with pytest.raises(FormatError, match=rf"^{url}: no answer: Connection refused$"):
        trento(url, "bicycle", keep=keep)
    other = decost.make_solution(instance, [[3, 9, 4], []], [[60, 20, 20], []])
    straight = again.ways(same, other)
    assert [len(way) for way in straight[0]] == [2, 2, 2, 2]
    assert "ways that are not known are drawn as straight lines" in caplog.text
    for content in (b"", b"PK\x03\x04 no", keep.read_bytes()[:-200]):
        keep.write_bytes(content)
        with pytest.raises(FormatError, match=rf"{keep}: holds no streets"):
            trento(valhalla, keep=keep)


def test_ways_lead_from_place_to_place(valhalla: str) -> None:
    """A way begins and ends at the very places, goes along the grid, and takes its travel time."""
    streets, instance = trento(valhalla)
    plan = decost.solve(instance, "greedy").solution
    ways = streets.ways(instance, plan)
    assert instance.xy is not None
    assert len(ways) == len(plan.routes) == 2
    for vehicle, (route, legs) in enumerate(zip(plan.routes, ways, strict=True)):
        home = instance.fleet[vehicle].start
        order = [home, *route.stops, home]
        for k, way in enumerate(legs):
            np.testing.assert_array_equal(way[[0, -1]], instance.xy[order[k : k + 2]])
            inner = np.diff(way[1:-1], axis=0)
            width = math.cos(math.radians(46.05))
            length = np.hypot(*(inner * (width, 1.0)).T).sum() * math.pi / 180 * 6371.0088
            assert length / 5.1 * 60 == pytest.approx(
                instance.travel[order[k], order[k + 1]], abs=1
            )


def test_profiles_of_vehicles(valhalla: str, caplog: pytest.LogCaptureFixture) -> None:
    """Every vehicle has the travel times of its profile, and a speed means nothing."""
    instance = two_profiles(valhalla)
    assert instance.profiles == ("pedestrian", "auto")
    assert instance.places == (f"{crossing(6, 4)[0]!r} {crossing(6, 4)[1]!r}",)
    walk, drive = instance.travel_of(0)[0, 1], instance.travel_of(1)[0, 1]
    assert 3 * drive < walk
    assert (
        decost.Instance.build(  # the same as by two matrices
            unit="minutes",
            begin="09:00",
            budget="17:00",
            depot=Place(lat=crossing(3, 4)[0], lon=crossing(3, 4)[1]),
            places=[Place(instance.places[0], lat=crossing(6, 4)[0], lon=crossing(6, 4)[1])],
            vehicles=[
                Vehicle("a", profile="pedestrian"),
                Vehicle("b", profile="auto", start=instance.places[0]),
            ],
            stops=[Stop("s", lat=crossing(9, 9)[0], lon=crossing(9, 9)[1], reward=1)],
            travel=dict(zip(instance.profiles, instance.planes, strict=True)),
        )
        == instance
    )
    assert not caplog.records
    with pytest.raises(FormatError, match="profile: missing: how do they move"):
        Streets(f"valhalla:{valhalla}").times(points((1, 1)), ["x"])


def test_streets_in_files(valhalla: str, tmp_path: Path) -> None:
    """With its travel times an instance goes into files and back, and needs no server there."""
    _, instance = trento(valhalla)
    for ending in ("json", "jsonl", "npz", "xlsx", "csv"):
        path = tmp_path / f"a.{ending}"
        beside = {name: tmp_path / f"{name}.csv" for name in ("vehicles", "travel")}
        beside = beside if ending == "csv" else {}
        decost.write(instance, path, **beside)
        assert decost.read_set(path, **beside) == [instance]
        if ending != "csv":  # of which the travel times are another file
            with pytest.raises(FormatError, match="streets"):
                decost.read(path, travel=Streets(f"valhalla:{valhalla}", "pedestrian"))
    several = two_profiles(valhalla)
    decost.write(several, tmp_path / "b.json")
    decost.write(several, tmp_path / "b.xlsx")
    assert decost.read(tmp_path / "b.json") == decost.read(tmp_path / "b.xlsx") == several


def encoded(places: list[list[float]]) -> str:
    """Encode a polyline with six decimals (independently of the code under test)."""
    letters, last = "", [0, 0]
    for lon, lat in places:
        for axis, value in enumerate((round(lat * 1e6), round(lon * 1e6))):
            rest = (value - last[axis]) * 2
            rest = ~rest if rest < 0 else rest
            last[axis] = value
            while rest >= 32:
                letters += chr((rest % 32 + 32) + 63)
                rest //= 32
            letters += chr(rest + 63)
    return letters


def osrm(path: str, body: Any) -> tuple[int, Any]:
    """Answer as OSRM does, for cars that fly at a degree in 1000 s; east of 12 is no street."""
    parts = urlsplit(path)
    service, version, profile, places = unquote(parts.path).strip("/").split("/")
    assert (version, profile, body) == ("v1", "driving", None)
    where = [[float(axis) for axis in place.split(",")] for place in places.split(";")]
    options = {
        name: values[0] for name, values in parse_qs(parts.query.replace(";", "%3B")).items()
    }
    assert options["radiuses"].split(";") == ["2000"] * len(where)
    if len(where) > 30:
        return 400, {"code": "TooBig", "message": "Too many table coordinates"}
    for k, (lon, _) in enumerate(where):
        if lon > 12:
            words = f"Could not find a matching segment for coordinate {k}"
            return 400, {"code": "NoSegment", "message": words}
    if service == "route":
        (one, other), middle = where, [11.5, 46.5]
        return 200, {"code": "Ok", "routes": [{"geometry": encoded([one, middle, other])}]}
    rows, columns = (
        [int(k) for k in options[end].split(";")] for end in ("sources", "destinations")
    )
    times = [[round(1000 * math.dist(where[i], where[j]), 1) for j in columns] for i in rows]
    for i, row in enumerate(rows):  # nobody gets to 10, 40
        times[i] = [
            None if where[j][0] == 10 != where[row][0] else one
            for j, one in zip(columns, times[i], strict=True)
        ]
    return 200, {"code": "Ok", "durations": times, "sources": [], "destinations": []}


def test_osrm() -> None:
    """A table comes in blocks that the server allows, ways as it draws them, faults with names."""
    generator = np.random.default_rng(0)
    where = generator.uniform((11, 46), (12, 47), (70, 2)).round(6)
    names = [f"p{k}" for k in range(72)]
    with serving(osrm) as url:
        streets = Streets({"foot": f"osrm:{url}/"}, "foot")
        with pytest.raises(FormatError, match="profile = 'bike': there is none of this name: foot"):
            Streets({"foot": f"osrm:{url}"}, "bike")
        streets = Streets(f"osrm:{url}")
        times = streets.times(where, names)
        exact = np.linalg.norm(where[:, None] - where, axis=2) * 1000 / 60
        np.testing.assert_allclose(times, exact, atol=0.001)
        np.testing.assert_allclose(streets._way(where[0], where[1], None)[2], (11.5, 46.5))
        far = np.vstack((where[:8], [[13, 46]]))
        with pytest.raises(
            FormatError, match=rf"^{url}: driving: .* of 'p8' \(46, 13\) there is no"
        ):
            streets.times(far, names)
        with pytest.raises(FormatError, match=r"driving: no way leads to 'p8' \(40, 10\)"):
            streets.times(np.vstack((where[:8], [[10, 40]])), names)


GOOD = {"sources_to_targets": {"durations": [[0, 5], [5, 0]]}}
BAD_ANSWERS: dict[str, tuple[int, Any, str]] = {
    "page": (
        500,
        b"<html>Internal\nerror",
        "answers 500 with what is no JSON: '<html>Internal error'",
    ),
    "empty": (200, b"", "answers 200 with what is no JSON: ''"),
    "list": (200, [1], r"answers with what is not understood: \[1\]"),
    "other": (200, {"a": 1}, "answers with what is not understood: None"),
    "shape": (200, {"sources_to_targets": {"durations": [[0, 5]]}}, "what is not understood"),
    "ragged": (200, {"sources_to_targets": {"durations": [[0], [5, 0]]}}, "what is not understood"),
    "negative": (200, {"sources_to_targets": {"durations": [[0, -5], [5, 0]]}}, "not understood"),
    "endless": (200, b'{"sources_to_targets": {"durations": [[0, 1e999], [5, 0]]}}', "not under"),
    "letters": (200, {"sources_to_targets": {"durations": [["a", "b"]] * 2}}, "not understood"),
    "deep": (200, b"[" * 100_000, "what is no JSON"),
    "large": (200, b" " * 5000, "the answer is larger than 4000 bytes"),
    "words": (418, {"error": "a\tteapot\n" * 99}, "answers 418: a teapot a teapot"),
    "no way": (200, {"sources_to_targets": {"durations": [[0, None], [5, 0]]}}, "from|to 'there'"),
}


@pytest.mark.parametrize("kind", BAD_ANSWERS)
def test_bad_answers(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer that makes no sense is refused in a line that names the server."""
    status, content, words = BAD_ANSWERS[kind]
    monkeypatch.setattr(asking, "MOST_BYTES", 4000 if kind == "large" else 2**20)
    with serving(lambda path, body: (status, content)) as url:
        with pytest.raises(FormatError, match=words) as caught:
            Streets(f"valhalla:{url}", "auto").times(points((1, 1), (2, 2)), NAMES)
        assert str(caught.value).startswith(f"{url}: ")
        assert len(str(caught.value)) < 250
        assert "\n" not in str(caught.value)


def test_servers_that_do_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Redirects are not followed, slow servers not waited for, other addresses not asked."""
    with serving(lambda path, body: (302, {}), {"Location": "http://10.0.0.1/x"}) as url:
        words = f"^{url}: sends on to 'http://10.0.0.1/x': give that address itself$"
        with pytest.raises(FormatError, match=words):
            Streets(f"osrm:{url}").times(points((1, 1)), ["x"])
    monkeypatch.setattr(asking, "SECONDS", 0.3)

    asked = threading.Event()

    def slow(path: str, body: Any) -> tuple[int, Any]:
        asked.wait(60)
        return 200, GOOD

    with serving(slow) as url:
        with pytest.raises(FormatError, match=f"^{url}: no answer within 0.3 s$"):
            Streets(f"valhalla:{url}", "auto").times(points((1, 1), (2, 2)), NAMES)
        asked.set()
    for words, why in {
        "valhalla:ftp://x": "must be an address such as",
        "valhalla:/etc/passwd": "must be an address such as",
        "valhalla:http://": "must be an address such as",
        "valhalla:http://a:b@x": "without a name, query or fragment",
        "osrm:http://x/?y": "without a name, query or fragment",
        "osrm:http://[x": "is no address",
        "osrm:http://x:99999": "is no address",
        "google:http://x": "must be an engine and its address",
    }.items():
        with pytest.raises(FormatError, match=why):
            Streets(words)


def test_polyline() -> None:
    """The example that Google documents, whose five decimals are read here as six."""
    server = asking.Server("http://x")
    found = engines._polyline(server, "_p~iF~ps|U_ulLnnqC_mqNvxq`@") * 10
    np.testing.assert_allclose(found, [(-120.2, 38.5), (-120.95, 40.7), (-126.453, 43.252)])
    for wrong in ("", "_", "_p~iF", "\x00\x00", "~" * 99, None, 3):
        with pytest.raises(FormatError, match="not understood"):
            engines._polyline(server, wrong)


def test_options_of_streets(call: Call, valhalla: str, tmp_path: Path) -> None:
    """What does not go together is refused in a line."""
    places = DATA / "trento.csv"
    server = f"valhalla:{valhalla}"
    flat = tmp_path / "flat.json"
    decost.write(Instance(budget=9, xy=[[0, 0], [1, 1]], reward=[0, 1]), flat)
    for words, why in (
        ((places, "--profile", "auto"), "--profile auto: is for --travel with a server"),
        ((flat, "--travel", server), f"{flat}: streets need places with lat and lon"),
        ((places, "--travel", server, "--travel", "x.csv"), "all must be servers, or all tables"),
        ((places, "--travel", "valhalla:x", "--profile", "auto"), "x: must be an address such as"),
    ):
        assert why in call.complaint("solve", *words)
