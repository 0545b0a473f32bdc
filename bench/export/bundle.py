"""A run bundle: runs with everything that is stored of them, in one file for another installation.

A gzip file with one JSON object; docs/bundle.md describes it. Each part has the SHA-256 of its own
bytes, so that a change is seen, and each JSON value is taken over byte by byte. What names people,
machines or folders is left out unless told otherwise, and the bundle says so.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from sqlite_utils import Database

from bench import config, store
from bench.errors import BenchError, Fault
from bench.export import redaction
from bench.export.redaction import Redaction
from bench.imports.values import BUNDLE
from bench.plan import Plan
from bench.sample import Sample
from bench.store.schema import migrations
from bench.summary import LevelSummary
from bench.text import preferred, words

VERSION = 1
LIMIT = 100 << 20
"""Bytes of a bundle, unpacked: what fits into the memory of a small machine."""
TABLES: Mapping[str, Mapping[str, Any]] = {
    "runs": {"plan": Plan, "facts": dict[str, Any], "fault": Fault | None},
    "levels": {"summary": LevelSummary},
    "samples": {"sample": Sample},
    "answers": {"sample": Sample},
    "events": {"data": dict[str, Any]},
    "telemetry": {"data": dict[str, Any]},
}
"""What a bundle holds of a run: table → its columns with JSON, and what they must be."""
LEFT = frozenset({"audit", "engines", "labels"})
"""Tables that speak of people, of what they noted, and of what runs on a machine now: in no
bundle."""
LOCAL = frozenset({"token", "cancel", "source", "run"})
"""Columns that mean something in one installation only."""


class About(msgspec.Struct, frozen=True, kw_only=True):
    """What a bundle says of itself."""

    made: str
    """UTC, ISO."""
    runs: tuple[str, ...]
    migrations: tuple[str, ...]
    """Changes of the store that its maker knew: a reader must know them all."""
    redacted: bool
    left_out: tuple[str, ...]
    """Kinds of what was left out: ``owners``, ``hosts``, ``paths``, ``keys``."""


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """The JSON object."""

    format: str
    version: int
    about: msgspec.Raw
    checksums: Mapping[str, str]
    """SHA-256 of the bytes of each part, ``about`` included."""
    parts: Mapping[str, msgspec.Raw] = {}
    """``<run>/<table>`` → its rows."""


def write(db: Database, ids: Sequence[str], *, redact: bool = True) -> bytes:
    """The bundle of ended runs.

    Raises BenchError ``unknown_run``, ``bundle_live``, ``bundle_too_big``.
    """
    left_out: set[str] = set()
    parts: dict[str, bytes] = {}
    for name in dict.fromkeys(ids):
        made, gone = parts_of(db, name, redact)
        parts |= {f"{name}/{table}": rows for table, rows in made.items()}
        left_out |= gone
    about = About(
        made=store.now(),
        runs=tuple(dict.fromkeys(ids)),
        migrations=tuple(sorted(one.name for one in migrations._migrations)),
        redacted=redact,
        left_out=tuple(sorted(left_out)),
    )
    said = msgspec.json.encode(about)
    document = Document(
        format=BUNDLE,
        version=VERSION,
        about=msgspec.Raw(said),
        checksums={name: checksum(part) for name, part in {"about": said, **parts}.items()},
        parts={name: msgspec.Raw(part) for name, part in parts.items()},
    )
    whole = msgspec.json.encode(document)
    if len(whole) > LIMIT:
        raise BenchError("bundle_too_big", limit=LIMIT >> 20)
    return gzip.compress(whole, mtime=0)


def parts_of(db: Database, name: str, redact: bool) -> tuple[dict[str, bytes], set[str]]:
    """Table → its rows as JSON, and the kinds of what was left out of them."""
    found = store.load(db, [name])
    if not found:
        raise BenchError("unknown_run", run=name)
    if found[0].live:
        raise BenchError("bundle_live", run=name)
    clean = redaction.of_run(found[0]) if redact else None
    parts = {table: encoded(db, table, name, clean) for table in TABLES}
    return parts, clean.left_out if clean else set()


def encoded(db: Database, table: str, run: str, clean: Redaction | None = None) -> bytes:
    """A run's rows of a table as JSON, in their order."""
    key, order = ("id", "id") if table == "runs" else ("run", _order(db, table))
    rows = db.query(f"select * from {table} where {key} = ? order by {order}", [run])
    return msgspec.json.encode([_row(table, row, clean) for row in rows])


def _order(db: Database, table: str) -> str:
    """The primary key, by which the rows came in; a number that the store counts is left out."""
    return "rowid" if table == "answers" else ", ".join(db.table(table).pks)


def _row(table: str, row: Mapping[str, Any], clean: Redaction | None) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for column, value in row.items():
        if column in LOCAL or (column == "id" and table != "runs"):
            continue
        if column in TABLES[table] and value is not None:
            made[column] = _json_column(table, value, clean)
        elif clean and column == "owner":
            made[column] = clean.value({"owner": value})["owner"]
        elif clean and column in ("host", "title"):
            made[column] = clean.text(value)
        else:
            made[column] = value
    return made


def _json_column(table: str, text: str, clean: Redaction | None) -> msgspec.Raw:
    """A stored JSON value, byte by byte unless something is taken out of it."""
    if clean is None or table in ("levels", "telemetry"):
        return msgspec.Raw(text.encode())
    value = msgspec.json.decode(text)
    if table in ("samples", "answers"):  # what a model wrote stays
        changed = (
            value | {"error": clean.value(value.get("error"))} if value.get("error") else value
        )
    else:
        changed = clean.value(value)
    return msgspec.Raw(text.encode() if changed == value else msgspec.json.encode(changed))


def checksum(part: bytes) -> str:
    return hashlib.sha256(part).hexdigest()


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m bench bundle", description="runs as one file for another installation"
    )
    parser.add_argument("run", nargs="+")
    parser.add_argument("-o", "--output", type=Path, required=True, help="ends in .json.gz")
    parser.add_argument(
        "--no-redact", action="store_true", help="keep names of people, machines and folders"
    )
    asked = parser.parse_args(argv)
    t = words(preferred(os.environ.get("LANG")))
    try:
        with store.opened(config.read().database) as db:
            asked.output.write_bytes(write(db, asked.run, redact=not asked.no_redact))
    except BenchError as error:
        print(t.fault(error.fault), file=sys.stderr)
        return 1
    print(asked.output)
    return 0
