"""The store: one SQLite file, opened for each use.

``with store.opened(path) as db:`` migrates, sets WAL and a busy timeout. Writes are short
``BEGIN IMMEDIATE`` transactions. What people filter by is a column; the rest is JSON of the values
in `plan.py`, `summary.py`, `sample.py`. Times are UTC ISO strings, durations seconds.
"""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import msgspec
from sqlite_utils import Database

from bench.errors import BenchError, Fault
from bench.plan import Plan
from bench.sample import Sample
from bench.schema import migrations
from bench.summary import LevelSummary

State = Literal[
    "queued",
    "preparing",
    "loading",
    "warming",
    "measuring",
    "judging",
    "done",
    "failed",
    "cancelled",
    "interrupted",
]
RUNNING: tuple[State, ...] = ("preparing", "loading", "warming", "measuring", "judging")
LIVE: tuple[State, ...] = ("queued", *RUNNING)
ALPHABET = "23456789abcdefghjkmnpqrstvwxyz"
"""Letters of a run's id: none that reads like another."""


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """A run's row; its levels, answers and events are read apart."""

    id: str
    state: State
    source: str
    """``measured`` or ``imported``."""
    created: str
    started: str | None
    finished: str | None
    title: str
    model: str
    model_name: str
    artifact: str | None
    engine: str
    host: str
    workload: str
    owner: str
    cancel: bool
    plan: Plan
    facts: Mapping[str, Any]
    """What was learnt on the way, by name: ``engine_version``, ``image_digest``, ``launch``,
    ``command``, ``load_seconds``, ``slots``, ``context``…"""
    fault: Fault | None

    @property
    def live(self) -> bool:
        return self.state in LIVE


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """Something that happened in a run: a state, a loading stage, a level's progress."""

    id: int
    at: str
    kind: str
    data: Mapping[str, Any]


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """One kept answer; ``sample`` holds its text and times."""

    prompt: str
    repeat: int
    language: str
    question: str
    sample: Sample


