"""JSON of any size as values, one document after another.

A file may hold one document, one a line, or several one after another; text before the first is
passed over. Bare ``NaN`` and ``Infinity`` are read, as Python tools write them. A file too large
for memory is streamed, and branches that nobody reads (`SKIPPED`) are left out of it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO

import ijson

from bench.errors import BenchError

SMALL = 16 << 20
"""Bytes up to which a document is read at once."""
MOST = 200_000
"""Documents in a file."""
DEPTH = 100
"""Lists and tables within each other."""
SKIPPED = frozenset({"requests", "generated_texts", "input_texts", "request_args"})
"""Branches of large documents that hold every request with its texts."""
_START = re.compile(rb"""^[ \t]*(?=\{\s*["}]|\[\s*[\[{\]])""", re.MULTILINE)


class Documents:
    """An iterator over a file's documents that also notes which keys were given twice."""

    def __init__(self, text: BinaryIO) -> None:
        self.repeated: set[str] = set()
        """Keys that came twice in one table with different values; the last one holds."""
        self._text = text

    def __iter__(self) -> Iterator[Any]:
        for count, document in enumerate(self._all(), 1):
            if count > MOST:
                raise BenchError("import_too_many", most=MOST)
            yield document

    def _all(self) -> Iterator[Any]:
        begin = _beginning(self._text)
        self._text.seek(begin)
        first = self._text.readline(SMALL)
        if self._whole(first):
            self._text.seek(begin)
            yield from self._lines()
            return
        self._text.seek(0, 2)
        size = self._text.tell() - begin
        self._text.seek(begin)
        yield from self._at_once() if size <= SMALL else self._streamed()

    def _whole(self, line: bytes) -> bool:
        try:
            self._load(line)
        except (ValueError, RecursionError):
            return False
        return True

    def _lines(self) -> Iterator[Any]:
        for number, line in enumerate(self._text, 1):
            if not line.strip():
                continue
            try:
                yield self._load(line)
            except RecursionError as fault:
                raise BenchError("import_too_deep") from fault
            except ValueError as fault:
                if _START.match(line):
                    raise BenchError("import_broken", line=number, problem=str(fault)) from fault

    def _at_once(self) -> Iterator[Any]:
        text = self._text.read().decode()
        decoder = json.JSONDecoder(object_pairs_hook=self._pairs)
        place = 0
        while (place := _skip(text, place)) < len(text):
            if text[place] not in "[{":
                return
            try:
                document, place = decoder.raw_decode(text, place)
            except RecursionError as fault:
                raise BenchError("import_too_deep") from fault
            except ValueError as fault:
                line = getattr(fault, "lineno", text.count("\n", 0, place) + 1)
                raise BenchError("import_broken", line=line, problem=str(fault)) from fault
            yield document

    def _load(self, line: bytes) -> Any:
        return json.loads(line, object_pairs_hook=self._pairs)

    def _pairs(self, pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
        table = dict(pairs)
        if len(table) != len(pairs):
            self._note(pairs, table)
        return table

    def _note(self, pairs: Sequence[tuple[str, Any]], table: dict[str, Any]) -> None:
        self.repeated |= {key for key, value in pairs if value != table[key]}

    def _streamed(self) -> Iterator[Any]:
        try:
            events = ijson.basic_parse(self._text, use_float=True, multiple_values=True)
            for kind, value in events:
                yield self._value(events, kind, value, 0)
        except ijson.JSONError as fault:
            where = self._text.tell() >> 20
            raise BenchError("import_broken_large", megabytes=where) from fault

    def _value(self, events: Iterator[tuple[str, Any]], kind: str, value: Any, depth: int) -> Any:
        if depth > DEPTH:
            raise BenchError("import_too_deep")
        if kind == "start_array":
            found = []
            for kind, value in events:
                if kind == "end_array":
                    break
                found.append(self._value(events, kind, value, depth + 1))
            return found
        if kind == "start_map":
            table: dict[str, Any] = {}
            for kind, key in events:
                if kind == "end_map":
                    break
                inner = next(events)
                if key in SKIPPED and inner[0].startswith("start"):
                    _pass_over(events)
                    continue
                made = self._value(events, *inner, depth + 1)
                if key in table and table[key] != made:
                    self.repeated.add(key)
                table[key] = made
            return table
        return value


def _pass_over(events: Iterator[tuple[str, Any]]) -> None:
    """Read on to the end of the branch that has just begun."""
    level = 1
    for kind, _ in events:
        if kind in ("start_map", "start_array"):
            level += 1
        elif kind in ("end_map", "end_array"):
            level -= 1
            if not level:
                return


def _beginning(text: BinaryIO) -> int:
    """Where the first document begins: at a line that starts with a bracket or a brace."""
    text.seek(0)
    found = _START.search(text.read(1 << 20))
    if not found:
        raise BenchError("import_unknown")
    return found.end()


def _skip(text: str, place: int) -> int:
    while place < len(text) and text[place] in " \t\r\n,":
        place += 1
    return place
