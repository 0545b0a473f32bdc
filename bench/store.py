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
from sqlite_utils import Database, Migrations

from bench import plan as plans
from bench.errors import BenchError, Fault
from bench.plan import Plan
from bench.sample import Sample
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
Facts = Mapping[str, Any]
"""What was learnt of a run, by name: ``engine_version``, ``image_digest``, ``launch``,
``docker_command``, ``load_seconds``, ``slots``, ``context``, ``stages``, ``health``…"""

migrations = Migrations("spark-compare")


@migrations()
def m001_first(db: Database) -> None:
    db.executescript("""
        create table runs (
            id text primary key, state text not null, source text not null default 'measured',
            created text not null, started text, finished text,
            title text not null, model text not null, model_name text not null, artifact text,
            engine text not null, host text not null, workload text not null,
            owner text not null default '', cancel integer not null default 0,
            plan text not null, facts text not null default '{}', fault text
        ) strict;
        create index runs_by_state on runs (state, created);
        create table levels (
            run text not null references runs (id) on delete cascade, position integer not null,
            kind text not null, name text not null, concurrency integer not null,
            repeat integer not null, ok integer not null, failed integer not null,
            ttft_p50_s real, ttft_worst_s real, throughput_tokens_per_s real,
            summary text not null, primary key (run, position)
        ) strict;
        create table samples (
            run text not null references runs (id) on delete cascade, level integer not null,
            position integer not null, sample text not null, primary key (run, level, position)
        ) strict;
        create table answers (
            run text not null references runs (id) on delete cascade, prompt text not null,
            repeat integer not null, language text not null, question text not null,
            sample text not null, primary key (run, prompt, repeat)
        ) strict;
        create table events (
            id integer primary key, run text not null references runs (id) on delete cascade,
            at text not null, kind text not null, data text not null
        ) strict;
        create index events_by_run on events (run, id);
        create table telemetry (
            run text not null references runs (id) on delete cascade, at real not null,
            data text not null
        ) strict;
        create index telemetry_by_run on telemetry (run, at);
        create view v_runs as
            select id, state, source, created as created_utc, finished as finished_utc, title,
                   model, artifact, engine, host, workload from runs;
        create view v_levels as
            select run, name, kind, concurrency, repeat, ok as requests_ok, failed as
                   requests_failed, ttft_p50_s, ttft_worst_s, throughput_tokens_per_s from levels;
    """)


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """A run's row, its levels left apart (`levels`)."""

    id: str
    state: State
    source: str
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
    facts: Facts
    fault: Fault | None


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """Something that happened in a run: a state, a loading stage, a level's progress."""

    at: str
    kind: str
    data: Mapping[str, Any]


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    prompt: str
    repeat: int
    language: str
    question: str
    sample: Sample


@contextmanager
def opened(path: Path) -> Iterator[Database]:
    """The database, made and migrated when it has to be.

    Raises BenchError ``database_newer`` for a file written by a newer version.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(path, timeout=15, isolation_level=None)
    try:
        db = Database(connection)
        if db.execute("pragma journal_mode").fetchone()[0] != "wal":
            db.execute("pragma journal_mode = wal")
        db.execute("pragma foreign_keys = on")
        _migrate(db, path)
        yield db
    finally:
        connection.close()


def _migrate(db: Database, path: Path) -> None:
    known = [migration.name for migration in migrations.pending(_EMPTY)]
    ...


@contextmanager
def writing(db: Database) -> Iterator[None]:
    """One short write: all of it or nothing."""
    db.execute("begin immediate")
    try:
        yield
    except BaseException:
        db.execute("rollback")
        raise
    db.execute("commit")


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
