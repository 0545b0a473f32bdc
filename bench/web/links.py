"""What a link names: results by their ids, from the store or from the published figures."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlencode, urlsplit

import segno
from sqlite_utils import Database

from bench import store
from bench.catalogue import Catalogue
from bench.results import Result, of_published, of_run, told_apart
from bench.shown.views import when
from bench.text import Words

MOST = 300
"""Runs to choose from; older ones are found on the Runs page."""
SELECTABLE = """
select r.id, r.title, r.created from runs r left join labels l on l.run = r.id
where r.state <> 'queued' and l.deleted is null
order by coalesce(l.star, 0) desc, r.created desc, r.rowid desc limit ?
"""


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
    db: Database,
    catalogue: Catalogue,
    t: Words,
    timezone: str | None,
    chosen: Sequence[Result] = (),
) -> dict[str, str]:
    """What can be compared, as id → name: the newest runs that measured something and those
    with a star, newest first, then what is published, and what is chosen already."""
    rows = db.execute(SELECTABLE, [MOST]).fetchall()
    names = {run: f"{title} · {when(created, timezone)}" for run, title, created in rows}
    published = told_apart(
        [of_published(entry, catalogue, t) for entry in catalogue.published.values()]
    )
    labels = {result.id: result.label for result in [*published, *chosen]}
    return names | {name: label for name, label in labels.items() if name not in names}


def newest(db: Database, most: int = 2) -> list[str]:
    """The newest finished runs, one a model on an engine: what a reader likely wants to compare."""
    rows = db.execute(
        f"""select id, max(created) as newest from runs where state = 'done' and not {store.HIDDEN}
            group by model, engine order by newest desc, rowid desc limit ?""",
        [most],
    ).fetchall()
    return [run for run, _ in rows]


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
