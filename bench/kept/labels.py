"""What people put on a run: a star, tags, a note, another name; set aside, or deleted.

A deleted run is hidden everywhere and stays for `KEPT` days, so that it can be brought back. Then a
worker removes it for good (`purge`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
from sqlite_utils import Database

from bench import store
from bench.errors import BenchError

KEPT = 30
"""Days that a deleted run can be brought back."""
LONGEST_TITLE, LONGEST_NOTE, LONGEST_TAG, MOST_TAGS = 120, 2000, 40, 12


class Label(msgspec.Struct, frozen=True, kw_only=True):
    star: bool = False
    note: str = ""
    tags: tuple[str, ...] = ()
    archived: bool = False
    """Set aside: left out of the list unless asked for; its link works."""
    deleted: str | None = None
    """When, UTC ISO."""


PLAIN = Label()


def of(db: Database, runs: Sequence[str]) -> dict[str, Label]:
    """The labels of runs by id, deleted ones included; a run without is left out."""
    marks = ", ".join("?" * len(runs))
    rows = db.query(f"select * from labels where run in ({marks})", list(runs))
    return {row["run"]: _label(row) for row in rows}


def star(db: Database, run: str, on: bool) -> None:
    _put(db, run, star=int(on))


def archive(db: Database, run: str, on: bool) -> None:
    _put(db, run, archived=int(on))


def describe(
    db: Database,
    run: str,
    title: str,
    note: str,
    tags: Sequence[str],
    seen: tuple[str, Label] | None = None,
) -> None:
    """Name, note and tags. ``seen`` is the name and the label when somebody began to write.

    Raises BenchError ``run_title``, ``run_note``, ``run_tags``, and ``run_changed`` where somebody
    else wrote meanwhile.
    """
    title, note = " ".join(title.split()), note.strip()
    names = tuple(dict.fromkeys(" ".join(tag.split()) for tag in tags if tag.strip()))
    if not title or len(title) > LONGEST_TITLE:
        raise BenchError("run_title", most=LONGEST_TITLE)
    if len(note) > LONGEST_NOTE:
        raise BenchError("run_note", most=LONGEST_NOTE)
    if len(names) > MOST_TAGS or any(len(name) > LONGEST_TAG for name in names):
        raise BenchError("run_tags", most=MOST_TAGS, longest=LONGEST_TAG)
    if seen is not None and seen != _seen(db, run, star=seen[1].star):
        raise BenchError("run_changed")
    _there(db, run)
    db.execute("update runs set title = ? where id = ?", (title, run))
    _put(db, run, note=note, tags=msgspec.json.encode(names).decode())


def delete(db: Database, run: str) -> None:
    """Hide a run everywhere. Raises BenchError ``run_live`` for one that is not over."""
    if _there(db, run) in store.LIVE:
        raise BenchError("run_live")
    _put(db, run, deleted=store.now())


def restore(db: Database, run: str) -> None:
    """Bring a deleted run back. Raises BenchError ``run_gone`` where it is too late."""
    _there(db, run)
    _put(db, run, deleted=None)


def purge(db: Database, days: int = KEPT) -> list[str]:
    """Remove for good what was deleted that long ago; the ids."""
    before = (datetime.now(UTC) - timedelta(days=days)).isoformat(timespec="milliseconds")
    with store.writing(db):
        rows = db.execute("select run from labels where deleted < ?", [before]).fetchall()
        gone = [run for (run,) in rows]
        db.conn.executemany("delete from runs where id = ?", [[run] for run in gone])
    return gone


def tags(db: Database) -> list[str]:
    """Every tag that is in use."""
    rows = db.execute("select distinct value from labels, json_each(labels.tags) order by value")
    return [tag for (tag,) in rows.fetchall()]


def _seen(db: Database, run: str, *, star: bool) -> tuple[str, Label]:
    """Name and label of a run, whatever its star: that is no writing."""
    (title,) = db.execute("select title from runs where id = ?", [run]).fetchone() or ("",)
    return title, msgspec.structs.replace(of(db, [run]).get(run, PLAIN), star=star)


def _there(db: Database, run: str) -> str:
    """The state of a run. Raises BenchError ``run_gone`` for one that is not there any more."""
    row = db.execute("select state from runs where id = ?", [run]).fetchone()
    if row is None:
        raise BenchError("run_gone")
    return str(row[0])


def _put(db: Database, run: str, **values: Any) -> None:
    _there(db, run)
    names = ", ".join(values)
    sets = ", ".join(f"{name} = excluded.{name}" for name in values)
    marks = ", ".join("?" * len(values))
    with store.writing(db):
        db.execute(
            f"insert into labels (run, {names}) values (?, {marks}) "
            f"on conflict (run) do update set {sets}",
            [run, *values.values()],
        )


def _label(row: Mapping[str, Any]) -> Label:
    return Label(
        star=bool(row["star"]),
        note=row["note"],
        tags=msgspec.json.decode(row["tags"], type=tuple[str, ...]),
        archived=bool(row["archived"]),
        deleted=row["deleted"],
    )
