"""Comparisons that somebody kept under a title, with notes and a link of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from sqlite_utils import Database

from bench import store
from bench.config import Config
from bench.errors import BenchError
from bench.people.access import Actor
from bench.people.actions import acting
from bench.shown import view
from bench.shown.view import View

LONGEST_TITLE, LONGEST_NOTES = 120, 4000
MOST = 8
"""Results beside each other."""


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    title: str
    notes: str
    results: tuple[str, ...]
    """Ids of runs and of published results, in their order."""
    view: View
    author: str
    """Who kept it (`access.Actor.who`)."""
    created: str
    changed: str
    """UTC, ISO."""


def keep(
    settings: Config, actor: Actor, title: str, notes: str, results: Sequence[str], seen: View
) -> str:
    """Keep a comparison and return its id.

    Raises BenchError ``comparison_title``, ``comparison_notes``, ``comparison_results`` for what it
    can't be made of, ``comparison_nobody`` for somebody without a name.
    """
    title, notes = _checked(title, notes)
    if not 2 <= len(results) <= MOST:
        raise BenchError("comparison_results", most=MOST)
    if not actor.who:
        raise BenchError("comparison_nobody")
    made, at = store.new_id(), store.now()
    with acting(settings, actor, "compare", comparison=made, title=title) as db:
        db.table("comparisons").insert(
            {
                "id": made,
                "title": title,
                "notes": notes,
                "results": _json(list(results)),
                "view": _json(seen),
                "author": actor.who,
                "created": at,
                "changed": at,
            }
        )
    return made


def change(settings: Config, actor: Actor, kept: Comparison, title: str, notes: str) -> None:
    """Give it another title and other notes. Raises as `keep` does, ``comparison_author`` for
    somebody else's, ``comparison_gone`` for one that was deleted meanwhile."""
    title, notes = _checked(title, notes)
    with acting(settings, actor, "compare", comparison=kept.id, title=title) as db:
        _require(actor, load(db, kept.id))
        db.execute(
            "update comparisons set title = ?, notes = ?, changed = ? where id = ?",
            (title, notes, store.now(), kept.id),
        )


def delete(settings: Config, actor: Actor, kept: Comparison) -> None:
    """Its results stay. Raises as `change` does."""
    with acting(settings, actor, "compare", comparison=kept.id, deleted=kept.title) as db:
        _require(actor, load(db, kept.id))
        db.execute("delete from comparisons where id = ?", [kept.id])


def may_change(actor: Actor, kept: Comparison) -> bool:
    """Operators may, and its author: who signed in with the same e-mail address. Other names can be
    chosen freely at some providers."""
    return actor.role == "operator" or ("@" in actor.who and actor.who == kept.author)


def load(db: Database, id: str) -> Comparison | None:
    row = next(db.query("select * from comparisons where id = ?", [id]), None)
    return None if row is None else _comparison(row)


def every(db: Database, most: int = 50) -> list[Comparison]:
    """The newest first."""
    rows = db.query("select * from comparisons order by changed desc limit ?", [most])
    return [_comparison(row) for row in rows]


def _require(actor: Actor, kept: Comparison | None) -> None:
    if kept is None:
        raise BenchError("comparison_gone")
    if not may_change(actor, kept):
        raise BenchError("comparison_author")


def _checked(title: str, notes: str) -> tuple[str, str]:
    title, notes = " ".join(title.split()), notes.strip()
    if not title or len(title) > LONGEST_TITLE:
        raise BenchError("comparison_title", most=LONGEST_TITLE)
    if len(notes) > LONGEST_NOTES:
        raise BenchError("comparison_notes", most=LONGEST_NOTES)
    return title, notes


def _comparison(row: Mapping[str, Any]) -> Comparison:
    results = msgspec.json.decode(row["results"], type=tuple[str, ...])
    seen = view.read(msgspec.json.decode(row["view"], type=dict[str, Any]))
    return Comparison(**{**row, "results": results, "view": seen})


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
