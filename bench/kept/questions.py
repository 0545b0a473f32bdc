"""A team's own sets of questions in the store, each in versions that are never changed.

A set's id holds a digest of its content (`chinese/own.py`): changed questions are another set, and
answers are compared within one. A run keeps the questions that it was sent, whatever happens to
their set.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping

import msgspec
from sqlite_utils import Database

from bench import store
from bench.catalogue import Prompt
from bench.chinese import own
from bench.errors import BenchError

MOST = 200
"""Questions in a set."""
_NAME = re.compile(r"[\w-]{1,40}")


class QuestionSet(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    """Its name and version: ``office-1f0c22aa``."""
    at: str
    """UTC, ISO."""
    name: str
    who: str
    prompts: tuple[Prompt, ...]


def decoded(content: bytes) -> str:
    """The text of a CSV file. Raises BenchError ``prompts_encoding``."""
    marked = content[:2] in (b"\xff\xfe", b"\xfe\xff")
    try:
        return content.decode("utf-16" if marked else "utf-8-sig")
    except UnicodeDecodeError as fault:
        raise BenchError("prompts_encoding") from fault


def as_csv(rows: Iterable[Mapping[str, object]]) -> str:
    """The rows of a form as a file's text; rows without a question are left out."""
    out = io.StringIO()
    writer = csv.DictWriter(out, own.COLUMNS, lineterminator="\n")
    writer.writeheader()
    for row in rows:
        cells = {name: str(row.get(name) or "").strip() for name in own.COLUMNS}
        if cells["text"]:
            writer.writerow(cells)
    return out.getvalue()


def parse(name: str, content: str) -> tuple[Prompt, ...]:
    """The questions of a file's text under a name.

    Raises BenchError ``prompts_name``, ``prompts_count``, ``prompts_columns`` or ``prompts_row``.
    """
    name = name.strip()
    if not _NAME.fullmatch(name):
        raise BenchError("prompts_name")
    prompts = own.read(name, content)
    if not 1 <= len(prompts) <= MOST:
        raise BenchError("prompts_count", n=len(prompts), most=MOST)
    return prompts


def save(db: Database, name: str, prompts: tuple[Prompt, ...], who: str = "") -> str:
    """Keep a set; the same content under the same name again is the same set. Returns its id."""
    with store.writing(db):
        db.execute(
            "insert or ignore into prompt_sets (id, at, name, who, prompts) values (?, ?, ?, ?, ?)",
            (
                prompts[0].set,
                store.now(),
                name.strip(),
                who,
                msgspec.json.encode(prompts).decode(),
            ),
        )
    return prompts[0].set


def every(db: Database) -> list[QuestionSet]:
    """All sets, newest first."""
    rows = db.query("select * from prompt_sets order by at desc, id")
    return [
        QuestionSet(
            id=row["id"],
            at=row["at"],
            name=row["name"],
            who=row["who"],
            prompts=msgspec.json.decode(row["prompts"], type=tuple[Prompt, ...]),
        )
        for row in rows
    ]


def load(db: Database, id: str) -> QuestionSet:
    """Raises BenchError ``prompts_unknown``."""
    found = next((one for one in every(db) if one.id == id), None)
    if found is None:
        raise BenchError("prompts_unknown", id=id[:60])
    return found


def remove(db: Database, id: str) -> None:
    """Offer a set no more; runs that used it keep its questions."""
    with store.writing(db):
        db.execute("delete from prompt_sets where id = ?", [id])
