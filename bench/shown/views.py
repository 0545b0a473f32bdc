"""What a page shows of runs and results: sentences, key numbers and tables, in one language."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec

from bench.charts.figure import Figure
from bench.imports.mark import Mark, elsewhere
from bench.numbers import definitions
from bench.results import Result, answers_by_prompt, bars, points
from bench.sample import Sample
from bench.store import Answer, Run
from bench.summary import LevelSummary
from bench.text import Words

Colour = Literal["red", "orange", "blue", "green", "gray", "primary"]
BADGES: Mapping[str, tuple[Colour, str]] = {
    "queued": ("blue", ":material/schedule:"),
    "done": ("green", ":material/check:"),
    "failed": ("red", ":material/error:"),
    "cancelled": ("gray", ":material/block:"),
    "interrupted": ("orange", ":material/power_off:"),
}
RUNNING_BADGE: tuple[Colour, str] = ("primary", ":material/play_arrow:")


class Number(msgspec.Struct, frozen=True, kw_only=True):
    """One key number with its definition a click away."""

    label: str
    value: str
    help: str
    note: str = ""


def badge(run: Run, t: Words) -> tuple[str, Colour, str]:
    """Text, colour and icon of a run's state."""
    return (t(f"states.{run.state}"), *BADGES.get(run.state, RUNNING_BADGE))


def when(iso: str, timezone: str | None, seconds: bool = False) -> str:
    """A stored time on the reader's clock."""
    try:
        zone = ZoneInfo(timezone or "UTC")
    except (ZoneInfoNotFoundError, ValueError):
        zone = ZoneInfo("UTC")
    return (
        datetime.fromisoformat(iso)
        .astimezone(zone)
        .strftime("%Y-%m-%d %H:%M:%S" if seconds else "%Y-%m-%d %H:%M")
    )


def duration(seconds: float, t: Words) -> str:
    """A time span as people say it."""
    if seconds < 100:
        return t("time.seconds", n=f"{seconds:.0f}" if seconds >= 10 else f"{seconds:.1f}")
    return t("time.minutes", n=f"{seconds / 60:.0f}")


def took(run: Run) -> float | None:
    """Seconds from a run's start to its end; None while it has none, and where the clock was set
    back in between."""
    if not run.started or not run.finished:
        return None
    start, end = (datetime.fromisoformat(at) for at in (run.started, run.finished))
    seconds = (end - start).total_seconds()
    return seconds if seconds > 0 else None


def subtitle(run: Run, t: Words, timezone: str | None) -> str:
    """Workload, time and length of a run in a line."""
    work = run.plan.workload.name.get(t.language, run.workload)
    parts = [work, when(run.created, timezone)]
    if seconds := took(run):
        parts.append(duration(seconds, t))
    return " · ".join(parts)


def number(value: float) -> str:
    """Three figures that mean something."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def numbers(result: Result, t: Words) -> list[Number]:
    """The few numbers that a reader sees first; what was not measured is left out."""
    found: list[Number] = []
    alone = {metric: _at(result, metric, 1) for metric in ("decode_speed", "ttft_p50")}
    if (speed := alone["decode_speed"] or _first_bar(result, "decode")) is not None:
        found.append(_number("writing", t("units.tokens_per_second", n=number(speed)), t))
    if (wait := alone["ttft_p50"]) is not None:
        found.append(_number("first_word", t("units.seconds", n=number(wait)), t))
    if together := max(
        (point for point in points(result, "throughput")), key=lambda p: p.value, default=None
    ):
        note = t("numbers.together.note", people=together.concurrency)
        value = t("units.tokens_per_second", n=number(together.value))
        found.append(_number("together", value, t, note))
    if (load := load_seconds(result)) is not None:
        found.append(_number("loading", duration(load, t), t))
    return found


def load_seconds(result: Result) -> float | None:
    if result.published:
        figures = result.published.figures
        return next((f.value for f in figures if f.metric == "load_seconds"), None)
    value = result.run.facts.get("load_seconds") if result.run else None
    return float(value) if isinstance(value, int | float) else None


def _number(name: str, value: str, t: Words, note: str = "") -> Number:
    label, help = t(f"numbers.{name}.label"), t(f"numbers.{name}.help")
    return Number(label=label, value=value, help=help, note=note)


def _at(result: Result, metric: str, people: int) -> float | None:
    found = (point.value for point in points(result, metric) if point.concurrency == people)
    return next(found, None)


def _first_bar(result: Result, kind: str) -> float | None:
    return next((bar.value for bar in bars(result, kind)), None)


def caption(figure: Figure, t: Words, timezone: str | None = None) -> list[str]:
    """What an image must say of itself: results, workload, n, date, definition, source."""
    lines = [source(result, t, timezone) for result in figure.results]
    lines += [definition(metric, t) for metric in figure.metrics]
    return lines


def source(result: Result, t: Words, timezone: str | None = None) -> str:
    """A result's name, and where it comes from."""
    return t("caption.result", label=result.label, what=_provenance(result, t, timezone))


