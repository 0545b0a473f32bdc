"""The file: opened for each use, migrated when it has to be, written in short transactions."""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
from sqlite_utils import Database

from bench.errors import BenchError
from bench.store.schema import migrations

ALPHABET = "23456789abcdefghjkmnpqrstvwxyz"
"""Letters of a run's id: none that reads like another."""


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


def backup(db: Database, target: Path) -> None:
    """A whole, consistent copy while others write. Never copy the file itself: a part of it may
    lie in its ``-wal``."""
    with sqlite3.connect(target) as copy:
        db.conn.backup(copy)
    copy.close()


def value(db: Database, sql: str, argument: str) -> Any:
    row = db.execute(sql, [argument]).fetchone()
    return None if row is None else row[0]


def text_of(value: Any) -> str:
    return msgspec.json.encode(value).decode()
