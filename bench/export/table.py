"""Tables that people take away: CSV, Markdown, HTML, JSON."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import msgspec

Table = Sequence[Mapping[str, Any]]
"""Rows of one table: column heading → value; None is an empty cell."""


def table_csv(table: Table) -> bytes:
    """UTF-8 with a byte order mark, which spreadsheets need to read Chinese; no cell a formula."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow([_cell(name) for name in _columns(table)])
    for row in table:
        writer.writerow([_cell(row.get(name)) for name in _columns(table)])
    return out.getvalue().encode("utf-8-sig")


def table_markdown(table: Table) -> str:
    columns = _columns(table)
    lines = [columns, ["---"] * len(columns)]
    lines += [
        ["" if row.get(name) is None else str(row[name]) for name in columns] for row in table
    ]
    escaped = ([_cell_markdown(cell) for cell in line] for line in lines)
    return "\n".join(f"| {' | '.join(line)} |" for line in escaped) + "\n"


def _cell_markdown(cell: str) -> str:
    """A cell in which nothing ends the cell, is HTML or begins a link."""
    return re.sub(r"([\\|<\[])", r"\\\1", cell).replace("\n", " ")


def table_html(table: Table) -> str:
    """A table for a page; whatever a cell holds is text."""
    columns = _columns(table)
    head = "".join(f"<th>{escape(name)}</th>" for name in columns)
    rows = ("".join(_cell_html(row.get(name)) for name in columns) for row in table)
    body = "\n".join(f"<tr>{cells}</tr>" for cells in rows)
    return f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>\n"


def _cell_html(value: Any) -> str:
    kind = ' class="number"' if isinstance(value, int | float) else ""
    shown = "" if value is None else f"{value:,.4g}" if isinstance(value, float) else str(value)
    return f"<td{kind}>{escape(shown)}</td>"


def table_json(table: Table) -> bytes:
    """Rows as objects; a missing value is null."""
    columns = _columns(table)
    rows = [{name: row.get(name) for name in columns} for row in table]
    return msgspec.json.format(msgspec.json.encode(rows), indent=1)


def _columns(table: Table) -> list[str]:
    return list(dict.fromkeys(name for row in table for name in row))


def _cell(value: Any) -> Any:
    """A cell that no spreadsheet takes for a formula; a number stays a number."""
    if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r"):
        return f"'{value}"
    return value
