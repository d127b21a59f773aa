"""Sets of instances and of plans as Parquet: a row each, in files that are read bit by bit.

The columns of instances are the fields of `.npz` sets, as lists; those of plans are the fields of
their JSON lines.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from decost.files.arrays import ALL_FIELDS, arrays_of, instances_of
from decost.files.limits import FormatError
from decost.files.writing import replacing
from decost.method.summary import Summary
from decost.problem.instance import Instance

if TYPE_CHECKING:
    from pyarrow import DataType, RecordBatch, Table
    from pyarrow.parquet import ParquetFile, ParquetWriter

MAGIC = b"PAR1"

INSTANCES, PLANS = "decost-set", "decost-plans"
"""What a file says that it holds."""

BATCH_ROWS, BATCH_BYTES = 2_000, 2**25
"""Most rows, and about the most unpacked bytes, that are read at a time."""

_FILL = {"f": np.nan, "i": 0, "u": 0, "b": False, "U": ""}


def needs_pyarrow() -> None:
    """Say what to install if pyarrow is missing."""
    try:
        import pyarrow.parquet  # noqa: F401
    except ModuleNotFoundError:
        raise FormatError(
            "Parquet files need pyarrow, which comes with: pip install 'decost[parquet]'"
        ) from None


def open_file(path: Path) -> ParquetFile:
    """Open a file and read its footer.

    Raises
    ------
    FormatError
        If it is torn, or no Parquet file.
    """
    needs_pyarrow()
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return pq.ParquetFile(path, page_checksum_verification=True)
    except (pa.ArrowException, ValueError) as error:
        raise torn(path, error) from None
    except OSError as error:
        if error.errno is not None and error.filename is not None:
            raise
        if not path.exists():
            raise FileNotFoundError(2, os.strerror(2), str(path)) from None
        raise torn(path, error) from None


def torn(path: Path, error: Exception) -> FormatError:
    """Say that a file is not whole."""
    why = " ".join(str(error).split())
    return FormatError(f"{path}: is torn, or no Parquet file: {why[:200]}")


def told_by(file: ParquetFile) -> dict[str, Any]:
    """Give what a file of ours says about itself; nothing if it is not ours."""
    try:
        told = json.loads((file.metadata.metadata or {}).get(b"decost", b"{}"))
    except ValueError:
        return {}
    return told if isinstance(told, dict) else {}


def instance_table(path: str | Path, instances: Sequence[Instance]) -> tuple[Table, str]:
    """Make a table of instances, and a digest of what it holds."""
    import pyarrow as pa

    arrays = arrays_of(path, instances)
    del arrays["format"], arrays["version"]
    digest = sha256()
    for field, values in arrays.items():
        digest.update(repr((field, values.shape, values.dtype.str)).encode())
        digest.update(values.tobytes())
    return pa.table(
        {field: _nested(values) for field, values in arrays.items()}
    ), digest.hexdigest()


def _nested(values: Any) -> Any:
    """Make lists of lists of an array."""
    import pyarrow as pa

    flat = np.ascontiguousarray(values).reshape(-1)
    result = pa.array(flat.tolist() if flat.dtype.kind == "U" else flat)
    for axis in range(values.ndim - 1, 0, -1):
        count = int(np.prod(values.shape[:axis]))
        offsets = np.arange(count + 1, dtype=np.int64) * values.shape[axis]
        result = pa.LargeListArray.from_arrays(pa.array(offsets), result)
    return result


def _dense(values: Any, fill: Any) -> tuple[Any, Any]:
    """Make an array of lists of lists, padding shorter ones; and the lengths of the outer lists."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = values.type
    if pa.types.is_dictionary(kind):
        values, kind = values.dictionary_decode(), kind.value_type
    if not (
        pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
    ):
        if pa.types.is_string(kind) or pa.types.is_large_string(kind):
            return np.array(pc.fill_null(values, "").to_pylist(), dtype=np.str_), None
        return values.to_numpy(zero_copy_only=False), None
    lengths = pc.fill_null(pc.list_value_length(values), 0).to_numpy(zero_copy_only=False)
    inner, _ = _dense(pc.list_flatten(values), fill)
    longest = int(lengths.max(initial=0))
    if (lengths == longest).all():
        return inner.reshape(len(values), longest, *inner.shape[1:]), lengths
    padded = np.full((len(values), longest, *inner.shape[1:]), fill, dtype=inner.dtype)
    padded[np.arange(longest) < lengths[:, None]] = inner
    return padded, lengths


