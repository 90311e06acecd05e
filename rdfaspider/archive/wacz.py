"""Packs an archive into one WACZ file, which replayweb.page shows.

archive/NAME.warc.gz        as they are
indexes/index.cdxj          all segments in one
pages/pages.jsonl           the pages that a reader may begin with
datapackage.json            what is in the file, with digests
datapackage-digest.json     the digest of that
"""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from time import gmtime, strftime
from typing import TYPE_CHECKING
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

from rdfaspider.archive.index.index import captures_in
from rdfaspider.archive.warc.reader import files_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_CHUNK = 1 << 20
_PAGES = ("text/html", "application/xhtml+xml")


def write_wacz(archive: Path, target: Path, software: str) -> int:
    """Write what is whole of an archive, under its name when it is complete; return how many files it has."""
    files = [*files_of(archive)]
    new = target.with_name(f"{target.name}.new")
    try:
        with ZipFile(new, "w", allowZip64=True) as package:
            _fill(package, archive, files, software)
        new.replace(target)
    finally:
        new.unlink(missing_ok=True)
    return len(files)


def _fill(package: ZipFile, archive: Path, files: list[Path], software: str) -> None:
    resources = [_add(package, f"archive/{path.name}", _chunks(path), ZIP_STORED) for path in files]
    names = {path.name for path in files}
    resources.append(_add(package, "indexes/index.cdxj", _lines(archive, names), ZIP_DEFLATED))
    resources.append(_add(package, "pages/pages.jsonl", _pages(archive, names), ZIP_DEFLATED))
    about = {
        "profile": "data-package",
        "wacz_version": "1.1.1",
        "created": strftime("%Y-%m-%dT%H:%M:%SZ", gmtime()),
        "software": software,
        "resources": resources,
    }
    described = _add(
        package, "datapackage.json", [json.dumps(about, indent=2).encode()], ZIP_DEFLATED
    )
    digest = {"path": "datapackage.json", "hash": described["hash"]}
    _add(package, "datapackage-digest.json", [json.dumps(digest).encode()], ZIP_DEFLATED)


def _add(
    package: ZipFile, path: str, chunks: Iterable[bytes], compression: int
) -> dict[str, str | int]:
    """Write one member, and return what the package says of it."""
    total, size = sha256(), 0
    member = ZipInfo(path, gmtime()[:6])
    member.compress_type = compression
    member.external_attr = 0o644 << 16
    with package.open(member, "w", force_zip64=True) as file:
        for chunk in chunks:
            file.write(chunk)
            total.update(chunk)
            size += len(chunk)
    name = path.rpartition("/")[2]
    return {"name": name, "path": path, "hash": f"sha256:{total.hexdigest()}", "bytes": size}


def _chunks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            yield chunk


def _lines(archive: Path, names: set[str]) -> Iterator[bytes]:
    return (capture.line() for capture in captures_in(archive) if capture.filename in names)


def _pages(archive: Path, names: set[str]) -> Iterator[bytes]:
    yield b'{"format": "json-pages-1.0", "id": "pages", "title": "All pages"}\n'
    for number, capture in enumerate(captures_in(archive)):
        if capture.filename in names and capture.status == "200" and capture.mime in _PAGES:
            date = capture.date
            time = f"{date[:4]}-{date[4:6]}-{date[6:8]}T{date[8:10]}:{date[10:12]}:{date[12:]}Z"
            page = {"id": str(number), "url": capture.url, "ts": time}
            yield json.dumps(page).encode() + b"\n"
