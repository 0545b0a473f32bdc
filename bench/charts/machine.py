"""Charts of the machine while a run went on: memory, power, temperature."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import altair as alt

from bench.charts import marks
from bench.charts.figure import Figure, figure
from bench.results import Result
from bench.text import Words

GIB = 1024**3
MOST = 300
"""Points of a line: more can't be told apart."""
Readings = Sequence[tuple[float, Mapping[str, Any]]]
"""(seconds since the run began, what was read), as `store.telemetry` gives them."""


def machine(readings: Readings, result: Result, t: Words) -> list[Figure]:
    """A line each for free memory (GiB), the GPU's power (W) and temperature (°C), where told."""
    found = [
        _line("free-memory", _values(readings, _free), result, t),
        _line("power", _values(readings, _of_gpu("power")), result, t),
        _line("temperature", _values(readings, _of_gpu("temperature")), result, t),
    ]
    return [one for one in found if one]


def _free(reading: Mapping[str, Any]) -> float | None:
    available = reading.get("available")
    return None if available is None else available / GIB


def _of_gpu(name: str) -> Callable[[Mapping[str, Any]], float | None]:
    return lambda reading: (reading.get("gpu") or {}).get(name)


def _values(
    readings: Readings, value: Callable[[Mapping[str, Any]], float | None]
) -> list[tuple[float, float]]:
    told = [(at, value(data.get("machine") or {})) for at, data in readings]
    known = [(at, one) for at, one in told if one is not None]
    return known[:: max(1, -(-len(known) // MOST))]


def _line(
    name: str, values: Sequence[tuple[float, float]], result: Result, t: Words
) -> Figure | None:
    rows = tuple({"minutes": at / 60, "value": value} for at, value in values)
    line = marks.drawn(rows).mark_line(strokeWidth=2, color=result.colour)
    chart = line.encode(
        x=alt.X("minutes:Q", title=t("charts.minutes"), axis=alt.Axis(grid=False)),
        y=alt.Y("value:Q", title=t(f"charts.{name}.unit"), scale=alt.Scale(zero=True)),
        tooltip=[alt.Tooltip("minutes:Q", format=",.2f"), *marks.tooltip("value")],
    )
    return figure(name, [result], rows, t, alt.layer(chart), (), height=180, legend=0)
