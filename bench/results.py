"""Results: what can be set beside each other, whether we measured it or somebody published it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from bench.catalogue import Catalogue, Published
from bench.imports import mark
from bench.imports.mark import Mark
from bench.imports.values import NAMES
from bench.numbers.physics import energy_per_token
from bench.sample import Sample
from bench.summary import Interval, LevelSummary, Mean, Quantiles
from bench.text import Words

if TYPE_CHECKING:  # values only: what draws a chart needs no database
    from bench.store import Answer, Run

COLOURS = (
    "#205ff3",
    "#df750c",
    "#267354",
    "#c56ecf",
    "#736b26",
    "#7e4fc4",
    "#177782",
    "#1da561",
)
"""Apart for colour-blind eyes and readable on light and dark ground; a test holds them to both."""


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """One run of ours with its levels and answers, or one published set of figures."""

    id: str
    model: str
    """Catalogue id."""
    model_name: str
    engine: str
    engine_name: str
    label: str
    """Model and engine, and what else tells it from the others beside it."""
    colour: str
    """The model's colour in every chart of the app."""
    demo: bool = False
    """A small model to learn the app with: it says nothing of the machine."""
    run: Run | None = None
    published: Published | None = None
    levels: tuple[LevelSummary, ...] = ()
    answers: tuple[Answer, ...] = ()

    @property
    def mark(self) -> Mark | None:
        """Of an imported run: which tool's it is, and what its numbers mean."""
        return mark.read(self.run)

    @property
    def slots(self) -> int | None:
        """Requests its engine works on at once."""
        return next((level.slots for level in self.levels if level.slots), None)


class Point(msgspec.Struct, frozen=True, kw_only=True):
    """One value at one concurrency."""

    concurrency: int
    value: float
    low: float | None = None
    high: float | None = None
    n: int | None = None
    """Requests behind it; None where a publisher did not say."""
    exact: bool = True
    """False: the worst of n stands for a P99 that n requests can't carry."""
    queueing: bool = False


class Bar(msgspec.Struct, frozen=True, kw_only=True):
    """One test of the prompt set."""

    test: str
    """``pp2048``, ``tg128``."""
    value: float
    sd: float | None = None
    n: int | None = None


def of_run(
    run: Run,
    catalogue: Catalogue,
    levels: Sequence[LevelSummary] = (),
    answers: Sequence[Answer] = (),
) -> Result:
    engine = catalogue.engines.get(run.engine)
    engine_name = engine.name if engine else run.engine
    return Result(
        id=run.id,
        model=run.model,
        model_name=run.model_name,
        engine=run.engine,
        engine_name=engine_name,
        label=_label(run, engine_name),
        colour=colour(run.model, catalogue),
        demo=run.model in catalogue.models and catalogue.models[run.model].demo,
        run=run,
        levels=tuple(levels),
        answers=tuple(answers),
    )


def _label(run: Run, engine_name: str) -> str:
    """Model and engine; of an imported run the tool as well, and the engine where it is told."""
    found = mark.read(run)
    tool = NAMES.get(found.tool, found.tool) if found else ""
    return " · ".join(part for part in (run.model_name, engine_name, tool) if part)


def of_published(published: Published, catalogue: Catalogue, t: Words) -> Result:
    model = catalogue.models.get(published.model)
    engine = catalogue.engines.get(published.engine)
    model_name = model.name if model else published.model
    engine_name = engine.name if engine else published.engine
    return Result(
        id=published.id,
        model=published.model,
        model_name=model_name,
        engine=published.engine,
        engine_name=engine_name,
        label=t(
            "results.published", label=f"{model_name} · {engine_name}", author=published.author
        ),
        colour=colour(published.model, catalogue),
        published=published,
    )


def told_apart(results: Sequence[Result]) -> list[Result]:
    """Labels as short as they can be: only the model where all ran on the same engine; with the id
    in addition where two would read alike."""
    runs = all(result.run and not result.mark for result in results)
    if runs and len(results) > 1 and len({result.engine for result in results}) == 1:
        results = [_named(result, result.model_name) for result in results]
    labels = [result.label for result in results]
    return [
        _named(result, f"{result.label} ({result.id})")
        if labels.count(result.label) > 1
        else result
        for result in results
    ]


