"""Which containers of engines are there, as the worker keeps the list; pages read it, and ask for
the end of one by a mark in its row. The server itself never talks to Docker."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import msgspec
from sqlite_utils import Database

from bench import store
from bench.store import RUNNING, Run
from engines import Launch


class Engine(msgspec.Struct, frozen=True, kw_only=True):
    """A container of ours."""

    run: str
    """The run that started it, and its label."""
    machine: str
    container: str
    title: str
    started: str
    """UTC, ISO."""
    launch: Launch
    used_by: str | None
    """The run that has it now; None: it was kept after a run."""
    stop: bool
    """Somebody asked for its end."""


def add(db: Database, run: Run, container: str, launch: Launch) -> None:
    """A run has started an engine and uses it."""
    with store.writing(db):
        db.table("engines").insert(
            {
                "run": run.id,
                "machine": run.host,
                "container": container,
                "title": run.title,
                "started": store.now(),
                "launch": msgspec.json.encode(launch).decode(),
                "used_by": run.id,
            },
            replace=True,
        )


def take(db: Database, engine: str, run: str) -> bool:
    """Use a kept engine for a run; False when somebody has asked for its end meanwhile."""
    with store.writing(db):
        taken = db.execute(
            "update engines set used_by = ? where run = ? and used_by is null and stop = 0",
            (run, engine),
        )
    return bool(taken.rowcount)


def keep(db: Database, engine: str) -> None:
    """Its run has ended; it runs on."""
    with store.writing(db):
        db.execute("update engines set used_by = null where run = ?", [engine])


def drop(db: Database, engine: str) -> None:
    """It is gone."""
    with store.writing(db):
        db.execute("delete from engines where run = ?", [engine])


def only(db: Database, machine: str, there: Collection[str]) -> None:
    """Drop the rows of a machine but for these runs' engines."""
    for engine in of(db, machine):
        if engine.run not in there:
            drop(db, engine.run)


def ask_stop(db: Database, engine: str) -> None:
    """Ask for the end of an engine; the worker of its machine ends it."""
    with store.writing(db):
        db.execute("update engines set stop = 1 where run = ?", [engine])


def of(db: Database, machine: str | None = None) -> list[Engine]:
    """All of a machine, or of every machine; newest first."""
    rows = db.query(
        "select * from engines where ? is null or machine = ? order by started desc",
        [machine, machine],
    )
    return [_engine(row) for row in rows]


def kept(db: Database, machine: str) -> list[Engine]:
    return [engine for engine in of(db, machine) if engine.used_by is None]


def idle(db: Database, worked: Collection[str]) -> list[Engine]:
    """What a page offers to stop: engines kept after their run, and those whose run nobody works
    on any more. ``worked`` are the machines that have a worker now."""
    return [
        engine
        for engine in of(db)
        if engine.used_by is None
        or engine.machine not in worked
        or not _running(db, engine.used_by)
    ]


def _running(db: Database, run: str) -> bool:
    return any(row.state in RUNNING for row in store.load(db, [run]))


def _engine(row: dict[str, Any]) -> Engine:
    values = {name: row[name] for name in Engine.__struct_fields__}
    values["launch"] = msgspec.json.decode(row["launch"], type=Launch)
    values["stop"] = bool(row["stop"])
    return Engine(**values)
