"""From a file's keys to numbers with a meaning. What is not told stays away; 0 ms is not told."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from bench.imports.values import Number, Stat, doubt


class Key(msgspec.Struct, frozen=True):
    """What a key of a file means."""

    metric: str
    stat: Stat
    factor: float = 1.0
    """From the file's unit to ours: 0.001 for milliseconds."""
    invert: bool = False
    """The reciprocal is ours: a time per token as tokens a second."""


TIMES = {"ttft", "ttfr", "ttfa", "e2e", "tpot", "gap", "decode_speed", "prefill_speed"}
"""A 0 in these was not measured: no answer comes in no time."""


def numbers(table: Mapping[str, Any], keys: Mapping[str, Key]) -> tuple[Number, ...]:
    """The numbers of `table` that `keys` explain, those that are none with their reason."""
    return tuple(
        one for name, key in keys.items() if (one := number(name, table.get(name), key)) is not None
    )


def number(name: str, value: Any, key: Key) -> Number | None:
    """One number; None where nothing was told or measured."""
    if value is None or value == "":
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return _doubtful(name, key, "no_number", said=str(value)[:40])
    if not math.isfinite(value):
        return _doubtful(name, key, "not_finite", said=str(value))
    if value == 0 and key.metric in TIMES:
        return None
    if value < 0:
        ours = value * key.factor
        return msgspec.structs.replace(_doubtful(name, key, "negative"), value=ours)
    ours = key.factor / value if key.invert else value * key.factor
    return Number(key=name, metric=key.metric, stat=key.stat, value=ours)


def _doubtful(name: str, key: Key, code: str, **fields: str) -> Number:
    return Number(
        key=name, metric=key.metric, stat=key.stat, value=None, doubt=doubt(code, **fields)
    )


def value(found: Iterable[Number], metric: str, stat: Stat) -> float | None:
    """The value that is not in doubt, or None."""
    for one in found:
        if one.metric == metric and one.stat == stat and one.doubt is None:
            return one.value
    return None


def plain(found: Any) -> float | None:
    """A finite number of a file, or None."""
    if isinstance(found, bool) or not isinstance(found, int | float) or not math.isfinite(found):
        return None
    return float(found)


def count(found: Any) -> int | None:
    """A number of things: whole and not negative, or None."""
    number = plain(found)
    return int(number) if number is not None and number >= 0 and number < 2**53 else None


def text(found: Any) -> str:
    """Text of a file for a reader: one line of no unreasonable length."""
    return " ".join(str(found).split())[:200] if isinstance(found, str | int | float) else ""


def told(table: Mapping[str, Any], names: Iterable[str]) -> dict[str, str]:
    """The settings of a file that are worth keeping, as text."""
    return {
        name: text(table[name])
        for name in names
        if isinstance(table.get(name), str | int | float) and table[name] != ""
    }
