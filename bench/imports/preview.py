"""A file's numbers for a reader, before anything is saved and on the run's page afterwards."""

from __future__ import annotations

from collections.abc import Mapping

from bench.imports.mark import Doubtful, Mark
from bench.imports.values import NAMES, Found, Number
from bench.numbers import definitions
from bench.text import Words

Row = Mapping[str, str]
"""Heading → cell."""
LENGTHS = ("prompt_tokens", "output_tokens")
UNITS = {"s": "s", "tokens/s": "speed", "1/s": "rate", "share": "share", "tokens": "tokens"}


def rows(found: Found, t: Words) -> tuple[list[Row], list[bool]]:
    """Every number of a result: where it stands, what it means, and whether it is used; that again
    as a list of its own."""
    every = [(part.name, one) for part in found.parts for one in part.numbers]
    made = [_row(level, one, t, _use(one, found.definitions, t)) for level, one in every]
    return made, [one.doubt is None for _, one in every]


def grey(mark: Mark, t: Words) -> list[Row]:
    """The numbers of a stored run that are kept and not used."""
    return [_doubtful(one, t) for one in mark.doubtful]


def meaning(one: Number, t: Words) -> str:
    """The metric by its name, and which of its values."""
    name = (
        t(f"imports.metric.{one.metric}")
        if one.metric in LENGTHS
        else definitions.name(one.metric, t)
    )
    key = f"imports.stat.{one.stat}"
    stat = t(key) if key in t else one.stat.upper() if one.stat != "value" else ""
    return f"{name} · {stat}" if stat else name


def shown(one: Number, t: Words) -> str:
    """The value in the unit of its metric, four figures of it."""
    if one.value is None:
        return "–"
    unit = "tokens" if one.metric in LENGTHS else definitions.definitions()[one.metric].unit
    value = 100 * one.value if unit == "share" else one.value
    key = UNITS.get(unit, "")
    number = f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:,.4g}"
    return t(f"imports.unit.{key}", n=number) if key else number


def _row(level: str, one: Number, t: Words, use: str) -> Row:
    return {
        t("imports.column.level"): level,
        t("imports.column.meaning"): meaning(one, t),
        t("imports.column.value"): shown(one, t),
        t("imports.column.use"): use,
        t("imports.column.key"): one.key,
    }


def _doubtful(found: Doubtful, t: Words) -> Row:
    one = found.number
    return _row(found.level, one, t, t.fault(one.doubt) if one.doubt else "")


def _use(one: Number, other: Mapping[str, str], t: Words) -> str:
    if one.doubt:
        return t.fault(one.doubt)
    if one.metric in other:
        return t("imports.use.other", tool=NAMES[other[one.metric]])
    return t("imports.use.plain" if one.metric in LENGTHS else "imports.use.same")
