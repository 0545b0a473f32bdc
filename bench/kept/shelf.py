"""The list of runs: searched, filtered, sorted and cut into pages by SQLite.

Only the runs of one page are read whole, so that a store of thousands opens as fast as one of ten.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any, Literal

import msgspec
from sqlite_utils import Database

from bench import store
from bench.store import Run

PAGE = 20
Sort = Literal["newest", "oldest", "name", "throughput"]
SORTS: Mapping[Sort, str] = {
    "newest": "r.created desc, r.rowid desc",
    "oldest": "r.created, r.rowid",
    "name": "r.title collate nocase, r.created desc",
    "throughput": """(select max(throughput_tokens_per_s) from levels where run = r.id) desc,
                     r.created desc""",
}
COLUMNS = ("model", "engine", "host", "workload", "owner", "source", "state")
"""What the list can be narrowed to, each one value; their names in a link."""


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """What of the list is asked for; what is empty does not narrow it."""

    text: str = ""
    """In the name, the note or a tag, or the id itself."""
    model: str = ""
    engine: str = ""
    host: str = ""
    workload: str = ""
    owner: str = ""
    source: str = ""
    state: str = ""
    tag: str = ""
    since: str = ""
    """ISO date, the first day."""
    until: str = ""
    """ISO date, the last day."""
    starred: str = ""
    """``1``: only those with a star."""
    archived: str = ""
    """``1``: only those that were set aside, which the list leaves out otherwise."""
    sort: str = "newest"

    @property
    def narrowed(self) -> int:
        """How many filters are on."""
        names = set(self.__struct_fields__) - {"sort", "text"}
        return sum(bool(getattr(self, name)) for name in names)


class Listed(msgspec.Struct, frozen=True, kw_only=True):
    runs: tuple[Run, ...]
    """Of this page."""
    total: int
    """Of all pages."""


def wanted(query: Mapping[str, str]) -> Wanted:
    """From a link; what is unknown there does not narrow the list."""
    known = {name: query[name][:200] for name in Wanted.__struct_fields__ if query.get(name)}
    known = {n: v for n, v in known.items() if n not in ("since", "until") or day(v)}
    if known.get("sort") not in SORTS:
        known.pop("sort", None)
    return Wanted(**known)


def query(asked: Wanted) -> dict[str, str]:
    """For a link: what is not as usual."""
    usual = msgspec.structs.asdict(Wanted())
    return {
        name: value for name, value in msgspec.structs.asdict(asked).items() if value != usual[name]
    }


def listed(db: Database, asked: Wanted, page: int = 1, size: int = PAGE) -> Listed:
    """One page of the runs that are over, from 1."""
    where, values = _where(asked)
    body = f"from runs r left join labels l on l.run = r.id where {where}"
    (total,) = db.execute(f"select count(*) {body}", values).fetchone()
    order = next((text for name, text in SORTS.items() if name == asked.sort), SORTS["newest"])
    rows = db.execute(
        f"select r.id {body} order by {order} limit ? offset ?",
        [*values, size, size * (max(page, 1) - 1)],
    ).fetchall()
    return Listed(runs=tuple(store.load(db, [run for (run,) in rows])), total=total)


def options(db: Database) -> dict[str, dict[str, str]]:
    """What there is to narrow the list to: filter → value → name."""
    found: dict[str, dict[str, str]] = {}
    for column in COLUMNS:
        name = "model_name" if column == "model" else column
        rows = db.execute(
            f"select {column}, min({name}) from runs where {column} <> '' "
            f"and state not in {_LIVE} and not {store.HIDDEN} "
            f"group by {column} order by 2 collate nocase"
        ).fetchall()
        found[column] = dict(rows)
    return found


_LIVE = "(" + ", ".join(f"'{state}'" for state in store.LIVE) + ")"


def _where(asked: Wanted) -> tuple[str, list[Any]]:
    parts = [f"r.state not in {_LIVE}", "l.deleted is null"]
    values: list[Any] = []
    parts.append("coalesce(l.archived, 0) = 1" if asked.archived else "coalesce(l.archived, 0) = 0")
    if asked.starred:
        parts.append("l.star = 1")
    for column in COLUMNS:
        if value := getattr(asked, column):
            parts.append(f"r.{column} = ?")
            values.append(value)
    if asked.tag:
        parts.append("exists (select 1 from json_each(l.tags) where value = ?)")
        values.append(asked.tag)
    if asked.since:
        parts.append("r.created >= ?")
        values.append(asked.since)
    if asked.until:
        parts.append("substr(r.created, 1, 10) <= ?")
        values.append(asked.until)
    for word in asked.text.split():
        like = "%" + word.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + "%"
        parts.append(
            "(r.title like ? escape '\\' or l.note like ? escape '\\' "
            "or exists (select 1 from json_each(l.tags) where value like ? escape '\\') "
            "or r.id = ?)"
        )
        values += [like, like, like, word]
    return " and ".join(parts), values


def day(iso: str) -> date | None:
    """A day of a link, as a calendar wants it; None for what is none."""
    try:
        return date.fromisoformat(iso)
    except ValueError:
        return None