def _named(result: Result, label: str) -> Result:
    return msgspec.structs.replace(result, label=label)


def colour(model: str, catalogue: Catalogue) -> str:
    """By the place in the catalogue, so that a model looks the same on every page."""
    known = list(catalogue.models)
    place = known.index(model) if model in known else sum(model.encode())
    return COLOURS[place % len(COLOURS)]


def bars(result: Result, kind: str) -> list[Bar]:
    """Tests of the prompt set: ``prefill`` (reading) or ``decode`` (writing), tokens a second."""
    if result.published:
        return [
            Bar(test=figure.test, value=figure.value, sd=figure.sd)
            for figure in result.published.figures
            if figure.metric == f"{kind}_speed" and figure.test and figure.concurrency in (None, 1)
        ]
    return [
        Bar(test=level.name, value=mean.mean, sd=mean.sd, n=mean.n)
        for level in result.levels
        if level.kind == kind and (mean := _speed(level, kind))
    ]


def _speed(level: LevelSummary, kind: str) -> Mean | None:
    return level.prefill_speed if kind == "prefill" else level.decode_speed


def points(result: Result, metric: str) -> list[Point]:
    """One value for each level of the sweep: ``throughput``, ``decode_speed``, ``ttft_p50``,
    ``energy_per_token`` or ``ttft_p99`` (with the worst of n where n is too small)."""
    if result.published:
        return [
            Point(concurrency=figure.concurrency, value=figure.value)
            for figure in result.published.figures
            if figure.metric == metric and figure.concurrency
        ]
    sweep = (level for level in result.levels if level.kind == "sweep")
    return [point for level in sweep if (point := _point(level, metric))]


def _point(level: LevelSummary, metric: str) -> Point | None:
    value, interval, exact = _value(level, metric)
    if value is None:
        return None
    return Point(
        concurrency=level.concurrency,
        value=value,
        low=interval.low if interval else None,
        high=interval.high if interval else None,
        n=level.ok or None,
        exact=exact,
        queueing="queueing" in level.flags,
    )


def _value(level: LevelSummary, metric: str) -> tuple[float | None, Interval | None, bool]:
    match metric:
        case "throughput":
            return level.throughput, None, True
        case "decode_speed":
            mean = level.decode_speed
            return (mean.mean, mean.interval, True) if mean else (None, None, True)
        case "energy_per_token":
            return energy_per_token(level.power, level.throughput_all), None, True
        case "ttft_p50":
            return level.ttft.p50, level.ttft.intervals.get("p50"), True
        case "ttft_p99":
            return slowest(level.ttft)
        case _:
            raise ValueError(metric)


def slowest(values: Quantiles) -> tuple[float | None, Interval | None, bool]:
    """The P99 with its interval where there are enough values, else the worst of them."""
    if values.p99 is not None:
        return values.p99, values.intervals.get("p99"), True
    return values.worst, None, False


def waits(samples: Sequence[Sample]) -> list[float]:
    """TTFT of each request that went well, in seconds."""
    return [sample.first_token for sample in samples if sample.ok and sample.first_token]


def answers_by_prompt(results: Sequence[Result]) -> Mapping[str, dict[str, Answer]]:
    """First answers beside each other: prompt id → result id → answer, in the prompts' order.

    An id whose text differs is another question: then the id is followed by ``~2`` and so on.
    """
    table: dict[str, dict[str, Answer]] = {}
    texts: dict[str, list[str]] = {}
    for result in results:
        for answer in result.answers:
            known = texts.setdefault(answer.prompt, [])
            if answer.question not in known:
                known.append(answer.question)
            place = known.index(answer.question) + 1
            name = answer.prompt if place == 1 else f"{answer.prompt}~{place}"
            table.setdefault(name, {}).setdefault(result.id, answer)
    return table
