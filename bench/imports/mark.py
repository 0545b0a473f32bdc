"""What a stored run carries of the file that it came from: its mark on every page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from bench.errors import Fault
from bench.imports.values import NAMES, Found, Import, Number

if TYPE_CHECKING:  # values only: what draws a chart needs no database
    from bench.store import Run

FACT = "imported"
"""The fact under which a run's mark is stored."""


class Doubtful(msgspec.Struct, frozen=True, kw_only=True):
    """A number that is kept and not used."""

    level: str
    number: Number


class Mark(msgspec.Struct, frozen=True, kw_only=True):
    tool: str
    """A key of `NAMES`."""
    version: str | None
    file: str
    sha256: str
    """Of the file, which is kept under this name."""
    date: str | None
    """When it was measured, as the file tells it."""
    machine: str | None
    definitions: Mapping[str, str]
    told: Mapping[str, str]
    warnings: tuple[Fault, ...]
    doubtful: tuple[Doubtful, ...]

    @property
    def name(self) -> str:
        """The tool with its version, where it is told."""
        tool = NAMES.get(self.tool, self.tool)
        return f"{tool} {self.version}" if self.version else tool


def of(file: Import, found: Found) -> Mark:
    return Mark(
        tool=file.tool,
        version=file.version,
        file=file.name,
        sha256=file.sha256,
        date=found.date,
        machine=found.machine,
        definitions=found.definitions,
        told=found.told,
        warnings=(*file.warnings, *found.warnings),
        doubtful=tuple(
            Doubtful(level=part.name, number=one)
            for part in found.parts
            for one in part.numbers
            if one.doubt
        ),
    )


def elsewhere(run: Run | None) -> bool:
    """Whether a run was measured by another installation and came in a bundle."""
    return run is not None and run.source == "imported" and FACT not in run.facts


def read(run: Run | None) -> Mark | None:
    """The mark of a stored run; None for one of ours, or where a newer version wrote it."""
    if run is None or FACT not in run.facts:
        return None
    try:
        return msgspec.convert(run.facts[FACT], Mark)
    except msgspec.ValidationError:
        return None
