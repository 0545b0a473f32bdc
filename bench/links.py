"""What a link names: results by their ids, from the store or from the published figures."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlencode, urlsplit

import segno
from sqlite_utils import Database

from bench import store
from bench.catalogue import Catalogue
from bench.results import Result, of_published, of_run, told_apart
from bench.text import Words
from bench.views import when


def load(db: Database, ids: Sequence[str], catalogue: Catalogue, t: Words) -> list[Result]:
    """The results of a link in its order; unknown ids and second mentions are left out."""
    runs = {run.id: run for run in store.load(db, ids)}
    found: list[Result] = []
    for name in dict.fromkeys(ids):
        if run := runs.get(name):
            levels, answers = store.levels(db, name), store.answers(db, name)
            found.append(of_run(run, catalogue, levels, answers))
        elif published := catalogue.published.get(name):
            found.append(of_published(published, catalogue, t))
    return told_apart(found)


def selectable(
    db: Database, catalogue: Catalogue, t: Words, timezone: str | None
) -> dict[str, str]:
    """Everything that can be compared, as id → name: runs that measured something, newest first,
    then what is published."""
    runs = [run for run in store.runs(db) if run.state != "queued"]
    names = {run.id: f"{run.title} · {when(run.created, timezone)}" for run in runs}
    published = told_apart(
        [of_published(entry, catalogue, t) for entry in catalogue.published.values()]
    )
    return names | {result.id: result.label for result in published}


def newest(db: Database, most: int = 2) -> list[str]:
    """The newest finished runs, one a model on an engine: what a reader likely wants to compare."""
    found: dict[tuple[str, str], str] = {}
    for run in store.runs(db):
        if run.state == "done":
            found.setdefault((run.model, run.engine), run.id)
    return list(found.values())[:most]


def link(url: str | None, ids: Sequence[str], **query: str) -> str:
    """The link to a page with these results; ids only, so that it says nothing of its sender."""
    address = (url or "").split("?")[0]
    return f"{address}?{urlencode([*(('run', id) for id in ids), *query.items()])}"


def to_page(url: str | None, page: str, **query: str) -> str:
    """The link to another page of the app that is open at ``url``."""
    address = (url or "").split("?")[0].rpartition("/")[0]
    return f"{address}/{page}?{urlencode(query)}"


def qr(address: str) -> str:
    """A link as a QR code in SVG, black on white, for the phone of somebody in the room."""
    code = segno.make(address, error="m", micro=False)
    return str(code.svg_inline(scale=5, border=4, dark="#000", light="#fff"))


def only_here(url: str | None) -> bool:
    """Whether a link to this address works on this machine alone."""
    return urlsplit(url or "").hostname in (None, "localhost", "127.0.0.1", "::1")
