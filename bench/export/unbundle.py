"""Taking in a run bundle (`bundle.py`): checked whole before anything of it is used.

Nothing of a file is stored on trust: each part must have its checksum, each value must be what the
app itself would have written, and only runs that have ended are taken, so that no worker would
start what somebody else wrote.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO, get_args

import msgspec
from sqlite_utils import Database

from bench import catalogue, charts, store
from bench.config import Config
from bench.errors import BenchError
from bench.export.bundle import LIMIT, TABLES, VERSION, About, Document, checksum, encoded
from bench.imports.keep import Kept
from bench.imports.source import opened
from bench.imports.values import BUNDLE
from bench.kept import labels
from bench.people import access, audit
from bench.people.access import Actor
from bench.shown import sentences, tables, views
from bench.store.schema import migrations
from bench.text import words
from bench.web import links

TIMES = ("created", "started", "finished", "at")
_ID = re.compile(rf"[{store.ALPHABET}]{{8}}")
Row = dict[str, msgspec.Raw]


class _Head(msgspec.Struct):
    version: int


class Bundle(msgspec.Struct, frozen=True, kw_only=True):
    """A bundle that was read and holds what it says."""

    about: About
    runs: Mapping[str, Mapping[str, msgspec.Raw]]
    """Run → table → rows."""
    checksums: Mapping[str, str]


def read(file: Path | BinaryIO) -> Bundle:
    """A bundle, checked whole before anything of it is used.

    Raises BenchError ``bundle_newer``, ``bundle_altered``, ``bundle_odd`` and those of
    `imports.source.opened`.
    """
    with opened(file, limit=LIMIT) as source:
        content = source.text.read()
    try:
        head = msgspec.json.decode(content, type=_Head)
        if head.version > VERSION:
            raise BenchError("bundle_newer", what=f"version {head.version}")
        document = msgspec.json.decode(content, type=Document)
    except msgspec.DecodeError as fault:
        raise BenchError("bundle_odd", problem=str(fault)[:80]) from fault
    if document.format != BUNDLE:
        raise BenchError("import_unknown")
    about = _about(document)
    runs = {run: _rows_of(document, run) for run in about.runs}
    return Bundle(about=about, runs=runs, checksums=document.checksums)


def save(settings: Config, actor: Actor, bundle: Bundle) -> tuple[Kept, ...]:
    """Keep each run of a bundle, under its own id unless another run has that.

    All of them or none; a run that is here already is recognised and left as it is.
    """
    access.require(actor, "import")
    with store.opened(settings.database) as db, store.writing(db):
        kept = tuple(_save(db, bundle, run) for run in bundle.about.runs)
        for one in kept:
            if one.new:
                audit.note(db, actor, "import", one.run, title=store.load(db, [one.run])[0].title)
    return kept


def before(db: Database, bundle: Bundle) -> tuple[str, ...]:
    """The runs of a bundle that are here already, by their ids here; a deleted one comes back when
    the bundle is saved."""
    found = [here for run in bundle.about.runs if (here := _here(db, bundle, run))]
    return tuple(run.id for run in store.load(db, found))


def _about(document: Document) -> About:
    if set(document.checksums) != {"about", *document.parts}:
        raise BenchError("bundle_altered", part="checksums")
    for name, part in {"about": document.about, **document.parts}.items():
        if checksum(bytes(part)) != document.checksums[name]:
            raise BenchError("bundle_altered", part=name[:60])
    try:
        about = msgspec.json.decode(document.about, type=About)
    except msgspec.DecodeError as fault:
        raise BenchError("bundle_odd", problem=str(fault)[:80]) from fault
    known = {one.name for one in migrations._migrations}
    if newer := sorted(set(about.migrations) - known):
        raise BenchError("bundle_newer", what=newer[0][:60])
    return about


def _rows_of(document: Document, run: str) -> Mapping[str, msgspec.Raw]:
    found = {
        name.removeprefix(f"{run}/"): part
        for name, part in document.parts.items()
        if name.startswith(f"{run}/")
    }
    if unknown := sorted(found.keys() - TABLES.keys()):
        raise BenchError("bundle_newer", what=unknown[0][:60])
    if found.keys() != TABLES.keys() or not _ID.fullmatch(run):
        raise BenchError("bundle_odd", problem=f"run {run[:20]}")
    for table, part in found.items():
        for row in _decoded(part):
            _check(table, row)
    if len(_decoded(found["runs"])) != 1:
        raise BenchError("bundle_odd", problem=f"run {run[:20]}")
    return found


def _decoded(part: msgspec.Raw) -> list[Row]:
    try:
        return msgspec.json.decode(part, type=list[Row])
    except msgspec.DecodeError as fault:
        raise BenchError("bundle_odd", problem=str(fault)[:80]) from fault


def _check(table: str, row: Row) -> None:
    """Each value must be what the app would read: nothing of a bundle is stored on trust."""
    kinds = TABLES[table]
    try:
        for column, raw in row.items():
            value = msgspec.json.decode(raw, type=kinds.get(column, str | int | float | None))
            if column in TIMES and isinstance(value, str):
                datetime.fromisoformat(value)
        if table == "runs" and msgspec.json.decode(row["state"]) in (*store.LIVE, None):
            raise BenchError("bundle_odd", problem="runs: state")
        if table == "events" and msgspec.json.decode(row["kind"]) == "state":
            _happened(msgspec.json.decode(row["data"], type=dict[str, Any]))
    except (msgspec.DecodeError, ValueError, KeyError) as fault:
        raise BenchError("bundle_odd", problem=f"{table}: {fault}"[:120]) from fault


def _happened(data: Mapping[str, Any]) -> None:
    """An event of a state must name one."""
    if data.get("state") not in get_args(store.State):
        raise BenchError("bundle_odd", problem="events: state")


# Saving ------------------------------------------------------------------------------------------


def _save(db: Database, bundle: Bundle, run: str) -> Kept:
    if here := _here(db, bundle, run):
        if not store.load(db, [here]):
            labels.restore(db, here)  # it was deleted meanwhile
        return Kept(run=here, new=False)
    name = store.new_id() if _state(db, run) else run
    for table in TABLES:
        part = bundle.runs[run][table]
        key = "id" if table == "runs" else "run"
        extra = {"token": _token(bundle, run), "source": "imported"} if key == "id" else {}
        for row in _decoded(part):
            _insert(db, table, _stored(table, row) | {key: name} | extra)
    _show(db, name)
    return Kept(run=name, new=True)


def _show(db: Database, run: str) -> None:
    """What no page could show is no run of ours: facts are free in form, so they are tried."""
    t = words("en")
    try:
        (result,) = links.load(db, [run], catalogue.load(), t)
        views.numbers(result, t)
        sentences.outcome(result, t)
        charts.of_run(result, t)
        if result.run:
            tables.command(result.run)
            tables.settings(result.run, t)
        tables.timeline(store.events(db, run), t, None)
    except (TypeError, ValueError, AttributeError, LookupError, ArithmeticError) as fault:
        raise BenchError("bundle_odd", problem=type(fault).__name__) from fault


def _here(db: Database, bundle: Bundle, run: str) -> str | None:
    """The run as it is here already, deleted or not: imported before, or made here."""
    if found := store.by_token(db, [_token(bundle, run)]):
        return found[0]
    ended = _state(db, run) not in (*store.LIVE, None)
    same = checksum(encoded(db, "levels", run)) == bundle.checksums[f"{run}/levels"]
    return run if ended and same else None


def _state(db: Database, run: str) -> str | None:
    row = db.execute("select state from runs where id = ?", [run]).fetchone()
    return None if row is None else str(row[0])


def _token(bundle: Bundle, run: str) -> str:
    """By what was measured: a run that got another title meanwhile is the same run."""
    return f"bundle:{run}:{bundle.checksums[f'{run}/levels']}"


def _stored(table: str, row: Row) -> dict[str, Any]:
    return {
        column: bytes(raw).decode()
        if column in TABLES[table] and bytes(raw) != b"null"
        else msgspec.json.decode(raw)
        for column, raw in row.items()
    }


def _insert(db: Database, table: str, row: Mapping[str, Any]) -> None:
    columns = set(db.table(table).columns_dict)
    if unknown := sorted(row.keys() - columns):
        raise BenchError("bundle_newer", what=unknown[0][:60])
    names = ", ".join(row)
    marks = ", ".join("?" * len(row))
    try:
        db.execute(f"insert into {table} ({names}) values ({marks})", list(row.values()))
    except (sqlite3.IntegrityError, OverflowError) as fault:
        raise BenchError("bundle_odd", problem=str(fault)[:80]) from fault
