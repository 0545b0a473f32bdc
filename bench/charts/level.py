"""Charts of one level: its requests one by one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import altair as alt

from bench.charts import marks
from bench.charts.figure import Figure, figure
from bench.charts.marks import LEGEND, MUTED, Row
from bench.results import Result, waits
from bench.sample import Sample
from bench.text import Words

FAILED = "#cf3f4a"


def requests(samples: Sequence[Sample], result: Result, t: Words) -> Figure | None:
    """The requests of one level as bars: waiting for the first word, then being written."""
    rows: list[Row] = []
    for number, sample in enumerate(samples, 1):
        middle = sample.sent + (sample.first_token or sample.end or 0)
        end = sample.sent + (sample.end or sample.first_token or 0)
        wait, write = ("waiting", "writing") if sample.ok else ("failed", "failed")
        for phase, start, stop in ((wait, sample.sent, middle), (write, middle, end)):
            if stop > start:
                phase_name = t(f"charts.phase.{phase}")
                rows.append({"request": number, "phase": phase_name, "from": start, "to": stop})
    if not rows:
        return None
    names = [t(f"charts.phase.{phase}") for phase in ("waiting", "writing", "failed")]
    scale = alt.Scale(domain=names, range=[MUTED, result.colour, FAILED])
    chart = (
        marks.drawn(rows)
        .mark_bar(cornerRadius=2)
        .encode(
            x=alt.X("from:Q", title=t("charts.seconds_in_level")),
            x2="to:Q",
            y=alt.Y("request:O", title=t("charts.request"), axis=None),
            color=alt.Color("phase:N", title=None, scale=scale, legend=LEGEND),
            tooltip=marks.tooltip("request", "phase", "from", "to"),
        )
    )
    height = max(120, min(420, 14 * len(samples)))
    return figure(
        "requests", [result], tuple(rows), t, alt.layer(chart), ("ttft", "e2e"), height, legend=3
    )


def spread(samples: Mapping[int, Sequence[Sample]], result: Result, t: Words) -> Figure | None:
    """Every request's wait for its first word, one row of dots a level (by concurrency)."""
    rows = tuple(
        {"people": people, "value": wait}
        for people, level in samples.items()
        for wait in waits(level)
    )
    if not rows:
        return None
    dots = (
        marks.drawn(rows)
        .mark_circle(size=70, opacity=0.45, color=result.colour)
        .encode(
            x=alt.X("value:Q", title=t("charts.seconds"), scale=alt.Scale(zero=True)),
            y=alt.Y("people:O", title=t("charts.people")),
            tooltip=marks.tooltip("people", "value"),
        )
    )
    height = 40 * len(samples) + 20
    return figure("spread", [result], rows, t, alt.layer(dots), ("ttft",), height, legend=0)
