"""The labelled corpus of the tests and of the benchmark: sentences, right and wrong."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import msgspec

FILE = Path(__file__).parents[2] / "tests" / "data" / "chinese" / "corpus.tsv"


class Case(msgspec.Struct, frozen=True, kw_only=True):
    group: str
    """``hard``, ``notice``, ``vocabulary``…"""
    text: str
    faults: tuple[tuple[str, str], ...]
    """Rule and text of each planted fault; none: the text is right."""


def read(file: Path = FILE) -> list[Case]:
    with file.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))
    return [
        Case(
            group=row["group"],
            text=_unescaped(row["text"]),
            faults=tuple(
                _fault(entry) for entry in re.split(r";(?=[a-z_]+=)", row["faults"]) if entry
            ),
        )
        for row in rows
    ]


def _fault(entry: str) -> tuple[str, str]:
    rule, _, text = _unescaped(entry).partition("=")
    return rule, text


def _unescaped(text: str) -> str:
    r"""``\n`` is a line end and ``\u0081`` a character that cannot be seen."""
    text = re.sub(r"\\u([0-9a-f]{4})", lambda match: chr(int(match[1], 16)), text)
    return text.replace("\\n", "\n")
