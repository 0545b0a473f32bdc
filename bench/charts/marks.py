"""The marks that charts are made of: lines with intervals, limits, zones, scales.

Rows are plain mappings; a row of a line has ``result``, ``people`` (concurrency), ``value``,
``low``, ``high``, ``n``, ``exact`` and ``queueing``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import msgspec
from altair.utils import schemapi

from bench.results import Result

schemapi.DEBUG_MODE = False
"""Each part of a chart is held against Vega-Lite's schema by the tests, and not while a reader
waits: that takes longer than all the rest."""
Row = Mapping[str, Any]
Drawing = alt.LayerChart | alt.FacetChart
MUTED = "#7f8b90"
"""Readable on light and dark ground alike."""
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "wedge", "arrow")
DASHES = ([1, 0], [7, 3], [2, 2], [9, 3, 2, 3], [4, 4], [12, 4], [1, 4], [6, 2, 1, 2])
NUMBERS = ("value", "low", "high", "from", "to", "speed")
LEGEND = alt.Legend(orient="top", direction="vertical", labelLimit=420)


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """What is drawn across charts, where it is known."""

    ceilings: Mapping[str, float] = msgspec.field(default_factory=dict)
    """What a machine's memory allows one person, tokens a second by result id."""
    reading: tuple[float, float] | None = None
    """The reading speed in Chinese characters a second: lowest and highest of the models."""


NONE = Limits()


def drawn(rows: Sequence[Row]) -> Any:
    """A chart of these rows, without marks. (Altair's own types are too wide to be of use here.)

    A tuple, since Altair copies a list deeply with every mark and layer.
    """
    return alt.Chart(alt.InlineData(values=tuple(dict(row) for row in rows)))


def lines(
    results: Sequence[Result], rows: Sequence[Row], x: str, y: str, scale: str = "linear"
) -> Drawing:
    """A line a result with its interval; a hollow mark is a level that queued in the engine."""
    if scale == "log":  # which has no place for 0
        rows = [{**row, "low": max(row["low"], row["value"] / 10)} for row in rows]
    levels = sorted({row["people"] for row in rows})
    base = drawn(rows).encode(
        x=alt.X(
            "people:Q",
            title=x,
            scale=alt.Scale(type="log", base=2, nice=False, padding=18),
            axis=alt.Axis(values=levels, format="d", grid=False, labelOverlap=False),
        ),
        color=colours(results),
        tooltip=tooltip("result", "people", "value", "low", "high", "n"),
    )
    value, key = alt.Y("value:Q", title=y, scale=values(scale)), legend(results)
    shape = alt.Shape("result:N", title=None, scale=by_result(results, SHAPES), legend=key)
    dash = alt.StrokeDash("result:N", title=None, scale=by_result(results, DASHES))
    line = base.mark_line(strokeWidth=2.5).encode(y=value, strokeDash=dash)
    error = base.mark_rule(strokeWidth=1.5, opacity=0.6).encode(y="low:Q", y2="high:Q")
    hollow = base.mark_point(size=90, strokeWidth=2).encode(y=value, shape=shape)
    full = base.transform_filter("!datum.queueing").mark_point(size=90, filled=True, opacity=1)
    return alt.layer(error, line, hollow, full.encode(y=value, shape=shape))


def values(scale: str) -> alt.Scale:
    """Of an axis of speeds or times: from 0, or in powers of ten."""
    return alt.Scale(type="log", nice=False, padding=30) if scale == "log" else alt.Scale(zero=True)


def thin(results: Sequence[Result], rows: Sequence[Row]) -> Drawing:
    """A thin line a result, beside `lines` on the same axes."""
    line = drawn(rows).mark_line(strokeWidth=1.2, opacity=0.7)
    encoded = line.encode(x="people:Q", y="value:Q", color=colours(results))
    return alt.layer(encoded.encode(tooltip=tooltip("result", "people", "value")))


def path(
    results: Sequence[Result], rows: Sequence[Row], x: str, y: str, scale: str = "linear"
) -> Drawing:
    """A line a result through its levels (``speed`` against ``value``), each point with its number
    of people; hollow where the level queued."""
    base = drawn(rows).encode(
        x=alt.X("speed:Q", title=x, scale=values(scale)),
        y=alt.Y("value:Q", title=y, scale=values(scale)),
        color=colours(results),
        order="people:Q",
        tooltip=tooltip("result", "people", "speed", "value"),
    )
    shape = alt.Shape(
        "result:N", title=None, scale=by_result(results, SHAPES), legend=legend(results)
    )
    dash = alt.StrokeDash("result:N", title=None, scale=by_result(results, DASHES))
    line = base.mark_line(strokeWidth=2).encode(strokeDash=dash)
    hollow = base.mark_point(size=90, strokeWidth=2).encode(shape=shape)
    full = base.transform_filter("!datum.queueing").mark_point(size=90, filled=True, opacity=1)
    people = base.mark_text(align="left", dx=9, dy=-9, fontSize=12).encode(text="people:O")
    return alt.layer(line, hollow, full.encode(shape=shape), people)


def zone(start: float, end: float, text: str) -> Drawing:
    """A shaded part of a chart over concurrency, named at its foot."""
    base = drawn([{"from": start, "to": end, "text": text}])
    area = base.mark_rect(color=MUTED, opacity=0.14).encode(x="from:Q", x2="to:Q")
    label = base.mark_text(align="right", baseline="bottom", dx=-6, dy=-6, color=MUTED).encode(
        x="to:Q", y=alt.value("height"), text="text:N"
    )
    return alt.layer(area, label)


def limit(value: float, text: str, rows: Sequence[Row]) -> Drawing:
    """A dashed line across a chart over concurrency, named at its left end."""
    start = min((row["people"] for row in rows), default=1)
    base = drawn([{"value": value, "people": start, "text": text}])
    rule = base.mark_rule(strokeDash=[4, 4], strokeWidth=1.5, color=MUTED).encode(y="value:Q")
    label = base.mark_text(align="left", baseline="bottom", dx=4, dy=-3, color=MUTED).encode(
        x="people:Q", y="value:Q", text="text:N"
    )
    return alt.layer(rule, label)


def tooltip(*names: str) -> list[alt.Tooltip]:
    return [
        alt.Tooltip(f"{name}:Q", format=",.4~g") if name in NUMBERS else alt.Tooltip(f"{name}:N")
        for name in names
    ]


def colours(results: Sequence[Result]) -> alt.Color:
    scale = by_result(results, [result.colour for result in results])
    return alt.Color("result:N", title=None, scale=scale, legend=legend(results))


def shades(results: Sequence[Result]) -> alt.Opacity:
    """Full, then paler, for results whose model and so whose colour is the same."""
    seen = [result.colour for result in results]
    pale = [max(1 - 0.4 * seen[:place].count(one), 0.25) for place, one in enumerate(seen)]
    scale = by_result(results, pale)
    return alt.Opacity("result:N", title=None, scale=scale, legend=legend(results))


def by_result(results: Sequence[Result], values: Sequence[Any]) -> alt.Scale:
    """The first value for the first result, and so on."""
    chosen = [values[place % len(values)] for place in range(len(results))]
    return alt.Scale(domain=[result.label for result in results], range=chosen)


def legend(results: Sequence[Result]) -> alt.Legend | None:
    """None for one result alone: the page or the caption says which."""
    if len(results) == 1:
        return None
    return alt.Legend(orient="top", direction="vertical", labelLimit=420)
