"""Charts of the sweep: what more people at once do to speeds and waits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import altair as alt

from bench.charts import marks
from bench.charts.figure import Figure, figure
from bench.charts.marks import NONE, Limits, Row
from bench.results import Point, Result, points
from bench.text import Words

READING = 10.0
"""Tokens a second at which most people read; docs/measuring.md says where it comes from."""
PATIENCE = 4.0
"""Seconds that a person waits for an answer's first word."""
Scale = Literal["linear", "log"]


def throughput(results: Sequence[Result], t: Words, scale: Scale = "linear") -> Figure | None:
    """Output tokens a second of all users together, against how many ask at once."""
    rows = _rows(results, "throughput")
    lines = marks.lines(results, rows, t("charts.people"), t("charts.tokens_per_second"), scale)
    slots = max((result.slots for result in results if result.slots), default=0)
    top = max((row["people"] for row in rows), default=0)
    if 0 < slots < top:
        lines = alt.layer(marks.zone(slots, top, t("charts.queueing")), lines)
    return figure("throughput", results, rows, t, lines, ("throughput",))


def speed(
    results: Sequence[Result], t: Words, scale: Scale = "linear", limits: Limits = NONE
) -> Figure | None:
    """The writing speed each user sees, with the speed at which people read: for Chinese in
    characters as well, of which a token holds more or fewer in each model."""
    rows = _rows(results, "decode_speed")
    lines = marks.lines(results, rows, t("charts.people"), t("charts.tokens_per_second"), scale)
    limit = marks.limit(READING, _reading(limits, t), rows)
    return figure("speed", results, rows, t, alt.layer(limit, lines), ("decode_speed",))


def first_word(
    results: Sequence[Result], t: Words, scale: Scale = "linear", limit: float = PATIENCE
) -> Figure | None:
    """The longest wait for a first word (TTFT P99, or the worst of n), and thin below it the usual
    one (P50)."""
    rows = _rows(results, "ttft_p99")
    lines = marks.lines(results, rows, t("charts.people"), t("charts.seconds"), scale)
    usual = marks.thin(results, _rows(results, "ttft_p50"))
    line = marks.limit(limit, t("charts.patience", seconds=limit), rows)
    chart = alt.layer(line, usual, lines)
    return figure("first-word", results, rows, t, chart, ("ttft_p99", "ttft_worst", "ttft_p50"))


def pareto(results: Sequence[Result], t: Words, scale: Scale = "linear") -> Figure | None:
    """What one person sees against what all together get, a point for each number of people: up
    and to the right is better."""
    rows = tuple(
        {
            "result": result.label,
            "people": point.concurrency,
            "speed": alone.value,
            "value": point.value,
            "queueing": point.queueing,
        }
        for result in results
        for point in points(result, "throughput")
        for alone in points(result, "decode_speed")
        if alone.concurrency == point.concurrency
    )
    x, y = t("charts.each_sees"), t("charts.all_together")
    chart = marks.path(results, rows, x, y, scale)
    return figure("pareto", results, rows, t, chart, ("decode_speed", "throughput"))


def _reading(limits: Limits, t: Words) -> str:
    if limits.reading is None:
        return t("charts.reading")
    low, high = (f"{value:.0f}" for value in limits.reading)
    key = "charts.reading_characters" + ("" if low == high else "_between")
    return t(key, low=low, high=high)


def _rows(results: Sequence[Result], metric: str) -> tuple[Row, ...]:
    return tuple(_row(result, point) for result in results for point in points(result, metric))


def _row(result: Result, point: Point) -> Row:
    return {
        "result": result.label,
        "people": point.concurrency,
        "value": point.value,
        "low": point.low if point.low is not None else point.value,
        "high": point.high if point.high is not None else point.value,
        "n": point.n,
        "exact": point.exact,
        "queueing": point.queueing,
    }