@contextmanager
def opened(path: Path) -> Iterator[Database]:
    """The database, made and migrated when it has to be.

    Raises BenchError ``database_newer`` for a file that a newer version wrote, ``database_broken``
    for a file that is none.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(path, timeout=15, isolation_level=None)
    try:
        db = Database(connection)
        _prepare(db, path)
        yield db
    finally:
        connection.close()


def _prepare(db: Database, path: Path) -> None:
    try:
        if db.execute("pragma journal_mode").fetchone()[0] != "wal":
            db.execute("pragma journal_mode = wal")
        db.execute("pragma foreign_keys = on")
        known = {migration.name for migration in migrations._migrations}
        if newer := {migration.name for migration in migrations.applied(db)} - known:
            raise BenchError("database_newer", path=path.name, change=min(newer))
        if migrations.pending(db):
            with writing(db):
                migrations.apply(db)
    except sqlite3.DatabaseError as fault:
        if isinstance(fault, sqlite3.OperationalError):
            raise
        raise BenchError("database_broken", path=path.name) from fault


@contextmanager
def writing(db: Database) -> Iterator[None]:
    """One short write: all of it or nothing. Inside another one it is a part of that."""
    if db.conn.in_transaction:
        yield
        return
    db.execute("begin immediate")
    try:
        yield
    except BaseException:
        if db.conn.in_transaction:
            db.execute("rollback")
        raise
    db.execute("commit")


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def new_id() -> str:
    return "".join(secrets.choice(ALPHABET) for _ in range(8))


# Writing a run -----------------------------------------------------------------------------------


def submit(db: Database, plan: Plan, token: str | None = None) -> str:
    """Queue a run and return its id. The same ``token`` twice is the same run: a second click."""
    with writing(db):
        if token and (before := _value(db, "select id from runs where token = ?", token)):
            return str(before)
        run = new_id()
        db.table("runs").insert(
            {
                "id": run,
                "token": token,
                "state": "queued",
                "created": now(),
                "title": plan.title,
                "model": plan.model,
                "model_name": plan.model_name,
                "artifact": plan.artifact,
                "engine": plan.engine,
                "host": plan.host,
                "workload": plan.workload.id,
                "owner": plan.owner,
                "plan": _json(plan),
            }
        )
        _event(db, run, "state", {"state": "queued"})
    return run


def claim(db: Database, host: str = "local") -> Run | None:
    """Take the oldest queued run of a machine, or None. Safe with any number of workers."""
    with writing(db):
        row = next(
            db.query(
                """update runs set state = 'preparing', started = ? where id = (
                       select id from runs where state = 'queued' and host = ?
                       order by created, rowid limit 1
                   ) returning *""",
                [now(), host],
            ),
            None,
        )
        if row is not None:
            _event(db, row["id"], "state", {"state": "preparing"})
    return None if row is None else _run(row)


def enter(db: Database, run: str, state: State) -> None:
    """Move a run on, note when, and note the end of one that ends."""
    with writing(db):
        finished = None if state in LIVE else now()
        db.execute("update runs set state = ?, finished = ? where id = ?", (state, finished, run))
        _event(db, run, "state", {"state": state})


def fail(db: Database, run: str, fault: Fault) -> None:
    with writing(db):
        db.execute(
            "update runs set state = 'failed', finished = ?, fault = ? where id = ?",
            (now(), _json(fault), run),
        )
        _event(db, run, "state", {"state": "failed", "code": fault.code})


def cancel(db: Database, run: str) -> None:
    """Ask for the end of a run: a queued one ends here, the worker ends a running one."""
    with writing(db):
        state = _value(db, "select state from runs where id = ?", run)
        if state == "queued":
            db.execute(
                "update runs set state = 'cancelled', finished = ? where id = ?", (now(), run)
            )
            _event(db, run, "state", {"state": "cancelled"})
        elif state in RUNNING:
            db.execute("update runs set cancel = 1 where id = ?", [run])


def cancelling(db: Database, run: str) -> bool:
    return bool(_value(db, "select cancel from runs where id = ?", run))


def interrupt(db: Database, host: str = "local") -> list[str]:
    """Mark every run of a machine that says it is running as interrupted. Only for the holder of
    its lock: a run can't be running while nobody held it."""
    with writing(db):
        marks = ", ".join("?" * len(RUNNING))
        rows = db.execute(
            f"update runs set state = 'interrupted', finished = ? where host = ? "
            f"and state in ({marks}) returning id",
            (now(), host, *RUNNING),
        ).fetchall()
        for (run,) in rows:
            _event(db, run, "state", {"state": "interrupted"})
    return [run for (run,) in rows]


def event(db: Database, run: str, kind: str, data: Mapping[str, Any]) -> None:
    with writing(db):
        _event(db, run, kind, data)


def learn(db: Database, run: str, facts: Mapping[str, Any]) -> None:
    """Add facts to a run; a fact learnt again replaces what was known."""
    with writing(db):
        known = msgspec.json.decode(_value(db, "select facts from runs where id = ?", run) or "{}")
        db.execute("update runs set facts = ? where id = ?", (_json(known | dict(facts)), run))


def keep(
    db: Database,
    run: Run,
    levels: Sequence[tuple[LevelSummary, Sequence[Sample]]],
    token: str,
) -> tuple[str, bool]:
    """Keep a run that happened elsewhere, whole or not at all: its id, and whether it is new.

    The same ``token`` twice is the same run; one that was deleted meanwhile is back.
    """
    if run.live:
        raise ValueError("a worker would take it")
    row = msgspec.structs.asdict(run) | {
        "token": token,
        "cancel": 0,
        "plan": _json(run.plan),
        "facts": _json(run.facts),
        "fault": None if run.fault is None else _json(run.fault),
    }
    with writing(db):
        if before := _value(db, "select id from runs where token = ?", token):
            db.execute("update labels set deleted = null where run = ?", [before])
            return str(before), False
        db.table("runs").insert(row)
        for summary, samples in levels:
            _level(db, run.id, summary, samples)
    return run.id, True


def save_level(
    db: Database, run: str, summary: LevelSummary, samples: Sequence[Sample] = ()
) -> None:
    """Keep a finished level and each of its requests."""
    with writing(db):
        _level(db, run, summary, samples)


