"""Everything that can be taken away of a run or a comparison, each as one file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

import msgspec
from sqlite_utils import Database

from bench import catalogue, store
from bench.charts.figure import Figure
from bench.config import Config
from bench.export import benchy, bundle, picture, post, standalone
from bench.export import table as report
from bench.export.picture import Look
from bench.results import Result
from bench.shown import tables, views
from bench.text import Words, words
from bench.web import links

Kind = Literal[
    "post",
    "report",
    "png",
    "pdf",
    "svg",
    "csv",
    "markdown",
    "html",
    "json",
    "benchy_json",
    "benchy_markdown",
    "bundle",
]
ENDS: Mapping[Kind, tuple[str, str]] = {
    "post": ("post.zip", "application/zip"),
    "report": ("html", "text/html"),
    "png": ("png.zip", "application/zip"),
    "pdf": ("pdf.zip", "application/zip"),
    "svg": ("svg.zip", "application/zip"),
    "csv": ("csv", "text/csv"),
    "markdown": ("md", "text/markdown"),
    "html": ("table.html", "text/html"),
    "json": ("json", "application/json"),
    "benchy_json": ("llama-benchy.json", "application/json"),
    "benchy_markdown": ("llama-benchy.md", "text/markdown"),
    "bundle": ("bundle.json.gz", "application/gzip"),
}
"""Every kind in the order in which a reader wants them → how its file's name ends, and its type."""
DRAWN: frozenset[Kind] = frozenset({"post", "png", "pdf", "svg"})
"""Kinds with pictures, of which a reader chooses how they look."""
WORDED: frozenset[Kind] = DRAWN | {"report", "markdown", "html"}
"""Kinds with words, in a language."""
DRAW: Mapping[str, Callable[[Figure, Sequence[str], Look], bytes]] = {
    "png": picture.png,
    "pdf": picture.pdf,
    "svg": picture.svg,
}


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be taken away, and how it is to be."""

    kind: Kind
    ids: tuple[str, ...]
    language: str
    look: Look = Look()
    timezone: str | None = None

    @property
    def name(self) -> str:
        """The file's name: ids and nothing that somebody wrote."""
        return f"spark-compare-{'-'.join(self.ids)[:80]}.{ENDS[self.kind][0]}"

    @property
    def mime(self) -> str:
        return ENDS[self.kind][1]


def possible(results: Sequence[Result]) -> list[Kind]:
    """What can be made of these results."""
    ours = [result for result in results if result.run]
    ended = bool(ours) and not any(result.run and result.run.live for result in ours)
    if not any(result.levels or result.published for result in results):
        return ["bundle"] if ended else []
    without: set[Kind] = set() if ended else {"bundle"}
    if not any(level.count_source for result in ours for level in result.levels):
        without |= {"benchy_json", "benchy_markdown"}
    return [kind for kind in ENDS if kind not in without]


def make(settings: Config, asked: Asked) -> bytes:
    """The file.

    Raises BenchError ``fonts_missing`` where Chinese would become empty boxes, and those of
    `bundle.write`.
    """
    t = words(asked.language)
    with store.opened(settings.database) as db:
        results = links.load(db, asked.ids, catalogue.load(), t)
        if asked.kind == "bundle":
            return bundle.write(db, [result.id for result in results if result.run])
        if asked.kind in ("benchy_json", "benchy_markdown"):
            return _benchy(db, results, asked.kind)
    if asked.kind in DRAW:
        return _drawn(asked, results, t)
    return _written(asked, results, t)


def _benchy(db: Database, results: Sequence[Result], kind: Kind) -> bytes:
    every = [benchy.document(db, result) for result in results if result.run]
    made = [document for document in every if document["benchmarks"]]
    return benchy.as_json(made) if kind == "benchy_json" else benchy.as_markdown(made).encode()


def _drawn(asked: Asked, results: Sequence[Result], t: Words) -> bytes:
    """Each chart as a file of its own, together in a ZIP."""
    draw = DRAW[asked.kind]
    return post.packed(
        {
            f"{one.name}.{asked.kind}": draw(one, views.caption(one, t, asked.timezone), asked.look)
            for one in post.figures(results, t)
        }
    )


def _written(asked: Asked, results: Sequence[Result], t: Words) -> bytes:
    match asked.kind:
        case "post":
            return post.packed(post.files(results, t, asked.look, asked.timezone))
        case "report":
            return standalone.html(results, t, asked.timezone)
        case "markdown":
            return report.table_markdown(tables.overview(results, t)).encode()
        case "html":
            return report.table_html(tables.overview(results, t)).encode()
        case "csv":
            return report.table_csv(tables.measurements(results, t))
        case _:
            return report.table_json(tables.measurements(results, t))
