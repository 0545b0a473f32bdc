"""Each result against one of them, the baseline that a reader chose.

A percentage is given only where the two may be compared (`measured.reason`), and only beyond noise
(`contest`): inside it the answer is "no difference", never a small number.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from bench.numbers.contest import Contest, Topic, contest, readings
from bench.numbers.measured import Measured, Reason, reason
from bench.summary import Interval

TOPICS: tuple[Topic, ...] = ("alone", "start", "together", "wait")


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """One test of a result against the same test of the baseline."""

    topic: Topic
    test: str
    """``tg128``, ``pp8192``, ``c8``."""
    outcome: Literal["more", "less", "same", "unsteady"]
    percent: float | None = None
    """By how many per cent the result's value is above the baseline's; None inside the noise."""
    interval: Interval | None = None
    """Of the percentage, 95 %, where repeats or requests carry one."""

    @property
    def better(self) -> bool:
        """Whether it is for the better."""
        return self.outcome == ("less" if self.topic == "wait" else "more")


class Against(msgspec.Struct, frozen=True, kw_only=True):
    """One result against the baseline: the changes, or why there are none."""

    label: str
    changes: tuple[Change, ...] = ()
    refused: Reason | None = None


def against(base: Measured, others: Sequence[Measured]) -> tuple[Against, ...]:
    """Each of the others against the baseline, in their order."""
    return tuple(_against(base, other) for other in others)


def _against(base: Measured, other: Measured) -> Against:
    if refused := reason(base, other):
        return Against(label=other.label, refused=refused)
    changes = []
    for topic in TOPICS:
        ours, theirs = readings(topic, base), readings(topic, other)
        for test in (test for test in ours if test in theirs):
            found = contest(topic, test, ours[test], theirs[test])
            changes.append(_change(found, above=found.first is theirs[test]))
    return Against(label=other.label, changes=tuple(changes))


def _change(found: Contest, *, above: bool) -> Change:
    change = Change(topic=found.topic, test=found.test, outcome="same")
    if found.outcome != "faster":
        return msgspec.structs.replace(change, outcome=found.outcome)
    percent, within = found.percent, found.interval
    if not above:
        percent = _turned(percent)
        within = within and Interval(_turned(within.high), _turned(within.low))
    outcome: Literal["more", "less"] = "more" if above else "less"
    return msgspec.structs.replace(change, outcome=outcome, percent=percent, interval=within)


def _turned(percent: float) -> float:
    """25 % more, seen from the other side, is 20 % less."""
    return 100 * (1 / (1 + percent / 100) - 1)
