"""Who is faster, by how much, and when that is no more than noise.

Repeats of one measurement on one machine differ by 3–8 %. So a difference counts only

- beyond 8 % when either side was measured fewer than three times,
- beyond 3 % when both sides were measured three times or more, and then only if the 95 % interval
  of the difference, taken from the repeats, leaves 0 out.

A side whose repeats fall into a fast and a slow state is not ranked at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import msgspec

from bench.numbers.measured import Measured
from bench.numbers.method import Spread, spread
from bench.numbers.stats import mean_difference
from bench.summary import Interval, LevelSummary, Mean

ENOUGH = 3
"""Repeats from which their own spread can be trusted."""
NOISE = 8.0
"""Per cent: what repeats of a single measurement may differ by."""
NOISE_OF_REPEATS = 3.0
"""Per cent: below it a difference has no use, however sure it is."""

Topic = Literal["alone", "start", "together", "wait"]
METRICS: Mapping[Topic, str] = {
    "alone": "decode_speed",
    "start": "prefill_speed",
    "together": "throughput",
    "wait": "ttft_p50",
}
OF_SWEEP = ("together", "wait")


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """One result's value of what is compared: larger is better, but for a wait."""

    label: str
    value: float
    """Mean over the repeats."""
    repeats: Spread
    within: Mean | None = None
    """Over the requests of a single repeat."""


class Contest(msgspec.Struct, frozen=True, kw_only=True):
    """Two readings beside each other: `first` has the larger value."""

    topic: Topic
    test: str
    """``tg128``, ``pp8192``, ``c8``."""
    outcome: Literal["faster", "same", "unsteady"]
    first: Reading
    second: Reading
    percent: float
    """By how many per cent `first` exceeds `second`."""
    interval: Interval | None = None
    rough: bool = False
    """True when either side was measured fewer than three times."""


def contest(topic: Topic, test: str, a: Reading, b: Reading) -> Contest:
    first, second = (a, b) if a.value >= b.value else (b, a)
    rough = min(len(r.repeats.values) for r in (a, b)) < ENOUGH
    pair = [reading.within if rough else reading.repeats.mean for reading in (first, second)]
    percent, interval = 100 * (first.value / second.value - 1), None
    if pair[0] is not None and pair[1] is not None:
        _, interval = mean_difference(pair[0], pair[1])
    unsteady = any(len(reading.repeats.states) > 1 for reading in (a, b))
    noise = NOISE if rough else NOISE_OF_REPEATS
    inside = percent <= noise or (interval is not None and interval.low <= 0)
    return Contest(
        topic=topic,
        test=test,
        outcome="unsteady" if unsteady else "same" if inside else "faster",
        first=first,
        second=second,
        percent=percent,
        interval=interval,
        rough=rough,
    )


def contests(topic: Topic, results: Sequence[Measured]) -> tuple[Contest, ...]:
    """The best of `results` against each other one, the closest first.

    The test is the heaviest that all of them have: the longest prompt, the highest level that does
    not queue. None without a test in common.
    """
    tables = [readings(topic, result) for result in results]
    common = set(tables[0]).intersection(*tables[1:]) if len(tables) > 1 else set()
    if not common:
        return ()
    test = max(common, key=_size)
    best, *others = sorted((table[test] for table in tables), key=lambda r: r.value, reverse=True)
    return tuple(contest(topic, test, best, other) for other in others)


def readings(topic: Topic, result: Measured) -> dict[str, Reading]:
    """What a result has to say on a topic: test name → reading."""
    metric = METRICS[topic]
    found: dict[str, list[Mean]] = {}
    for level in _levels(topic, result.levels):
        value = level.ttft.p50 if topic == "wait" else getattr(level, metric)
        value = Mean(n=1, mean=value) if isinstance(value, float) else value
        if value is not None and value.mean > 0:
            found.setdefault(level.name, []).append(value)
    for figure in result.figures:
        alone = figure.concurrency in (None, 1)
        if figure.metric == metric and figure.test and alone is not (topic in OF_SWEEP):
            found.setdefault(figure.test, []).append(Mean(n=1, mean=figure.value))
    return {test: _reading(result.label, means) for test, means in found.items()}


def _levels(topic: Topic, levels: Iterable[LevelSummary]) -> list[LevelSummary]:
    kind = {"alone": "decode", "start": "prefill"}.get(topic, "sweep")
    return [level for level in levels if level.kind == kind and "queueing" not in level.flags]


def _reading(label: str, means: Sequence[Mean]) -> Reading:
    values = [mean.mean for mean in means]
    repeats = spread(values)
    assert repeats is not None
    return Reading(
        label=label,
        value=sum(values) / len(values),
        repeats=repeats,
        within=means[0] if len(means) == 1 and means[0].sd is not None else None,
    )


def _size(test: str) -> int:
    return int("".join(c for c in test if c.isdigit()) or 0)
