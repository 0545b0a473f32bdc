"""How a level is measured well: when to stop warming up, in which order, how often, and where next.

Pure rules; `measure.py` acts on them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from random import Random
from statistics import median

import msgspec

from bench.numbers.stats import clusters, mean
from bench.summary import LevelSummary, Mean

STEADY = 0.10
"""Two rounds of warm-up whose median TTFT differs by no more than this share are steady."""
RESOLVED = 0.10
"""The edge is found when the levels around it lie no further apart than this share of the lower."""


class Spread(msgspec.Struct, frozen=True, kw_only=True):
    """What repeats of one measurement say together."""

    values: tuple[float, ...]
    """In the order of measuring."""
    states: tuple[tuple[float, ...], ...]
    """One group, or two: a machine that flips between a fast and a slow state."""
    mean: Mean | None
    """None with two states: their average describes neither."""
    percent: float
    """(largest − smallest) ÷ smallest, in per cent."""


def steady(ttfts: Sequence[float], per_round: int = 1) -> bool:
    """Whether warming up can stop: the last round's median TTFT is that of the round before.

    `ttfts` holds the TTFTs of all warm-up requests so far, `per_round` at a time (the level's
    concurrency). A round that was cut short by failures counts with what it has.
    """
    rounds = [ttfts[place : place + per_round] for place in range(0, len(ttfts), per_round)]
    if len(rounds) < 2:
        return False
    before, last = median(rounds[-2]), median(rounds[-1])
    return abs(last - before) <= STEADY * before


def order(levels: Sequence[int], seed: int) -> tuple[int, ...]:
    """The levels in a seeded order that spares the machine: the two heaviest are no neighbours.

    Rising order heats a machine up towards the levels that decide. With fewer than four levels
    there is nothing to spare and the order is as given.
    """
    if len(levels) < 4:
        return tuple(levels)
    heavy = sorted(levels)[-2:]
    random = Random(f"order/{seed}")
    shuffled = list(levels)
    while True:
        random.shuffle(shuffled)
        places = [shuffled.index(level) for level in heavy]
        if abs(places[0] - places[1]) > 1:
            return tuple(shuffled)


def spread(values: Sequence[float]) -> Spread | None:
    """Repeats of one measurement; None of none. Positive values only."""
    if not values:
        return None
    states = clusters(values)
    return Spread(
        values=tuple(values),
        states=states,
        mean=mean(values) if len(states) == 1 else None,
        percent=100 * (max(values) / min(values) - 1),
    )


def repeats(levels: Iterable[LevelSummary]) -> dict[str, Spread]:
    """By level name: the writing speed of each repeat, or the reading speed of a prefill test."""
    found: dict[str, list[float]] = {}
    for level in sorted(levels, key=lambda level: level.repeat):
        speed = level.prefill_speed if level.kind == "prefill" else level.decode_speed
        if speed is not None and speed.mean > 0:
            found.setdefault(level.name, []).append(speed.mean)
    return {name: one for name, values in found.items() if (one := spread(values))}


def next_level(tried: Mapping[int, bool], most: int) -> int | None:
    """The level to try next in search of the edge; None when it is found or `most` held.

    `tried` says of each level whether it held. The search doubles from 1 until a level fails, then
    halves the distance, and ends when the levels around the edge lie within 10 % (or are
    neighbours).
    """
    held = max((level for level, good in tried.items() if good), default=0)
    broken = min((level for level, good in tried.items() if not good and level > held), default=0)
    if not broken:
        return None if held >= most else min(most, max(1, 2 * held))
    if broken - held <= max(1, int(RESOLVED * held)):
        return None
    return (held + broken) // 2
