"""A table of pages or sites as a file: Parquet (needs pyarrow), CSV or JSON lines. Memory is bounded."""

from __future__ import annotations

import csv
import io
import json
from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING, Any, BinaryIO

from rdfaspider.terminal import inert

if TYPE_CHECKING:
    from collections.abc import Callable

    from rdfaspider.pages.table import Columns, Rows

    Writer = Callable[[Rows, Columns, BinaryIO], None]

# Rows of a row group: some ten megabytes of memory.
_GROUP = 50_000
_KINDS = (".parquet", ".csv", ".jsonl")
_COMPRESSED = (".gz", ".bz2", ".zst")


def writer_for(name: str) -> Writer:
    """Return what writes a file of this name; ValueError if nothing does."""
    inner = name
    for suffix in _COMPRESSED:
        inner = inner.removesuffix(suffix)
    if name.endswith(".parquet"):
        _pyarrow()
        return write_parquet
    if inner.endswith(".csv"):
        return write_csv
    if inner.endswith(".jsonl"):
        return write_jsonl
    raise ValueError(f"-o wants a file that ends in {', '.join(_KINDS)}, not {name[:200]}.")


def write_csv(rows: Rows, columns: Columns, file: BinaryIO) -> None:
    """Write a heading and a line for each row; the cell of an unknown value is empty."""
    buffer = io.StringIO(newline="")
    lines = csv.writer(buffer, lineterminator="\n")
    lines.writerow(columns)
    for row in rows:
        lines.writerow(map(inert, map(plain, row, columns.values())))
        if buffer.tell() > 1 << 16:
            _empty(buffer, file)
    _empty(buffer, file)


def write_jsonl(rows: Rows, columns: Columns, file: BinaryIO) -> None:
    """Write a line of JSON for each row, without the unknown values."""
    encode = json.JSONEncoder(ensure_ascii=False).encode
    for row in rows:
        cells = zip(columns.items(), row, strict=True)
        known = {name: plain(cell, kind) for (name, kind), cell in cells if cell is not None}
        file.write(encode(known).encode("utf-8", "replace") + b"\n")


def write_parquet(rows: Rows, columns: Columns, file: BinaryIO) -> None:
    """Write row groups, compressed by zstd."""
    pyarrow, parquet = _pyarrow()
    kinds = {"text": pyarrow.string(), "time": pyarrow.timestamp("s", tz="UTC")}
    kinds |= {"real": pyarrow.float32(), "whole": pyarrow.int64()}
    schema = pyarrow.schema([(name, kinds[kind]) for name, kind in columns.items()])
    rows = iter(rows)
    with parquet.ParquetWriter(file, schema, compression="zstd") as writer:
        while group := list(islice(rows, _GROUP)):
            cells = [
                pyarrow.array(column, field.type)
                for column, field in zip(zip(*group, strict=True), schema, strict=True)
            ]
            writer.write_table(pyarrow.Table.from_arrays(cells, schema=schema))


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise ValueError(
            "Parquet needs pyarrow, which is not installed: pip install 'rdfaspider[analysis]', or write"
            " .csv or .jsonl."
        ) from error
    return pyarrow, parquet


def plain(cell: Any, kind: str) -> Any:
    """Return a cell with a time written out."""
    if kind == "time" and cell is not None:
        return datetime.fromtimestamp(cell, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return cell


def _empty(buffer: io.StringIO, file: BinaryIO) -> None:
    file.write(buffer.getvalue().encode("utf-8", "replace"))
    buffer.seek(0)
    buffer.truncate()
