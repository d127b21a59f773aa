"""Measure how long it takes to read, or to refuse, files of 64 MiB: `python tests/big_files.py [CASE ...]`.

Each file is read in a process of its own. What counts is CPU time from when `decost` is there to the
instance or the refusal. Sets of many valid instances are no case: they take as long as those.
"""

from __future__ import annotations

import io
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

SIZE = 64 * 2**20
MOST = 2.0
"""Seconds that reading may take."""

READ = """
import sys, time
import decost
beside = {word.split("=")[0]: word.split("=")[1] for word in sys.argv[2:]}
begin = time.process_time()
try:
    found = f"{len(decost.read_set(sys.argv[1], **beside))} read"
except decost.FormatError as error:
    found = str(error).partition("\\n")[0].replace(sys.argv[1], "FILE")
used = time.process_time() - begin
print(f"{used:6.2f} s  {found[:110]}")
"""

V1 = (
    '{"format": "decost-instance", "version": 1, "budget": 9, "depot": {"x": 0, "y": 0}, "stops": ['
)
HEADS = "name,lat,lon,opens,closes,reward\n"


def filled(head: str, part: str, tail: str = "", size: int = SIZE) -> bytes:
    """Repeat a part until the file is as large as it may be."""
    count = (size - len(head.encode()) - len(tail.encode())) // len(part.encode())
    return f"{head}{part * count}{tail}".encode()


def valid(places: int, digits: int = 1) -> bytes:
    """Give a valid instance with a matrix of so many places."""
    row = "[" + ",".join([f"{'9' * digits}"] * places) + "]"
    stops = ",".join(['{"reward":1}'] * (places - 1))
    body = f'"budget":9,"stops":[{stops}],"travel":[{",".join([row] * places)}]'
    return ('{"format":"decost-instance","version":1,' + body + "}").encode()


def many_alternatives(stops: int, each: int) -> bytes:
    """Give a valid instance with so many stops, of so many alternatives each."""
    one = ",".join(f'{{"open":{k},"leave_by":{k + 50}}}' for k in range(each))
    text = f'{{"x":1,"y":2,"min_stay":1,"profit":[[2,3],[1,9]],"alternatives":[{one}]}}'
    head = V1.replace('"version": 1', '"version": 2, "unit": "minutes", "begin": 0')
    return f"{head}{','.join([text] * stops)}]}}".encode()