def _provenance(result: Result, t: Words, timezone: str | None) -> str:
    if published := result.published:
        return t(
            "caption.published",
            author=published.author,
            date=published.date,
            source=published.source,
        )
    if mark := result.mark:
        other = t("charts.list_separator").join(other_definitions(result, t))
        metrics = t("imports.caption_other", metrics=other) if other else ""
        date, same = mark.date or t("imports.no_date"), t("imports.caption_same")
        return t("imports.caption", tool=mark.name, date=date, metrics=metrics or same)
    assert result.run
    run, work = result.run, result.run.plan.workload
    key = "caption.elsewhere" if elsewhere(run) else "caption.measured"
    return t(
        key,
        workload=run.workload,
        n=work.requests,
        prompt=work.prompt_tokens,
        output=work.output_tokens,
        engine=_engine(run),
        machine=_machine(run, t),
        date=when(run.created, timezone),
    )


def _engine(run: Run) -> str:
    """The version that ran, and the image that it came in."""
    version = str(run.facts.get("engine_version") or "–")
    image = run.facts.get("image") or run.plan.recipe.image
    if not image:
        return version
    digest = str(run.facts.get("image_digest") or "").split(":")[-1][:12]
    return f"{version} ({image}@{digest})" if digest else f"{version} ({image})"


def _machine(run: Run, t: Words) -> str:
    """What the run was measured on."""
    host = run.facts.get("host") or {}
    known = [str(host[name]) for name in ("product", "gpu") if host.get(name)]
    return ", ".join(dict.fromkeys(known)) or t("caption.machine_unknown")


def imported(result: Result, mark: Mark, t: Words) -> str:
    """Where an imported result comes from, and which of its numbers are defined otherwise."""
    fields = {"label": result.label, "file": mark.file or "–", "tool": mark.name}
    fields |= {"date": mark.date or t("imports.no_date")}
    if other := other_definitions(result, t):
        return t("imports.note", metrics=t("charts.list_separator").join(other), **fields)
    return t("imports.note_same", **fields)


def other_definitions(result: Result, t: Words) -> list[str]:
    """The names of the metrics that an imported result defines in its own way."""
    return [definitions.name(one, t) for one in result.mark.definitions] if result.mark else []


def definition(metric: str, t: Words) -> str:
    """A metric's name and its definition in a sentence."""
    name, sentence = definitions.name(metric, t), definitions.sentence(metric, t)
    return f"{name}{t('charts.colon')}{sentence}"


def sweeps(levels: Sequence[LevelSummary]) -> list[tuple[int, LevelSummary]]:
    """Levels of the sweep with their positions in the store."""
    return [(place, level) for place, level in enumerate(levels) if level.kind == "sweep"]


def answer_speed(sample: Sample, language: str, t: Words) -> str:
    """How fast an answer was written: for Chinese in characters, whose tokens differ by model."""
    if not sample.ok or sample.last_token is None or not sample.text:
        return ""
    writing = sample.last_token - (sample.first_answer or sample.first_token or 0)
    if language.startswith("zh") and writing > 0:
        return t("run.answer_characters", n=number(len(sample.text) / writing))
    if sample.output_tokens is None:
        return ""
    seconds = duration(sample.last_token, t)
    return t("run.answer_speed", tokens=sample.output_tokens, seconds=seconds)


class Answered(msgspec.Struct, frozen=True, kw_only=True):
    """One question and what each result answered, by result id."""

    question: str
    answers: Mapping[str, Answer]


def answered(results: Sequence[Result]) -> list[Answered]:
    """The questions that any result answered."""
    return [
        Answered(question=next(iter(answers.values())).question, answers=answers)
        for answers in answers_by_prompt(results).values()
    ]
