"""Reading what is stored; a deleted run is not there (`labels.py`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from sqlite_utils import Database

from bench.errors import Fault
from bench.plan import Plan
from bench.sample import Sample
from bench.store.file import value
from bench.store.values import LIVE, Answer, Event, Run
from bench.summary import LevelSummary

HIDDEN = "id in (select run from labels where deleted is not null)"
"""What somebody deleted: `labels.py`."""


def runs(db: Database, most: int = -1) -> list[Run]:
    """Every run, or the newest of them, newest first; deleted ones are left out."""
    rows = db.query(
        f"select * from runs where not {HIDDEN} order by created desc, rowid desc limit ?", [most]
    )
    return [run_of(row) for row in rows]


def live(db: Database) -> list[Run]:
    """The runs that are queued or go on, newest first."""
    marks = ", ".join("?" * len(LIVE))
    rows = db.query(
        f"select * from runs where state in ({marks}) order by created desc, rowid desc", LIVE
    )
    return [run_of(row) for row in rows]


def load(db: Database, ids: Sequence[str]) -> list[Run]:
    """The runs of a link in its order; unknown and deleted ones and second mentions left out."""
    marks = ", ".join("?" * len(ids))
    rows = db.query(f"select * from runs where id in ({marks}) and not {HIDDEN}", list(ids))
    found = {row["id"]: row for row in rows}
    return [run_of(found[run]) for run in dict.fromkeys(ids) if run in found]


def by_token(db: Database, tokens: Sequence[str]) -> tuple[str, ...]:
    """The runs that were kept under these tokens."""
    found = (value(db, "select id from runs where token = ?", token) for token in tokens)
    return tuple(str(run) for run in found if run is not None)


def levels(db: Database, run: str) -> list[LevelSummary]:
    """In the order of measuring."""
    rows = db.execute("select summary from levels where run = ? order by position", [run])
    return [msgspec.json.decode(text, type=LevelSummary) for (text,) in rows]


def samples(db: Database, run: str, level: int) -> list[Sample]:
    """The requests of the level at this position, in the order of sending."""
    rows = db.execute(
        "select sample from samples where run = ? and level = ? order by position", [run, level]
    )
    return [msgspec.json.decode(text, type=Sample) for (text,) in rows]


def answers(db: Database, run: str) -> list[Answer]:
    rows = db.query("select * from answers where run = ? order by rowid", [run])
    return [
        Answer(
            prompt=row["prompt"],
            repeat=row["repeat"],
            language=row["language"],
            question=row["question"],
            sample=msgspec.json.decode(row["sample"], type=Sample),
        )
        for row in rows
    ]


def events(db: Database, run: str, after: int = 0) -> list[Event]:
    """What happened since event ``after``, oldest first."""
    rows = db.query("select * from events where run = ? and id > ? order by id", [run, after])
    return [
        Event(id=row["id"], at=row["at"], kind=row["kind"], data=msgspec.json.decode(row["data"]))
        for row in rows
    ]


def telemetry(db: Database, run: str) -> list[tuple[float, dict[str, Any]]]:
    rows = db.execute("select at, data from telemetry where run = ? order by at", [run])
    return [(at, msgspec.json.decode(data)) for at, data in rows]


def facts_of(db: Database, like: Run) -> list[dict[str, Any]]:
    """What was learnt in runs of the same model on the same engine and machine, newest first."""
    rows = db.execute(
        """select facts from runs where model = ? and artifact is ? and engine = ? and host = ?
           and source = 'measured' order by created desc limit 20""",
        (like.model, like.artifact, like.engine, like.host),
    )
    return [msgspec.json.decode(text) for (text,) in rows]


def loads(db: Database, host: str) -> list[tuple[int | None, dict[str, Any]]]:
    """(bytes of the model, what was learnt) of a machine's runs, newest first."""
    rows = db.execute(
        """select json_extract(plan, '$.artifact_bytes'), facts from runs where host = ?
           and source = 'measured' order by created desc limit 20""",
        [host],
    )
    return [(size, msgspec.json.decode(text)) for size, text in rows]


def everything(db: Database, run: str) -> dict[str, Any]:
    """All that is stored of a run, as plain values."""
    kept = levels(db, run)
    (row,) = load(db, [run])
    values = msgspec.to_builtins(row) | {
        "levels": [
            msgspec.to_builtins(level)
            | {"samples": msgspec.to_builtins(samples(db, run, position))}
            for position, level in enumerate(kept)
        ],
        "answers": msgspec.to_builtins(answers(db, run)),
        "events": msgspec.to_builtins(events(db, run)),
        "telemetry": [{"at": at, **data} for at, data in telemetry(db, run)],
    }
    return dict(values)


def run_of(row: Mapping[str, Any]) -> Run:
    values = {name: row[name] for name in Run.__struct_fields__}
    values["cancel"] = bool(row["cancel"])
    values["plan"] = msgspec.json.decode(row["plan"], type=Plan)
    values["facts"] = msgspec.json.decode(row["facts"])
    values["fault"] = row["fault"] and msgspec.json.decode(row["fault"], type=Fault)
    return Run(**values)
