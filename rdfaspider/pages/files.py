"""The table of pages as a file: Parquet (needs pyarrow), CSV or JSON lines. Memory is bounded."""

from __future__ import annotations

import csv
import io
import json
from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING, Any, BinaryIO

from rdfaspider.pages.table import TYPES, PageRecord

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    Writer = Callable[[Iterable[PageRecord], BinaryIO], None]

# Records of a row group: some ten megabytes of memory.
_GROUP = 50_000
_KINDS = (".parquet", ".csv", ".jsonl")
_COMPRESSED = (".gz", ".bz2", ".zst")

_TIMES = [name for name, kind in TYPES.items() if kind == "time"]


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


def write_csv(records: Iterable[PageRecord], file: BinaryIO) -> None:
    """Write a heading and a line for each record; an empty cell is what is not known."""
    buffer = io.StringIO(newline="")
    rows = csv.writer(buffer, lineterminator="\n")
    rows.writerow(PageRecord._fields)
    for record in records:
        moments = {name: _moment(getattr(record, name)) for name in _TIMES}
        rows.writerow(record._replace(**moments))  # type: ignore[arg-type]
        if buffer.tell() > 1 << 16:
            _empty(buffer, file)
    _empty(buffer, file)


def write_jsonl(records: Iterable[PageRecord], file: BinaryIO) -> None:
    """Write a line of JSON for each record, without the fields that are not known."""
    encode = json.JSONEncoder(ensure_ascii=False).encode
    for record in records:
        known = {name: value for name, value in record._asdict().items() if value is not None}
        known |= {name: _moment(known[name]) for name in _TIMES if name in known}
        file.write(encode(known).encode("utf-8", "replace") + b"\n")


def write_parquet(records: Iterable[PageRecord], file: BinaryIO) -> None:
    """Write row groups of records, compressed by zstd."""
    pyarrow, parquet = _pyarrow()
    kinds = {"text": pyarrow.string(), "time": pyarrow.timestamp("s", tz="UTC")}
    kinds |= {"real": pyarrow.float32(), "whole": pyarrow.int64()}
    fields = [(name, kinds[TYPES.get(name, "whole")]) for name in PageRecord._fields]
    schema, rows = pyarrow.schema(fields), iter(records)
    with parquet.ParquetWriter(file, schema, compression="zstd") as writer:
        while group := list(islice(rows, _GROUP)):
            columns = [
                pyarrow.array(column, kind)
                for column, (_, kind) in zip(zip(*group, strict=True), fields, strict=True)
            ]
            writer.write_table(pyarrow.Table.from_arrays(columns, schema=schema))


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


def _moment(seconds: int | None) -> str:
    if seconds is None:
        return ""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _empty(buffer: io.StringIO, file: BinaryIO) -> None:
    file.write(buffer.getvalue().encode("utf-8", "replace"))
    buffer.seek(0)
    buffer.truncate()