def zipped(**parts: bytes) -> bytes:
    """Give a zip file of these parts."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name.replace("__", "/").replace("_dot_", "."), content)
    return file.getvalue()


SHEET = '<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>'


def workbook(rows: str, **further: bytes) -> bytes:
    """Give a workbook with one sheet of this XML."""
    import openpyxl

    made = openpyxl.Workbook()
    file = io.BytesIO()
    made.save(file)
    parts = {}
    with zipfile.ZipFile(file) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    parts["xl/worksheets/sheet1.xml"] = f"{SHEET}{rows}</sheetData></worksheet>".encode()
    parts |= further
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return target.getvalue()


def features(count: int) -> bytes:
    """Give so many points, valid ones."""
    one = (
        '{"type":"Feature","geometry":{"type":"Point","coordinates":[11,46]},'
        '"properties":{"name":"s%d","reward":1}}'
    )
    body = ",".join(one % k for k in range(count))
    return f'{{"type":"FeatureCollection","features":[{body}]}}'.encode()


def arrays(**given: np.ndarray) -> bytes:
    """Give the bytes of an `.npz` file."""
    file = io.BytesIO()
    np.savez_compressed(file, **given)
    return file.getvalue()


def plain_sets(count: int, nodes: int) -> dict[str, np.ndarray]:
    """Give the arrays of a set."""
    random = np.random.default_rng(0)
    ones = np.ones((count, nodes))
    return {
        "xy": random.random((count, nodes, 2)),
        "open": 0 * ones,
        "close": 9 * ones,
        "rate": ones,
        "max_stay": ones,
        "budget": np.full(count, 9.0),
    }


def csv_matrix(places: int) -> bytes:
    """Give a table of travel times."""
    names = [f"s{k}" for k in range(places)]
    rows = "\n".join(f"{name},{','.join(['7.25'] * places)}" for name in names)
    return f",{','.join(names)}\n{rows}\n".encode()


def table(rows: int, hours: int = 1) -> bytes:
    """Give a valid table of places."""
    pairs = ",".join(f"opens {k},closes {k}" for k in range(1, hours + 1))
    times = ",".join(["09:00,10:00"] * hours)
    lines = "".join(f"s{k},{k % 90},{k % 180},1,{times}\n" for k in range(rows))
    return f"name,lat,lon,reward,{pairs}\nHotel,46,11,,{',' * (2 * hours - 1)}\n{lines}".encode()


def listing(rows: int, names: int) -> bytes:
    """Give a table of places that only some may visit, none of whom is known."""
    who = ",".join(map(str, range(names)))
    lines = "".join(f's{k},46,11,3,"{who}"\n' for k in range(rows))
    return f"name,lat,lon,reward,vehicles\nHotel,46,11,,\n{lines}".encode()


RED = "vehicles=RED"  # a file of one vehicle, written beside
Case = tuple[str, Callable[[], bytes]] | tuple[str, Callable[[], bytes], Callable[[], bytes]]

CASES: dict[str, Case] = {
    "text of one line": ("csv", lambda: filled(HEADS, "x")),
    "one line of commas": ("csv", lambda: filled(HEADS, ",")),
    "first line of commas": ("csv", lambda: filled("", ",")),
    "first line of semicolons": ("txt", lambda: filled("name;x;y", ";")),
    "newlines": ("csv", lambda: filled(HEADS, "\n")),
    "newlines first": ("csv", lambda: filled("", "\n", HEADS)),
    "newlines, no ending": ("", lambda: filled("", "\n")),
    "carriage returns": ("csv", lambda: filled(HEADS, "\r")),
    "commas and newlines": ("csv", lambda: filled(HEADS, ",,,,,\n")),
    "quotes": ("csv", lambda: filled(HEADS, '"')),
    "quoted newlines": ("csv", lambda: filled(HEADS + '"', "\n", '"\n')),
    "valid rows without end": ("csv", lambda: filled(HEADS, "s,46,11,,,1\n")),
    "bad rows without end": ("csv", lambda: filled(HEADS, "s,x,y,25:00,zz,1\n")),
    "titles above, no headings": ("csv", lambda: filled("", "a,b,c\n")),
    "long cells": ("csv", lambda: filled(HEADS, f"{'n' * 10**6},46,11,,,1\n")),
    "long times": ("csv", lambda: filled(HEADS, f"a,46,11,{'9' * 10**6},,1\n")),
    "long blanks in times": ("csv", lambda: filled(HEADS, f"a,46,11,1{' ' * 130_000}x,,1\n")),
    "long blanks in pieces": ("csv", lambda: filled("name,lat,lon,rate,max stay,then\n", f"a,46,11,2,9,1 for 1{' ' * 130_000}x\n")),
    "long blanks in coordinates": ("csv", lambda: filled("name,position,reward\n", f"a,46{';' * 130_000}x,1\n")),
    "lists of vehicles": ("csv", lambda: listing(480, 22_000)),
    "lists of vehicles, short": ("csv", lambda: listing(4_990, 2_200)),
    "long pieces": ("csv", lambda: filled("name,lat,lon,rate,max stay,then\n", f"a,46,11,2,9,{'1 for 1 then ' * 70000}1 for 1\n")),
    "long lists of vehicles": ("csv", lambda: filled("name,lat,lon,reward,vehicles\n", f'a,46,11,2,"{"red," * 250000}"\n')),
    "headings without end": ("csv", lambda: ("name,x,y," + ",".join(f"opens {k}" for k in range(5 * 10**4)) + "\na,1,2\n").encode()),
    "cells, the most": ("csv", lambda: filled(HEADS, "a,46,11" + "," * 493 + "\n")),
    "UTF-16": ("csv", lambda: b"\xff\xfe" + filled("", "ab,c\n").decode().encode("utf-16-le")[:SIZE - 2]),
    "Latin-1": ("csv", lambda: filled("", "x,y,name\n").replace(b"a", b"\xe4") [:SIZE-1] + b"\xe4"),
    "zeros": ("csv", lambda: bytes(SIZE)),
    "random bytes": ("", lambda: np.random.default_rng(0).bytes(SIZE)),
    "table, 5,000 stops": ("csv", lambda: table(4999)),
    "table, 20,000 hours": ("csv", lambda: table(400, 48)),
    "table of travel times, 2,000": ("csv", lambda: table(1999), lambda: csv_matrix(2001).replace(b"s0,", b"Hotel,").replace(b"s2000", b"q")),
    "travel times, one line": ("csv", lambda: table(19), lambda: filled("", "7,")),
    "travel times, newlines": ("csv", lambda: table(19), lambda: filled("", "\n")),
    "travel times, too many": ("csv", lambda: table(19), lambda: csv_matrix(3500)),
    "JSON matrix of 2,900": ("json", lambda: valid(2900)),
    "JSON matrix of 2,900, 7 digits": ("json", lambda: valid(2900, 7)[:SIZE+1]),
    "JSON matrix of 5,000": ("json", lambda: valid(5000)),
    "JSON lists, empty": ("json", lambda: filled(V1, "[],", "[]]}")),
    "JSON lists, 280,000": ("json", lambda: (V1 + '{"profit":[' + "[1,1]," * 279_990 + "[1,1]]}]}").encode()),
    "JSON lists in lists, 280,000": ("json", lambda: (V1 + "[]," * 279_990 + "[]]}").encode()),
    "JSON rows, 280,000": ("json", lambda: (V1 + '],"travel":[' + f"[{'1,' * 20}1]," * 279_990 + "[]]}").encode()),
    "JSON rows of strings": ("json", lambda: (V1 + '],"travel":[' + f"[{'1,' * 2000}\"a\"]," * 3000 + "[]]}").encode()),
    "JSON objects, 190,000": ("json", lambda: (V1 + '{"x":1,"y":2,"reward":1},' * 190_000 + '{"x":1,"y":1}]}').encode()),
    "JSON objects, empty": ("json", lambda: (V1 + "{}," * 190_000 + "{}]}").encode()),
    "JSON names": ("json", lambda: ("{" + ",".join(f'"{k}":0' for k in range(10**6)) + "}").encode()),
    "JSON long string": ("json", lambda: filled(V1.replace("[", '[], "name": "'), "x", '"}')),
    "JSON escapes": ("json", lambda: filled(V1.replace("[", '[], "name": "'), "\\u00e4", '"}')),
    "JSON quotes": ("json", lambda: filled(V1.replace("[", '[], "name": "'), '\\"', '"}')),
    "JSON blanks": ("json", lambda: filled(V1, " ", "]}")),
    "JSON long number": ("json", lambda: filled(V1.replace('"stops": [', '"speed": '), "9", ', "stops": []}')),
    "JSON digits in a list": ("json", lambda: filled(V1, "9", "]}")),
    "JSON brackets": ("json", lambda: filled("{", "[")),
    "JSON braces": ("json", lambda: filled("", '{"a":')),
    "JSON open braces": ("json", lambda: filled("", "{")),
    "JSON, no end": ("json", lambda: filled(V1, '{"x":1},')),
    "JSON alternatives, 20,000": ("json", lambda: many_alternatives(400, 50)),
    "JSON stops, 5,000": ("json", lambda: many_alternatives(5000, 4)),
    "lists of numbers in a stop": ("json", lambda: (V1 + '{"profit":[' + ",".join(["[" + "1," * 19_000 + "1]"] * 400) + "]}]}").encode()),
    "plain text": ("txt", lambda: filled("", "1 ")),
    "words": ("txt", lambda: filled("", "1 1 1 1\n")),
    "Solomon": ("txt", lambda: filled("R1\nVEHICLE\nNUMBER CAPACITY\n25 200\nCUSTOMER\nCUST\n", "1 1 1 10 16 171 10\n")),
    "OPLib": ("oplib", lambda: filled("NAME : a\nTYPE : OP\nDIMENSION : 5000\nCOST_LIMIT : 9\nEDGE_WEIGHT_TYPE : EUC_2D\nNODE_COORD_SECTION\n", "1 1 1\n")),
    "OPLib matrix": ("oplib", lambda: filled("NAME : a\nTYPE : OP\nDIMENSION : 5000\nCOST_LIMIT : 9\nEDGE_WEIGHT_TYPE : EXPLICIT\nEDGE_WEIGHT_FORMAT : FULL_MATRIX\nEDGE_WEIGHT_SECTION\n", "1 ")),
    "Chao": ("txt", lambda: filled("n 5000\nm 2\ntmax 9\n", "1 1 1\n")),
    "Tsiligirides": ("txt", lambda: filled("9 1\n", "1.0 1.0 1\n")),
    "GeoJSON, 4,990 points": ("geojson", lambda: features(4990)),
    "GeoJSON, too many": ("geojson", lambda: features(60_000)),
    "GeoJSON, long": ("geojson", lambda: filled('{"type":"FeatureCollection","features":[', '{"type":"Feature"},', "{}]}")),
    "GeoJSON, properties": ("geojson", lambda: ('{"type":"FeatureCollection","features":[' + ",".join('{"type":"Feature","properties":{' + ",".join(f'"p{k}_{j}":1' for k in range(1999)) + "}}" for j in range(480)) + "]}").encode()),
    "GeoJSON, coordinates": ("geojson", lambda: ('{"type":"FeatureCollection","features":[{"type":"Feature","geometry":{"type":"LineString","coordinates":[' + "[11.1,46.1]," * 290_000 + "[1,1]]}}]}").encode()),
    "xlsx, bomb": ("xlsx", lambda: workbook(" " * (SIZE - 1000))),
    "xlsx, 47 MiB of blanks": ("xlsx", lambda: workbook(" " * (47 * 2**20))),
    "xlsx, cells": ("xlsx", lambda: workbook("".join(f'<row r="{k}"><c r="A{k}"><v>1</v></c></row>' for k in range(1, 900_000)))),
    "xlsx, empty rows": ("xlsx", lambda: workbook("<row/>" * (7 * 10**6))),
    "xlsx, 99,000 cells": ("xlsx", lambda: workbook("".join(f'<row r="{k}">' + "".join(f'<c r="{c}{k}"><v>{k}</v></c>' for c in "ABCDEF") + "</row>" for k in range(1, 16_500)))),
    "xlsx, a long cell": ("xlsx", lambda: workbook(f'<row r="1"><c r="A1" t="inlineStr"><is><t>{"x" * (40 * 2**20)}</t></is></c></row>')),
    "xlsx, far cell": ("xlsx", lambda: workbook('<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>')),
    "xlsx, nested": ("xlsx", lambda: workbook("<a>" * 390_000)),
    "xlsx, attributes": ("xlsx", lambda: workbook("<row " + " ".join(f'a{k}="1"' for k in range(3 * 10**6)) + "/>")),
    "xlsx, many attributes": ("xlsx", lambda: workbook(("<row " + " ".join(f'a{k}="1"' for k in range(20_000)) + "/>") * 190)),
    "xlsx, many other attributes": ("xlsx", lambda: workbook("".join("<row " + " ".join(f'a{k}_{j}="1"' for k in range(18_000)) + "/>" for j in range(160)))),
    "xlsx, merged cells without end": ("xlsx", lambda: workbook("<row>" + f"<c t='str'><v><![CDATA[{'<mergeCell ' * 23_000}]]></v></c>" * 15 + "</row>")),
    "xlsx, strings": ("xlsx", lambda: workbook("", **{"xl/sharedStrings.xml": b'<sst xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">' + b"<si><t>a</t></si>" * 190_000 + b"</sst>"})),
    "xlsx, styles": ("xlsx", lambda: workbook("", **{"xl/styles.xml": b"<styleSheet>" + b"<a/>" * 130_000 + b"</styleSheet>"})),
    "zip of 60,000 files": ("xlsx", lambda: zipped(**{f"f{k}": b"" for k in range(60_000)})),
    "jsonl of {}": ("jsonl", lambda: filled("", "{}\n")),
    "jsonl of lists": ("jsonl", lambda: filled("", '{"a":[' + "[]," * 200_000 + "[]]}\n")),
    "jsonl of newlines": ("jsonl", lambda: filled("{}\n{}\n", "\n")),
    "jsonl of nothing": ("jsonl", lambda: filled('{"a":1}\n', "x")),
    "npz of zeros": ("npz", lambda: arrays(xy=np.zeros((4 * 10**6, 1, 2)))),
    "npz, wrong shapes": ("npz", lambda: arrays(**(plain_sets(80_000, 10) | {"close": np.ones((1, 10))}))),
    "npz, one value wrong": ("npz", lambda: arrays(**(plain_sets(20_000, 10) | {"budget": np.append(np.ones(19_999), np.nan)}))),
    "npz, the last budget wrong": ("npz", lambda: arrays(**(plain_sets(100_000, 10) | {"budget": np.append(np.ones(99_999), np.nan)}))),
    "npz, the last window wrong": ("npz", lambda: arrays(**(plain_sets(100_000, 10) | {"open": np.append(np.zeros((99_999, 10)), np.full((1, 10), 9.5), axis=0)}))),
    "npz of text": ("npz", lambda: arrays(name=np.full(2**24, "x"))),
    "npz of objects": ("npz", lambda: zipped(**{"xy_dot_npy": b"\x93NUMPY\x01\x00v\x00{'descr': '|O', 'fortran_order': False, 'shape': (3,), }" + b" " * 60 + b"\n" + bytes(10**7)})),
    "npz, broken": ("npz", lambda: b"PK\x03\x04" + np.random.default_rng(0).bytes(SIZE - 4)),
    "npz, matrix of 2,800": ("npz", lambda: arrays(**(plain_sets(1, 2800) | {"travel": np.random.default_rng(0).random((1, 2800, 2800))}))),
    "parquet, broken": ("parquet", lambda: b"PAR1" + np.random.default_rng(0).bytes(SIZE - 8) + b"PAR1"),
    "parquet of zeros": ("parquet", lambda: b"PAR1" + bytes(SIZE - 8) + b"PAR1"),
}  # fmt: skip


def main(wanted: list[str]) -> None:
    """Print a line for each file; fail if reading one took too long."""
    slow = 0
    with tempfile.TemporaryDirectory() as folder:
        red = Path(folder) / "red.csv"
        red.write_text("name,start,begin,due,speed\nred,Hotel,09:00,17:00,5 km/h\n")
        for name, case in CASES.items():
            if wanted and not any(word in name for word in wanted):
                continue
            path = Path(folder) / f"a.{case[0]}".rstrip(".")
            data = case[1]()
            path.write_bytes(data)
            size = len(data)
            beside = [f"vehicles={red}"] if data.startswith((b"name,", b'{"type"')) else []
            if case[0] == "xlsx":
                beside = [f"vehicles={red}"]
            if len(case) == 3:
                travel = Path(folder) / "travel.csv"
                travel.write_bytes(case[2]())
                size = travel.stat().st_size
                beside.append(f"travel={travel}")
                red.write_text("name,start,begin,due\nred,Hotel,09:00,17:00\n")
            command = [sys.executable, "-c", READ, str(path), *beside]
            done = subprocess.run(command, capture_output=True, text=True)
            told = done.stdout.strip() or f"FAILED {done.returncode}: {done.stderr[-300:]}"
            late = not done.stdout or float(told.split()[0]) > MOST
            slow += late
            print(f"{name:32} {size / 2**20:6.1f} MiB {'*' if late else ' '} {told}", flush=True)
            red.write_text("name,start,begin,due,speed\nred,Hotel,09:00,17:00,5 km/h\n")
            path.unlink()
    print(f"{slow} took longer than {MOST} s")
    sys.exit(slow > 0)


if __name__ == "__main__":
    main(sys.argv[1:])