def batches(path: Path, file: ParquetFile, group: int) -> Iterator[RecordBatch]:
    """Read rows of a group, as many at a time as do not take much memory."""
    import pyarrow as pa

    told = file.metadata.row_group(group)
    row = max(1, told.total_byte_size // max(1, told.num_rows))
    size = max(1, min(BATCH_ROWS, BATCH_BYTES // row))
    try:
        yield from file.iter_batches(size, row_groups=[group], use_threads=False)
    except (pa.ArrowException, OSError) as error:
        raise torn(path, error) from None


def instances_in(path: Path, batch: RecordBatch, first: int, *, strict: bool) -> list[Instance]:
    """Make the instances of some rows; the first of them has a number in its set.

    Columns that are unknown are refused in a file of ours.
    """
    data: dict[str, Any] = {}
    sizes = None
    for field, column in zip(batch.schema.names, batch.columns, strict=True):
        if field not in ALL_FIELDS:
            if strict:
                raise FormatError(f"{path}: {field}: unknown field")
            continue
        if column.null_count == len(column):
            continue
        try:
            data[field], lengths = _dense(column, _FILL[ALL_FIELDS[field][1][-1]])
        except (ValueError, TypeError, NotImplementedError) as error:
            raise FormatError(f"{path}: {field}: has type {column.type}: {error}") from None
        if field in ("xy", "travel") and sizes is None:
            sizes = lengths
    if "nodes" not in data and sizes is not None and len(set(sizes.tolist())) > 1:
        data["nodes"] = sizes - data.get("separate_end", np.zeros(len(sizes), dtype=np.int64))
    return instances_of(path, data, first)


def plan_table(rows: Sequence[dict[str, Any]]) -> Table:
    """Make a table of plans and failures, as they are written to JSON."""
    import pyarrow as pa

    schema = _plan_schema()
    routes = [_routes(row) for row in rows]
    flat = [route for some in routes for route in some]
    visits = [visit for route in flat for visit in route["visits"]]
    labels = [visit["stop"] for visit in visits]
    visit_columns = {
        "stop": [None if isinstance(label, str) else label for label in labels],
        "id": [label if isinstance(label, str) else None for label in labels],
        **{
            name: [visit.get(name) for visit in visits]
            for name in ("alternative", "start", "stay", "profit")
        },
    }
    route_columns = {
        name: [route.get(name) for route in flat]
        for name in ("vehicle", "depart", "finish", "late")
    }
    route_type = schema.field("routes").type.value_type
    visit_type = route_type.field("visits").type.value_type
    inner = _lists([len(route["visits"]) for route in flat], _records(visit_type, visit_columns))
    outer = _lists(list(map(len, routes)), _records(route_type, route_columns | {"visits": inner}))
    columns = [
        outer
        if field.name == "routes"
        else pa.array([row.get(field.name) for row in rows], field.type)
        for field in schema
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def _routes(row: dict[str, Any]) -> list[dict[str, Any]]:
    """Give the routes of a plan as records, also where a file has lists of visits."""
    return [one if isinstance(one, dict) else {"visits": one} for one in row.get("routes", ())]


def _records(kind: DataType, columns: dict[str, Any]) -> Any:
    import pyarrow as pa

    arrays = [
        pa.array(columns[field.name], field.type)
        if isinstance(columns[field.name], list)
        else columns[field.name]
        for field in kind
    ]
    return pa.StructArray.from_arrays(arrays, fields=list(kind))


def _lists(lengths: list[int], values: Any) -> Any:
    import pyarrow as pa

    offsets = np.zeros(len(lengths) + 1, dtype=np.int32)
    np.cumsum(lengths, out=offsets[1:])
    return pa.ListArray.from_arrays(pa.array(offsets), values)


def _plan_schema() -> Any:
    import pyarrow as pa

    number, real, text = pa.int64(), pa.float64(), pa.string()
    visit = {"stop": number, "id": text, "alternative": number}
    visit |= dict.fromkeys(("start", "stay", "profit"), real)
    route = {"vehicle": text} | dict.fromkeys(("depart", "finish", "late"), real)
    route |= {"visits": pa.list_(pa.struct(list(visit.items())))}
    plan = {"index": number, "method": text, "status": text, "error": text}
    plan |= {"profit": real, "bound": real, "required_visited": number, "required_bound": number}
    plan |= {"reasons": pa.list_(text), "runtime": real, "seed": number}
    plan |= {"routes": pa.list_(pa.struct(list(route.items())))}
    return pa.schema(list(plan.items()))


def plan_rows(path: Path) -> Iterator[dict[str, Any]]:
    """Read plans and failures, as they are in JSON lines."""
    file = open_file(path)
    missing = [name for name in _plan_schema().names if name not in file.schema_arrow.names]
    if missing:
        raise FormatError(f"{path}: {missing[0]}: missing; is no file of plans")
    for group in range(file.metadata.num_row_groups):
        for batch in batches(path, file, group):
            yield from map(_plan_row, batch.to_pylist())


def _plan_row(row: dict[str, Any]) -> dict[str, Any]:
    """Leave out what JSON has not."""
    needless = {"required_visited", "required_bound", "reasons", "error"}
    if row["error"] is not None:
        needless |= {"profit", "bound"}
        del row["routes"]
    kept = {name: one for name, one in row.items() if one is not None or name not in needless}
    if "routes" in kept:
        kept["routes"] = list(map(_plain_route, kept["routes"]))
    return kept


def _plain_route(route: dict[str, Any]) -> Any:
    general = route["depart"] is not None
    visits = []
    for visit in route["visits"]:
        label = visit.pop("id")
        number = visit.pop("stop")
        way = visit.pop("alternative")
        visits.append(
            {"stop": number if label is None else label}
            | ({"alternative": way} if general else {})
            | visit
        )
    if not general:
        return visits
    late = {} if route["late"] is None else {"late": route["late"]}
    times = {"depart": route["depart"], "finish": route["finish"]} | late
    return {"vehicle": route["vehicle"]} | times | {"visits": visits}


@contextmanager
def writing(path: Path, schema: Any) -> Iterator[ParquetWriter]:
    """Write a file, whole or not at all; it is on the disk when this ends."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    reals = [name for name, kind in _leaves(schema) if pa.types.is_floating(kind)]
    texts = [name for name, kind in _leaves(schema) if pa.types.is_string(kind)]
    with replacing(path) as temporary, temporary.open("wb") as file:
        with pq.ParquetWriter(
            file,
            schema,
            compression="zstd",
            use_dictionary=texts,
            use_byte_stream_split=reals,
            write_page_checksum=True,
        ) as writer:
            yield writer
        file.flush()
        os.fsync(file.fileno())


def _leaves(schema: Any) -> Iterator[tuple[str, Any]]:
    """Name the columns of numbers and texts that a schema consists of in a file."""
    import pyarrow as pa

    def within(name: str, kind: Any) -> Iterator[tuple[str, Any]]:
        if pa.types.is_struct(kind):
            for field in kind:
                yield from within(f"{name}.{field.name}", field.type)
        elif pa.types.is_list(kind) or pa.types.is_large_list(kind):
            yield from within(f"{name}.list.element", kind.value_type)
        else:
            yield name, kind

    for field in schema:
        yield from within(field.name, field.type)


def tell(writer: ParquetWriter, told: dict[str, Any]) -> None:
    """Let a file say something about itself."""
    writer.add_key_value_metadata({"decost": json.dumps(told)})


def write_instances(path: Path, instances: Sequence[Instance], told: dict[str, Any]) -> None:
    """Write instances to one file, in one group of rows."""
    needs_pyarrow()
    table, digest = instance_table(path, instances)
    with writing(path, table.schema) as writer:
        writer.write_table(table, row_group_size=max(1, len(instances)))
        tell(writer, {"format": INSTANCES} | told | {"content": digest})


def write_plans(
    path: Path, rows: Iterable[Sequence[dict[str, Any]]], told: dict[str, Any]
) -> Summary:
    """Write plans to one file, as they come; it also says what they come to."""
    needs_pyarrow()
    summary = Summary()
    with writing(path, _plan_schema()) as writer:
        for some in rows:
            writer.write_table(plan_table(some))
            summary.add(some)
        tell(writer, {"format": PLANS} | told | {"summary": asdict(summary)})
    return summary


def join_files(paths: Sequence[Path], out: Path, told: dict[str, Any]) -> None:
    """Write one file of several, part by part."""
    import pyarrow as pa

    schema = pa.unify_schemas([open_file(path).schema_arrow for path in paths])
    with writing(out, schema) as writer:
        for path in paths:
            table = open_file(path).read(use_threads=False)
            for field in schema:
                if field.name not in table.schema.names:
                    table = table.append_column(field, pa.nulls(len(table), field.type))
            writer.write_table(table.select(schema.names), row_group_size=max(1, len(table)))
        tell(writer, told)
