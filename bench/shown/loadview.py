"""A start for reading: the memory line while it loads, and what was learnt afterwards."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import altair as alt

from bench.charts import marks
from bench.charts.figure import Figure, figure
from bench.charts.marks import MUTED, Row
from bench.results import Result
from bench.shown.views import duration, number
from bench.store import Event, Run
from bench.text import Words

FLOOR = "#cf3f4a"
FACTS: tuple[tuple[str, str, Callable[[float, Words], str]], ...] = (
    ("model_gib", "weights", lambda value, t: f"{value:.1f} GiB"),
    ("weights_seconds", "weights_seconds", lambda value, t: duration(value, t)),
    ("kv_gib", "cache", lambda value, t: f"{value:.1f} GiB"),
    ("kv_tokens", "tokens", lambda value, t: f"{value:,.0f}"),
    ("max_concurrency", "requests", lambda value, t: number(value)),
    ("compile_seconds", "compile", lambda value, t: duration(value, t)),
    ("graphs_seconds", "graphs", lambda value, t: duration(value, t)),
    ("gpu_layers", "layers", lambda value, t: f"{value:.0f}"),
)
"""Facts of a start: the name in `stages.LoadFacts`, the key of its words, how it is said."""


def memory(events: Sequence[Event], floor: float, t: Words) -> Figure | None:
    """GiB available while an engine loads, with the floor at which it is stopped."""
    rows: list[Row] = [
        {"seconds": event.data["seconds"], "value": event.data["memory_gib"]}
        for event in events
        if event.kind == "stage" and event.data.get("memory_gib") is not None
    ]
    if len(rows) < 2:
        return None
    time = alt.X("seconds:Q", title=t("charts.memory.seconds"))
    value = alt.Y("value:Q", title=t("charts.memory.gib"), scale=alt.Scale(domainMin=0))
    line = marks.drawn(rows).mark_line(strokeWidth=2.5, color=MUTED).encode(x=time, y=value)
    limit = marks.drawn([{"value": floor, "text": t("charts.memory.floor"), "seconds": 0}])
    rule = limit.mark_rule(strokeDash=[4, 4], color=FLOOR).encode(y="value:Q")
    name = limit.mark_text(align="left", baseline="bottom", dx=4, dy=-3, color=FLOOR).encode(
        x="seconds:Q", y="value:Q", text="text:N"
    )
    results: Sequence[Result] = ()
    chart = alt.layer(rule, name, line)
    return figure("memory", results, tuple(rows), t, chart, (), height=120)


def facts(run: Run, t: Words) -> list[dict[str, str]]:
    """What a start gave, by the engine's own words; what it did not say is left out."""
    said = run.facts.get("load")
    load = said if isinstance(said, dict) else {}
    found: list[tuple[str, str]] = []
    if isinstance(seconds := run.facts.get("load_seconds"), int | float):
        found.append((t("loaded.seconds"), duration(seconds, t)))
    for name, key, tell in FACTS:
        if isinstance(value := load.get(name), int | float):
            found.append((t(f"loaded.{key}"), tell(value, t)))
    if warm := run.facts.get("warm"):
        found.append((t("loaded.warm"), str(warm)))
    if isinstance(trip := run.facts.get("round_trip"), int | float):
        found.append((t("loaded.round_trip"), t("loaded.milliseconds", n=f"{1000 * trip:.1f}")))
    return [{t("run.settings"): name, t("run.value"): value} for name, value in found]
