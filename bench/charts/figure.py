"""A figure: a chart together with everything that must travel with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from bench.charts.marks import Drawing, Row
from bench.results import Result
from bench.text import Words


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """A chart and everything that must travel with it."""

    name: str
    """For file names: ``throughput``."""
    title: str
    spoken: str
    """The chart in a sentence or two, for those who can't see it."""
    chart: Drawing
    height: int
    """Pixels of the plot itself, without axes and legend."""
    legend: int
    """Lines of the legend."""
    rows: tuple[Row, ...]
    """What is drawn, for a table."""
    metrics: tuple[str, ...]
    """Keys of the definitions."""
    results: tuple[Result, ...]

    @property
    def spec(self) -> dict[str, Any]:
        """The chart as Vega-Lite. Not held against its schema, which takes longer than the rest of
        a page: the tests do that."""
        return dict(self.chart.to_dict(validate=False))

    @property
    def whole_height(self) -> int:
        """Pixels with axes and legend: what a page must keep free."""
        return self.height + 64 + 32 * self.legend


def figure(
    name: str,
    results: Sequence[Result],
    rows: tuple[Row, ...],
    t: Words,
    chart: Drawing,
    metrics: tuple[str, ...],
    height: int = 260,
    legend: int | None = None,
) -> Figure | None:
    """The figure of rows that were drawn; None where there are none. Its title is
    ``charts.<name>.title``; ``legend`` is 0, or a line a result, unless told."""
    if not rows:
        return None
    title = t(f"charts.{name}.title")
    return Figure(
        name=name,
        title=title,
        spoken=f"{title}{t('charts.colon')}{t('charts.list_separator').join(_spoken(rows, t))}",
        chart=chart.properties(height=height),
        height=height,
        legend=(len(results) if len(results) > 1 else 0) if legend is None else legend,
        rows=rows,
        metrics=metrics,
        results=tuple(results),
    )


def _spoken(rows: Sequence[Row], t: Words, most: int = 24) -> list[str]:
    """The rows in words; a chart of many dots is said by its number of dots."""
    if len(rows) > most or "value" not in rows[0]:
        return [t("charts.spoken.many", n=len(rows))]
    several = len({row.get("result") for row in rows}) > 1
    names = ("result", "stage", "test", "people") if several else ("stage", "test", "people")
    said = []
    for row in rows:
        where = [str(row[name]) for name in names if name in row]
        said.append(t("charts.spoken.one", where=" ".join(where), value=f"{row['value']:,.4g}"))
    return said
