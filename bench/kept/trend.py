"""One model on one engine over time: the same measured again, and what changed between."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt
import msgspec
from sqlite_utils import Database

from bench.charts import marks
from bench.charts.figure import Figure, figure
from bench.results import Result
from bench.store import Run
from bench.text import Words

MOST = 200
LATEST = """
select r.id, r.created, json_extract(r.facts, '$.engine_version'),
       json_extract(r.facts, '$.image_digest'),
       (select json_extract(summary, '$.decode_speed.mean') from levels
        where run = r.id and kind = 'decode' order by position limit 1),
       (select max(throughput_tokens_per_s) from levels where run = r.id and kind = 'sweep')
from runs r where r.model = ? and r.artifact is ? and r.engine = ? and r.host = ?
and r.workload = ? and r.source = 'measured' and r.state = 'done'
and r.id not in (select run from labels where deleted is not null)
order by r.created desc limit ?
"""


class Moment(msgspec.Struct, frozen=True, kw_only=True):
    """One run of a series."""

    run: str
    at: str
    """UTC, ISO."""
    version: str
    """Engine version and the image's digest, as far as they are known."""
    alone: float | None
    """Tokens a second for one person."""
    together: float | None
    """The most tokens a second of all together."""


def series(db: Database, like: Run) -> tuple[Moment, ...]:
    """The runs of the same model, file, engine, machine and workload, oldest first."""
    values = (like.model, like.artifact, like.engine, like.host, like.workload, MOST)
    rows = db.execute(LATEST, values).fetchall()
    return tuple(
        Moment(run=run, at=at, version=_version(told, digest), alone=alone, together=together)
        for run, at, told, digest, alone, together in reversed(rows)
    )


def before(found: Sequence[Moment], run: str) -> str | None:
    """The run before this one in its series."""
    ids = [moment.run for moment in found]
    place = ids.index(run) if run in ids else 0
    return ids[place - 1] if place else None


def drawn(found: Sequence[Moment], result: Result, t: Words) -> Figure | None:
    """One person's speed and everybody's together over time; a change of version begins with a
    line that names it."""
    rows: list[marks.Row] = []
    changes: list[marks.Row] = []
    for number, moment in enumerate(found):
        new = number and moment.version != found[number - 1].version
        if new:
            changes.append({"at": moment.at, "version": moment.version or "?"})
        for name, value in (("alone", moment.alone), ("together", moment.together)):
            if value is not None:
                what = t(f"trend.{name}")
                rows.append({"at": moment.at, "what": what, "value": value, "run": moment.run})
    if len({row["at"] for row in rows}) < 2:
        return None
    time = alt.X("at:T", title=None, axis=alt.Axis(grid=False))
    base = marks.drawn(rows).encode(
        x=time,
        y=alt.Y("value:Q", title=t("charts.tokens_per_second"), scale=alt.Scale(zero=True)),
        strokeDash=alt.StrokeDash("what:N", title=None, legend=marks.LEGEND),
        tooltip=[alt.Tooltip("at:T", format="%Y-%m-%d %H:%M"), *marks.tooltip("what", "value")],
    )
    line = base.mark_line(strokeWidth=2, color=result.colour, point=alt.OverlayMarkDef(size=50))
    layers = [line]
    if changes:
        told = marks.drawn(changes).encode(x=time)
        layers.append(
            told.mark_rule(color=marks.MUTED, strokeDash=[3, 3]).encode(tooltip="version:N")
        )
        layers.append(
            told.mark_text(align="left", dx=4, color=marks.MUTED, fontSize=11).encode(
                text="version:N", y=alt.value(8)
            )
        )
    return figure(
        "trend", [result], tuple(rows), t, alt.layer(*layers), ("decode_speed", "throughput"),
        legend=2,
    )  # fmt: skip


def _version(told: str | None, digest: str | None) -> str:
    short = digest.rpartition(":")[2][:8] if digest else ""
    return " · ".join(part for part in (told or "", short) if part)