def save_answer(db: Database, run: str, answer: Answer) -> None:
    with writing(db):
        db.table("answers").insert(
            {
                "run": run,
                "prompt": answer.prompt,
                "repeat": answer.repeat,
                "language": answer.language,
                "question": answer.question,
                "sample": _json(answer.sample),
            },
            replace=True,
        )


def save_telemetry(db: Database, run: str, rows: Sequence[tuple[float, Mapping[str, Any]]]) -> None:
    """Readings of the machine and the engine: (seconds since the run started, values)."""
    with writing(db):
        db.conn.executemany(
            "insert into telemetry (run, at, data) values (?, ?, ?)",
            [(run, at, _json(data)) for at, data in rows],
        )


# Reading -----------------------------------------------------------------------------------------


HIDDEN = "id in (select run from labels where deleted is not null)"
"""What somebody deleted: `labels.py`."""


def runs(db: Database, most: int = -1) -> list[Run]:
    """Every run, or the newest of them, newest first; deleted ones are left out."""
    rows = db.query(
        f"select * from runs where not {HIDDEN} order by created desc, rowid desc limit ?", [most]
    )
    return [_run(row) for row in rows]


def live(db: Database) -> list[Run]:
    """The runs that are queued or go on, newest first."""
    marks = ", ".join("?" * len(LIVE))
    rows = db.query(
        f"select * from runs where state in ({marks}) order by created desc, rowid desc", LIVE
    )
    return [_run(row) for row in rows]


def load(db: Database, ids: Sequence[str]) -> list[Run]:
    """The runs of a link in its order; unknown and deleted ones and second mentions left out."""
    marks = ", ".join("?" * len(ids))
    rows = db.query(f"select * from runs where id in ({marks}) and not {HIDDEN}", list(ids))
    found = {row["id"]: row for row in rows}
    return [_run(found[run]) for run in dict.fromkeys(ids) if run in found]


def by_token(db: Database, tokens: Sequence[str]) -> tuple[str, ...]:
    """The runs that were kept under these tokens."""
    found = (_value(db, "select id from runs where token = ?", token) for token in tokens)
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


def backup(db: Database, target: Path) -> None:
    """A whole, consistent copy while others write. Never copy the file itself: a part of it may
    lie in its ``-wal``."""
    with sqlite3.connect(target) as copy:
        db.conn.backup(copy)
    copy.close()


def _run(row: Mapping[str, Any]) -> Run:
    values = {name: row[name] for name in Run.__struct_fields__}
    values["cancel"] = bool(row["cancel"])
    values["plan"] = msgspec.json.decode(row["plan"], type=Plan)
    values["facts"] = msgspec.json.decode(row["facts"])
    values["fault"] = row["fault"] and msgspec.json.decode(row["fault"], type=Fault)
    return Run(**values)


def _level(db: Database, run: str, summary: LevelSummary, samples: Sequence[Sample]) -> None:
    position = _value(db, "select count(*) from levels where run = ?", run)
    db.table("levels").insert(
        {
            "run": run,
            "position": position,
            "kind": summary.kind,
            "name": summary.name,
            "concurrency": summary.concurrency,
            "repeat": summary.repeat,
            "ok": summary.ok,
            "failed": summary.failed,
            "ttft_p50_s": summary.ttft.p50,
            "ttft_worst_s": summary.ttft.worst,
            "throughput_tokens_per_s": summary.throughput,
            "summary": _json(summary),
        }
    )
    db.conn.executemany(
        "insert into samples values (?, ?, ?, ?)",
        [(run, position, index, _json(sample)) for index, sample in enumerate(samples)],
    )


def _event(db: Database, run: str, kind: str, data: Mapping[str, Any]) -> None:
    db.execute(
        "insert into events (run, at, kind, data) values (?, ?, ?, ?)",
        (run, now(), kind, _json(data)),
    )


def _value(db: Database, sql: str, argument: str) -> Any:
    row = db.execute(sql, [argument]).fetchone()
    return None if row is None else row[0]


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
