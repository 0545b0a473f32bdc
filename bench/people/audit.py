"""Who did what, when, on which run: one row an action, written together with what it did.

``python -m bench audit`` prints the rows.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from sqlite_utils import Database

from bench import config, store
from bench.people.access import Action, Actor
from bench.shown.views import when
from bench.text import Words, preferred, words

Done = Action | str
"""An action, or ``sign_in``, ``sign_out``, ``wrong_passcode``, ``passcode``."""


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    at: str
    """UTC, ISO."""
    who: str
    """`access.Actor.who`."""
    action: str
    run: str | None
    detail: Mapping[str, Any]


def note(db: Database, actor: Actor, action: Done, run: str | None = None, **detail: Any) -> None:
    """Keep what was done, as a part of the write that is going on."""
    with store.writing(db):
        db.execute(
            "insert into audit (at, who, action, run, detail) values (?, ?, ?, ?, ?)",
            (store.now(), actor.who, action, run, msgspec.json.encode(detail).decode()),
        )


def entries(db: Database, run: str | None = None, most: int = 500) -> list[Entry]:
    """What was done, newest first; on one run or at all."""
    rows = db.query(
        "select * from audit where ? is null or run = ? order by id desc limit ?", [run, run, most]
    )
    return [
        Entry(
            at=row["at"],
            who=row["who"],
            action=row["action"],
            run=row["run"],
            detail=msgspec.json.decode(row["detail"]),
        )
        for row in rows
    ]


def name(who: str, t: Words) -> str:
    """Who it was, for reading."""
    kind, _, shell = who.partition(":")
    if kind == "shell":
        return t("access.who.shell", name=shell)
    key = f"access.who.{who or 'unknown'}"
    return t(key) if key in t else who


def deed(entry: Entry, t: Words) -> str:
    """What was done, for reading, with what it was done to."""
    key = f"access.did.{entry.action}"
    said = t(key) if key in t else entry.action
    about = ", ".join(str(value) for value in entry.detail.values() if value)
    return t("access.did_to", did=said, what=about) if about else said


def rows(found: Sequence[Entry], t: Words, timezone: str | None) -> list[dict[str, str]]:
    """For a table, in the order given."""
    return [
        {
            t("audit.when"): when(entry.at, timezone, seconds=True),
            t("audit.who"): name(entry.who, t),
            t("audit.what"): deed(entry, t),
            t("audit.run"): entry.run or "",
        }
        for entry in found
    ]


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench audit", description=__doc__)
    parser.add_argument("--run", help="of this run only")
    parser.add_argument("--json", action="store_true", help="for programs, one object a line")
    asked = parser.parse_args(argv)
    t = words(preferred(os.environ.get("LANG")))
    with store.opened(config.read().database) as db:
        found = entries(db, asked.run, most=100_000)
    for entry in reversed(found):
        if asked.json:
            print(msgspec.json.encode(entry).decode())
        else:
            print(f"{entry.at[:19]}Z  {name(entry.who, t)}  {deed(entry, t)}  {entry.run or ''}")
    return 0
