"""Tables in text: CSV with a header, and Markdown with pipes, as rows of heading → cell."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping
from typing import BinaryIO

from bench.errors import BenchError

Row = Mapping[str, str]
MOST = 20_000
"""Rows of a table: more is no summary."""
CELL = 1 << 20


def rows_csv(text: BinaryIO, *, heading: str) -> Iterator[Row]:
    """The rows under the line that holds the column ``heading``; lines above are passed over.

    The table ends at an empty line. Raises BenchError ``import_too_many``, ``import_broken``.
    """
    text.seek(0)
    with _lines(text) as lines:
        head: list[str] = []
        try:
            for count, cells in enumerate(csv.reader(lines)):
                if not head:
                    names = [cell.strip() for cell in cells]
                    head = names if heading in names else []
                elif not any(cell.strip() for cell in cells):
                    return
                elif count > MOST:
                    raise BenchError("import_too_many", most=MOST)
                else:
                    yield dict(zip(head, (cell.strip() for cell in cells), strict=False))
        except csv.Error as fault:
            raise BenchError("import_broken", line=count + 1, problem=str(fault)) from fault


def rows_markdown(text: BinaryIO) -> Iterator[Row]:
    """The rows of every table; a line of other text between ends one."""
    text.seek(0)
    with _lines(text) as lines:
        head: list[str] = []
        for count, line in enumerate(lines):
            if count > MOST:
                raise BenchError("import_too_many", most=MOST)
            if not line.lstrip().startswith("|"):
                head = []
                continue
            cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))]
            if not head:
                head = cells
            elif not all(re.fullmatch(r":?-+:?", cell) for cell in cells):
                yield dict(zip(head, cells, strict=False))


class _lines:
    """The text as lines, each limited in length; the file stays open."""

    def __init__(self, text: BinaryIO) -> None:
        self._reader = io.TextIOWrapper(text, encoding="utf-8", newline="")

    def __enter__(self) -> Iterator[str]:
        def lines() -> Iterator[str]:
            while line := self._reader.readline(CELL):
                yield line

        return lines()

    def __exit__(self, *_: object) -> None:
        self._reader.detach()
