"""The sweet spot: how many people can use it at once, and what stops it there.

It is the highest level of concurrency at which **every** criterion holds: each user's writing speed
is no slower than reading, the slowest request's first word comes in time (TTFT P99, or the worst
of n), and nearly all requests succeed. It is an *edge* when a higher level was measured and failed,
else a *floor* ("at least"). A level above the engine's own limit measures the queue in front of it
and is never a sweet spot. Several repeats of a level count as the worst of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import msgspec

from bench.catalogue import Figure
from bench.summary import LevelSummary

Criterion = Literal["speed", "wait", "success"]


class Criteria(msgspec.Struct, frozen=True, kw_only=True):
    """What must hold. The defaults and where they come from are in docs/measuring.md."""

    speed: float = 10.0
    """Least writing speed for each user, in tokens a second."""
    wait: float = 4.0
    """Longest wait for the first word, in seconds."""
    success: float = 0.95
    """Least share of requests that succeed."""
    characters_per_token: float | None = None
    """When given, `speed` is in characters a second: the line for readers of Chinese."""


USUAL = Criteria()


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """One level as the criteria see it. None is "not told"."""

    concurrency: int
    speed: float | None = None
    """Mean writing speed of each user, tokens a second; of several repeats the slowest."""
    wait: float | None = None
    """TTFT of the slowest request, seconds; of several repeats the longest."""
    exact: bool = False
    """True: `wait` is a P99 with an interval. False: the worst of `n`."""
    success: float | None = None
    n: int | None = None
    """Requests that succeeded."""
    queueing: bool = False
    first_wave: float | None = None
    """Longest wait when everybody began at once."""
    steady: float | None = None
    """Longest wait after that."""


class SweetSpot(msgspec.Struct, frozen=True, kw_only=True):
    """How many people, how sure, and why no more. Every value is as measured."""

    kind: Literal["edge", "floor", "none", "unknown"]
    """``none``: even the lowest level fails. ``unknown``: nothing there to judge."""
    level: int | None = None
    at: Trial | None = None
    """The level itself."""
    failed: Trial | None = None
    """The lowest level above it that failed; for ``none`` the lowest of all."""
    decided_by: tuple[Criterion, ...] = ()
    """The criteria that `failed` failed."""
    tightest: Criterion | None = None
    """Of the sweet spot itself: the criterion with the least headroom."""
    headroom: float | None = None
    """Share of the tightest criterion that is left, 0 to 1."""
    slots: bool = False
    """True when levels above it only queue: the engine's setting stops it, not its speed."""
    spread: int | None = None
    """A higher level that holds if people do not all begin at once."""
    uneven: bool = False
    """True when a lower level failed: the measurement is not to be relied on."""


def trials(levels: Iterable[LevelSummary]) -> tuple[Trial, ...]:
    """The levels of a sweep as trials, lowest first; repeats of a level become one."""
    by_level: dict[int, list[Trial]] = {}
    for level in levels:
        if level.kind == "sweep":
            by_level.setdefault(level.concurrency, []).append(_trial(level))
    return tuple(_worst(by_level[level]) for level in sorted(by_level))


def published_trials(figures: Iterable[Figure]) -> tuple[Trial, ...]:
    """Published figures as trials: ``decode_speed`` and ``ttft_p99`` at a concurrency."""
    by_level: dict[int, dict[str, float]] = {}
    for figure in figures:
        if figure.concurrency is not None and figure.metric in ("decode_speed", "ttft_p99"):
            by_level.setdefault(figure.concurrency, {})[figure.metric] = figure.value
    return tuple(
        Trial(
            concurrency=level,
            speed=found.get("decode_speed"),
            wait=found.get("ttft_p99"),
            exact="ttft_p99" in found,
        )
        for level, found in sorted(by_level.items())
    )


def failures(trial: Trial, criteria: Criteria) -> tuple[Criterion, ...]:
    """The criteria that a level fails; what is not known fails nothing."""
    return tuple(name for name, used in _used(trial, criteria).items() if used > 1)


def find(tried: Sequence[Trial], criteria: Criteria = USUAL) -> SweetSpot:
    """The sweet spot among levels in rising order."""
    bad = [trial for trial in tried if failures(trial, criteria)]
    good = [t for t in tried if not t.queueing and t not in bad and _judged(t)]
    if not good:
        if not bad:
            return SweetSpot(kind="unknown")
        first = bad[0]
        return SweetSpot(kind="none", failed=first, decided_by=failures(first, criteria))
    best = good[-1]
    above = [trial for trial in bad if trial.concurrency > best.concurrency]
    used = {name: share for name, share in _used(best, criteria).items() if name != "success"}
    tightest = max(used, key=lambda name: used[name])
    return SweetSpot(
        kind="edge" if above else "floor",
        level=best.concurrency,
        at=best,
        failed=above[0] if above else None,
        decided_by=failures(above[0], criteria) if above else (),
        tightest=tightest,
        headroom=max(0.0, 1 - used[tightest]),
        slots=any(t.queueing and t.concurrency > best.concurrency for t in tried),
        spread=_spread(above, criteria),
        uneven=any(trial.concurrency < best.concurrency for trial in bad),
    )


def _used(trial: Trial, criteria: Criteria) -> Mapping[Criterion, float]:
    """How much of each criterion a level uses up; above 1 it fails."""
    used: dict[Criterion, float] = {}
    scale = criteria.characters_per_token or 1.0
    if trial.speed is not None:
        used["speed"] = criteria.speed / (trial.speed * scale) if trial.speed > 0 else float("inf")
    if trial.wait is not None:
        used["wait"] = trial.wait / criteria.wait
    if trial.success is not None:
        used["success"] = criteria.success / trial.success if trial.success > 0 else float("inf")
    return used


def _judged(trial: Trial) -> bool:
    """A level can hold only when both its speed and its wait are known."""
    return trial.speed is not None and trial.wait is not None


def _spread(above: Sequence[Trial], criteria: Criteria) -> int | None:
    """The highest level right above the sweet spot that only its first wave fails."""
    found = None
    for trial in above:
        calm = msgspec.structs.replace(trial, wait=trial.steady)
        if trial.queueing or trial.steady is None or failures(calm, criteria):
            break
        found = trial.concurrency
    return found


def _trial(level: LevelSummary) -> Trial:
    tried = level.ok + level.failed
    exact = level.ttft.p99 is not None
    return Trial(
        concurrency=level.concurrency,
        speed=level.decode_speed.mean if level.decode_speed else None,
        wait=level.ttft.p99 if exact else level.ttft.worst,
        exact=exact,
        success=level.ok / tried if tried else None,
        n=level.ok,
        queueing="queueing" in level.flags,
        first_wave=level.ramp.ttft.worst if level.ramp else None,
        steady=level.steady.ttft.worst if level.steady else None,
    )


def _worst(repeats: Sequence[Trial]) -> Trial:
    return Trial(
        concurrency=repeats[0].concurrency,
        speed=min((t.speed for t in repeats if t.speed is not None), default=None),
        wait=max((t.wait for t in repeats if t.wait is not None), default=None),
        exact=all(t.exact for t in repeats),
        success=min((t.success for t in repeats if t.success is not None), default=None),
        n=sum(t.n or 0 for t in repeats),
        queueing=any(t.queueing for t in repeats),
        first_wave=max((t.first_wave for t in repeats if t.first_wave is not None), default=None),
        steady=max((t.steady for t in repeats if t.steady is not None), default=None),
    )
