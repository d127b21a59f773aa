"""A town of 20 by 20 streets, and a real Valhalla that knows it.

Valhalla's programs come with the wheel `pyvalhalla` for Python 3.12 and newer. `make valhalla`
fetches it, also for an older Python, which can run them. To record its answers anew:
`python tests/streets/record.py`.
"""

from __future__ import annotations

import importlib.util
import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

SIDE = 20
ISLAND = (0, SIDE + 30)
SOUTH, WEST = 46.0205, 11.0970
ALONG, ACROSS = 0.0028, 0.0018
"""Degrees from a street to the next, and from an avenue to the next: all of Trento is in it."""


def crossing(street: int, avenue: int) -> tuple[float, float]:
    """Give latitude and longitude of a crossing."""
    return SOUTH + street * ALONG, WEST + avenue * ACROSS


def write_town(path: Path) -> None:
    """Write the town as OpenStreetMap data; every second street and avenue is one-way.

    East of it, without a way there, is an island with one short street; `ISLAND` is an end of it.
    """
    import osmium
    from osmium.osm.mutable import Node, Way

    lines = [[(k, other) for other in range(SIDE)] for k in range(SIDE)]
    lines += [[(other, k) for other in range(SIDE)] for k in range(SIDE)]
    island = [ISLAND, (1, ISLAND[1])]
    places = [place for line in lines[:SIDE] for place in line] + island
    numbers = {place: k for k, place in enumerate(places, 1)}
    with osmium.SimpleWriter(str(path)) as file:
        for place, number in numbers.items():
            lat, lon = crossing(*place)
            file.add_node(Node(id=number, location=(lon, lat), version=1))
        for k, line in enumerate([*lines, island]):
            tags = {"highway": "residential", "name": f"{k}"}
            tags |= {"oneway": "yes"} if k % 2 else {}
            nodes = [numbers[place] for place in line]
            file.add_way(Way(id=k + 1, nodes=nodes, tags=tags, version=1))


def valhalla_folder() -> Path | None:
    """Find Valhalla's programs and its default configuration."""
    folders = [Path(sys.prefix) / "valhalla" / "valhalla"]
    found = importlib.util.find_spec("valhalla")
    if found is not None and found.origin is not None:
        folders.append(Path(found.origin).parent)
    for folder in folders:
        if (folder / "bin" / "valhalla_service").exists():
            return folder
    return None


def need_valhalla() -> Path:
    """Skip a test where there is no Valhalla, or nothing to write its map with."""
    folder = valhalla_folder()
    if folder is None:
        pytest.skip("there is no valhalla_service: make valhalla")
    pytest.importorskip("osmium", reason="there is no osmium")
    return folder


@contextmanager
def real_valhalla(folder: Path, pairs: int = 2500) -> Iterator[str]:
    """Start Valhalla in a folder, and give its address; so many pairs are in a question at most."""
    programs = need_valhalla()
    write_town(folder / "town.osm.pbf")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    config = _configuration(programs)
    config["mjolnir"] |= {"tile_dir": str(folder / "tiles"), "concurrency": 1}
    config["httpd"]["service"]["listen"] = f"tcp://127.0.0.1:{port}"
    config["service_limits"]["pedestrian"]["max_matrix_location_pairs"] = pairs
    file = folder / "valhalla.json"
    file.write_text(json.dumps(config))
    quiet: Any = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    words = [programs / "bin" / "valhalla_build_tiles", "-c", file, folder / "town.osm.pbf"]
    subprocess.run(words, check=True, **quiet)
    service = subprocess.Popen([programs / "bin" / "valhalla_service", file, "1"], **quiet)
    try:
        for _ in range(200):
            time.sleep(0.05)
            with socket.socket() as asking:
                if asking.connect_ex(("127.0.0.1", port)) == 0:
                    break
        yield f"http://127.0.0.1:{port}"
    finally:
        service.kill()
        service.wait()


def _configuration(programs: Path) -> Any:
    """Give the default configuration that comes with the programs, without files that are not."""
    source = programs / "valhalla_build_config.py"
    spec = importlib.util.spec_from_file_location("valhalla_build_config", source)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

    def plain(part: Any) -> Any:
        if not isinstance(part, dict):
            return part
        known = (int, float, str, list, dict, bool)
        return {name: plain(one) for name, one in part.items() if isinstance(one, known)}

    config = plain(module.config)
    for name in ("tile_extract", "traffic_extract", "admin", "timezone", "transit_dir"):
        config["mjolnir"].pop(name, None)
    return config
