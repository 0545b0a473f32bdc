"""Charts of one person alone: the prompt set, and how long an engine took to start."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt

from bench.charts import marks
from bench.charts.figure import Figure, figure
from bench.charts.marks import LEGEND, MUTED, NONE, Limits
from bench.results import Result, bars
from bench.text import Words

LIMIT = "#cf3f4a"


def prompt_set(
    results: Sequence[Result],
    kind: str,
    t: Words,
    limits: Limits = NONE,
) -> Figure | None:
    """Bars of the prompt set, one person alone: ``prefill`` or ``decode``, mean ± sample sd, and a
    tick where the machine's memory ends it."""
    rows = tuple(
        {
            "result": result.label,
            "test": bar.test,
            "value": bar.value,
            "low": bar.value - (bar.sd or 0),
            "high": bar.value + (bar.sd or 0),
            "n": bar.n,
            "ceiling": limits.ceilings.get(result.id),
        }
        for result in results
        for bar in bars(result, kind)
    )
    if not rows:
        return None
    base = marks.drawn(rows).encode(
        y=alt.Y("test:N", title=None, sort=_by_size(rows), axis=alt.Axis(labelFontSize=13)),
        yOffset=alt.YOffset("result:N", sort=[result.label for result in results]),
        tooltip=marks.tooltip("result", "test", "value", "n"),
    )
    value = alt.X("value:Q", title=t("charts.tokens_per_second"))
    shade = marks.shades(results)
    bar = base.mark_bar(cornerRadiusEnd=3).encode(
        x=value, color=marks.colours(results), opacity=shade
    )
    error = base.mark_rule(strokeWidth=2, color=MUTED).encode(x="low:Q", x2="high:Q")
    label = base.mark_text(align="left", dx=6, color=MUTED).encode(
        x=alt.X("high:Q"), text=alt.Text("value:Q", format=",.1f")
    )
    chart = alt.layer(bar, error, label)
    if any(row["ceiling"] for row in rows):
        tick = base.transform_filter("datum.ceiling").mark_tick(thickness=3, color=LIMIT)
        chart = alt.layer(chart, tick.encode(x=alt.X("ceiling:Q", title=t("charts.with_ceiling"))))
    return figure(
        kind,
        results,
        rows,
        t,
        chart,
        (f"{kind}_speed",),
        height=24 * len(results) * len({row["test"] for row in rows}) + 16,
    )


def loading(results: Sequence[Result], t: Words) -> Figure | None:
    """How long each engine took to start, by stage (``facts["stages"]``: stage → seconds)."""
    rows = tuple(
        {"result": result.label, "stage": _stage(stage, t), "order": order, "value": seconds}
        for result in results
        if result.run
        for order, (stage, seconds) in enumerate((result.run.facts.get("stages") or {}).items())
        if isinstance(seconds, int | float)
    )
    if not rows:
        return None
    names = alt.Axis(labelLimit=180) if len(results) > 1 else None
    stages = list(dict.fromkeys(str(row["stage"]) for row in rows))
    chart = (
        marks.drawn(rows)
        .mark_bar(height=24)
        .encode(
            x=alt.X("value:Q", title=t("charts.seconds"), stack="zero"),
            y=alt.Y("result:N", title=None, axis=names),
            color=alt.Color("stage:N", title=None, sort=stages, legend=LEGEND),
            order=alt.Order("order:Q"),
            tooltip=marks.tooltip("result", "stage", "value"),
        )
    )
    height, legend = 40 * len(results), len(stages)
    return figure(
        "loading", results, rows, t, alt.layer(chart), ("load_seconds",), height, legend=legend
    )


def _by_size(rows: Sequence[marks.Row]) -> list[str]:
    """Tests by the number in their name: pp512 before pp2048."""
    tests = {str(row["test"]) for row in rows}
    return sorted(tests, key=lambda test: int("".join(filter(str.isdigit, test)) or 0))


def _stage(stage: str, t: Words) -> str:
    key = f"stages.{stage}"
    return t(key) if key in t else stage
