"""What a worker last saw of its machine: Docker's images, and whether Docker answers.

Pages read it; the server itself never talks to Docker.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec
from sqlite_utils import Database

from bench import store
from bench.errors import Fault

Presence = Literal["here", "missing", "unknown"]


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """One look at a machine's Docker."""

    images: Mapping[str, int] = msgspec.field(default_factory=dict)
    """Bytes of each image by each of its names (tags and digests)."""
    fault: Fault | None = None
    """Why Docker could not be asked."""


def save(db: Database, machine: str, seen: Seen) -> None:
    with store.writing(db):
        db.table("machines").insert(
            {"machine": machine, "at": store.now(), "seen": msgspec.json.encode(seen).decode()},
            replace=True,
        )


def load(db: Database, machine: str) -> Seen | None:
    """None: no worker has looked yet."""
    row = db.execute("select seen from machines where machine = ?", [machine]).fetchone()
    return None if row is None else msgspec.json.decode(row[0], type=Seen)


def presence(seen: Seen | None, image: str) -> Presence:
    """Whether an image is on the machine, as far as its worker has seen."""
    if seen is None or seen.fault is not None:
        return "unknown"
    name = image if ":" in image.rpartition("/")[2] or "@" in image else f"{image}:latest"
    return "here" if name in seen.images else "missing"


def size(db: Database, image: str) -> int | None:
    """Bytes of an image that was on one of our machines before; None where none was."""
    rows = db.execute(
        """select json_extract(facts, '$.image_bytes') from runs
           where json_extract(facts, '$.image') = ? order by created desc limit 1""",
        [image],
    ).fetchone()
    return rows[0] if rows and rows[0] else None
