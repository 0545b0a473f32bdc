"""Charts: results become a `Figure`, an Altair chart with its words and the rows behind it.

Colours say which model, marks which result; text and axes keep the page's own colours, so a chart
is readable on light and dark ground. Every figure carries a sentence for those who can't see it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import altair as alt

from bench import marks
from bench.figure import Figure, figure
from bench.marks import MUTED, Row
from bench.results import Point, Result, bars, points, waits
from bench.sample import Sample
from bench.text import Words

READING = 10.0
"""Tokens a second at which most people read; docs/measuring.md says where it comes from."""
LEGEND = alt.Legend(orient="top", direction="vertical", labelLimit=420)
FAILED = "#cf3f4a"
PATIENCE = 4.0
"""Seconds that a person waits for an answer's first word."""


def throughput(results: Sequence[Result], t: Words) -> Figure | None:
    """Output tokens a second of all users together, against how many ask at once."""
    rows = _rows(results, "throughput")
    lines = marks.lines(results, rows, t("charts.people"), t("charts.tokens_per_second"))
    slots = max((result.slots for result in results if result.slots), default=0)
    top = max((row["people"] for row in rows), default=0)
    if 0 < slots < top:
        lines = alt.layer(marks.zone(slots, top, t("charts.queueing")), lines)
    return figure("throughput", results, rows, t, lines, ("throughput",))


def speed(results: Sequence[Result], t: Words, line: float = READING) -> Figure | None:
    """The writing speed each user sees, with the speed at which people read."""
    rows = _rows(results, "decode_speed")
    lines = marks.lines(results, rows, t("charts.people"), t("charts.tokens_per_second"))
    limit = marks.limit(line, t("charts.reading"), rows)
    return figure("speed", results, rows, t, alt.layer(limit, lines), ("decode_speed",))


def first_word(results: Sequence[Result], t: Words, limit: float = PATIENCE) -> Figure | None:
    """The longest wait for a first word: TTFT P99, or the worst of n."""
    rows = _rows(results, "ttft_p99")
    lines = marks.lines(results, rows, t("charts.people"), t("charts.seconds"))
    line = marks.limit(limit, t("charts.patience", seconds=limit), rows)
    return figure(
        "first-word", results, rows, t, alt.layer(line, lines), ("ttft_p99", "ttft_worst")
    )


def prompt_set(results: Sequence[Result], kind: str, t: Words) -> Figure | None:
    """Bars of the prompt set, one person alone: ``prefill`` or ``decode``, mean ± sample sd."""
    rows = tuple(
        {
            "result": result.label,
            "test": bar.test,
            "value": bar.value,
            "low": bar.value - (bar.sd or 0),
            "high": bar.value + (bar.sd or 0),
            "n": bar.n,
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
    return figure(
        kind,
        results,
        rows,
        t,
        chart,
        (f"{kind}_speed",),
        height=24 * len(results) * len({row["test"] for row in rows}) + 16,
    )


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


def of_run(result: Result, t: Words) -> dict[str, list[Figure]]:
    """The figures of a run's page under the keys of their headings, empty ones left out."""
    one = [result]
    sections = {
        "run.people": [speed(one, t), first_word(one, t), throughput(one, t)],
        "run.alone": [prompt_set(one, "prefill", t), prompt_set(one, "decode", t), loading(one, t)],
    }
    drawn = {key: [one for one in found if one] for key, found in sections.items()}
    return {key: some for key, some in drawn.items() if some}


def of_comparison(results: Sequence[Result], t: Words) -> list[Figure | None]:
    """The figures of a comparison; the first is the one to see first."""
    found = [
        speed(results, t),
        throughput(results, t),
        first_word(results, t),
        prompt_set(results, "prefill", t),
        prompt_set(results, "decode", t),
        loading(results, t),
    ]
    drawn: list[Figure | None] = [one for one in found if one]
    return drawn or [None]


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


def _by_size(rows: Sequence[Row]) -> list[str]:
    """Tests by the number in their name: pp512 before pp2048."""
    tests = {str(row["test"]) for row in rows}
    return sorted(tests, key=lambda test: int("".join(filter(str.isdigit, test)) or 0))


def _stage(stage: str, t: Words) -> str:
    key = f"stages.{stage}"
    return t(key) if key in t else stage
