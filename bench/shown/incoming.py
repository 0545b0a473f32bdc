"""A file that somebody brings: results of another tool, or a run bundle. Looked at, then saved."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

import msgspec
from sqlite_utils import Database

from bench import imports
from bench.catalogue import Catalogue
from bench.config import Config
from bench.errors import BenchError
from bench.export import unbundle
from bench.export.unbundle import Bundle
from bench.imports import keep
from bench.imports.keep import Choice, Kept
from bench.imports.values import NAMES, Import
from bench.people.access import Actor
from bench.shown.views import when
from bench.text import Words

File = Import | Bundle


def read(file: Path | BinaryIO, name: str) -> File:
    """What a file is and says. Raises BenchError as `imports.read` and `unbundle.read` do."""
    try:
        return imports.read(file, name)
    except BenchError as error:
        if error.fault.code != "import_bundle":
            raise
    return unbundle.read(file)


def what(found: File, name: str, t: Words) -> str:
    """What a file is, in a sentence."""
    if isinstance(found, Bundle):
        made, n = found.about.made[:10], len(found.runs)
        return t("imports.what_bundle", file=name, n=n, made=made)
    return t("imports.what", file=name, tool=NAMES[found.tool])


def before(db: Database, found: File) -> tuple[str, ...]:
    """The runs of a file that are here already."""
    if isinstance(found, Bundle):
        return unbundle.before(db, found)
    return keep.before(db, found)


def new(db: Database, found: File) -> int:
    """How many runs of a file are not here yet."""
    all = len(found.runs) if isinstance(found, Bundle) else len(found.results)
    return all - len(before(db, found))


def save(
    settings: Config,
    actor: Actor,
    found: File,
    content: Path | BinaryIO,
    known: Catalogue,
    choices: Sequence[Choice] = (),
) -> tuple[Kept, ...]:
    """Keep each result of a file as a run; what is here already stays as it is.

    Raises BenchError ``access.why.…`` for who may not import.
    """
    if isinstance(found, Bundle):
        return unbundle.save(settings, actor, found)
    return keep.save(settings, actor, found, content, known, choices)


class _Listed(msgspec.Struct):
    title: str
    workload: str
    state: str
    created: str


def listed(bundle: Bundle, t: Words, timezone: str | None) -> list[dict[str, str]]:
    """The runs of a bundle, for reading."""
    rows = [
        msgspec.json.decode(tables["runs"], type=list[_Listed])[0]
        for tables in bundle.runs.values()
    ]
    return [
        {
            t("imports.bundle.run"): row.title,
            t("imports.bundle.workload"): row.workload,
            t("imports.bundle.date"): when(row.created, timezone),
            t("imports.bundle.state"): t(f"states.{row.state}"),
        }
        for row in rows
    ]


def counted(found: Import, t: Words) -> str:
    """How much a file holds, and how much of it is not used."""
    every = [one for result in found.results for part in result.parts for one in part.numbers]
    grey = sum(one.doubt is not None for one in every)
    key = "imports.counted_doubt" if grey else "imports.counted"
    return t(key, results=len(found.results), numbers=len(every), grey=grey)
