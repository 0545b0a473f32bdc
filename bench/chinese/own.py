"""A team's own prompts, from a CSV file: a versioned set of their own.

Columns: ``text`` (needed), ``kind``, ``checks``, ``why``. Checks are written ``items=3;
terms=甲,乙|丙`` (`instructions.py` lists them). The set's id ends in a digest of its content, so
that answers to changed prompts are never compared with answers to the old ones.
"""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Mapping, Sequence

from bench.catalogue import Prompt
from bench.chinese import instructions, structured
from bench.chinese.tables import FOLDER
from bench.errors import BenchError

COLUMNS = ("text", "kind", "checks", "why")
_LISTS = ("terms", "not_terms", "keys", "arguments", "starts", "ends")
_NUMBERS = (
    "items", "item_length", "max_length", "min_length", "sentences", "paragraphs", "lines",
)  # fmt: skip
_WORDS: Mapping[str, Sequence[str]] = {
    "format": ("json", "table", "list", "plain"),
    "script": ("taiwan", "quoted", "zh-CN"),
}
LONGEST = 20_000
"""Characters of one prompt."""


def example() -> str:
    """A file to begin with, as text."""
    return (FOLDER / "own-example.csv").read_text(encoding="utf-8")


def read(name: str, content: str) -> tuple[Prompt, ...]:
    """The prompts of a CSV file's text.

    Raises BenchError ``prompts_columns`` or ``prompts_row``, the latter with the line.
    """
    content = content.removeprefix("\ufeff")
    reader = csv.DictReader(io.StringIO(content))
    version = f"{name}-{hashlib.sha256(content.encode()).hexdigest()[:8]}"
    try:
        _columns(reader)
        return tuple(
            _prompt(row, version, number, reader.line_num) for number, row in enumerate(reader, 1)
        )
    except csv.Error as fault:
        raise BenchError("prompts_row", line=reader.line_num + 1, problem=str(fault)) from fault


def _columns(reader: csv.DictReader[str]) -> None:
    """Refuse a file whose first line names other columns."""
    got = [column.strip() for column in reader.fieldnames or ()]
    if "text" not in got or not set(got) <= set(COLUMNS):
        said = ", ".join(got)[:200] or "–"
        raise BenchError("prompts_columns", wanted=", ".join(COLUMNS), got=said)
    reader.fieldnames = got


def _prompt(row: Mapping[str, str | None], version: str, number: int, line: int) -> Prompt:
    text, why = (row["text"] or "").strip(), (row.get("why") or "").strip()
    if not text or len(text) > LONGEST:
        raise BenchError("prompts_row", line=line, problem=f"text: 1–{LONGEST:,}")
    return Prompt(
        id=f"{version}-{number}",
        language="zh-TW",
        kind=(row.get("kind") or "").strip() or "own",
        text=text,
        checks=_checks(row.get("checks") or "", line),
        why={"en": why, "zh-TW": why} if why else {},
        set=version,
    )


def written(checks: Mapping[str, instructions.Argument]) -> str:
    """Checks as a CSV file has them."""
    return "; ".join(
        f"{name}={','.join(value) if isinstance(value, tuple) else value}"
        for name, value in checks.items()
    )


def _checks(written: str, line: int) -> dict[str, instructions.Argument]:
    checks: dict[str, instructions.Argument] = {}
    for entry in filter(None, (part.strip() for part in written.split(";"))):
        name, _, argument = (part.strip() for part in entry.partition("="))
        if not instructions.known(name) or not argument:
            raise BenchError("prompts_row", line=line, problem=entry)
        checks[name] = _argument(name, argument, line)
    return checks


def _argument(name: str, argument: str, line: int) -> instructions.Argument:
    if name in _LISTS:
        values = tuple(value.strip() for value in argument.split(",") if value.strip())
        kinds = [value.partition(":")[2] for value in values] if name == "keys" else []
        if values and all(kind in ("", *structured.TYPES) for kind in kinds):
            return values
    elif name in _NUMBERS:
        if argument.isascii() and argument.isdigit():
            return int(argument)
    elif name in _WORDS:
        if argument in _WORDS[name]:
            return argument
    elif name == "roc_date":
        if argument.count("-") == 2 and argument.replace("-", "").isdigit():
            return argument
    else:
        return argument
    raise BenchError("prompts_row", line=line, problem=f"{name}={argument}")
