"""What is set beside each other: a run of ours, a published or an imported result, as one value.

Two are comparable when they were sent the same, in the same way, under the same conditions, and
their numbers mean the same. Otherwise there is a reason, and no percentage.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

from bench.catalogue import Figure, Published
from bench.errors import Field
from bench.plan import Plan
from bench.summary import LevelSummary

Health = Literal["good", "slow", "unknown"]


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """One result in a comparison."""

    label: str
    """How sentences call it."""
    source: Literal["measured", "published", "imported"] = "measured"
    workload: str
    """Workload id; for a published result the author's name of it, or the author."""
    prompt_tokens: int | None = None
    output_tokens: int | None = None
    arrival: str = "closed"
    levels: tuple[LevelSummary, ...] = ()
    figures: tuple[Figure, ...] = ()
    """Of a published result."""
    health: Health = "unknown"
    """``slow``: the machine was in a slow state (`health.py`)."""
    definitions: Mapping[str, str] = msgspec.field(default_factory=dict)
    """Metric → id of its definition, where that is not ours (`definitions.py`)."""


class Reason(msgspec.Struct, frozen=True, kw_only=True):
    """Why two results cannot be compared: a key of a sentence and its fields."""

    code: str
    fields: Mapping[str, Field] = msgspec.field(default_factory=dict)


def of_plan(
    label: str, plan: Plan, levels: Sequence[LevelSummary], health: Health = "unknown"
) -> Measured:
    """A run of ours."""
    work = plan.workload
    return Measured(
        label=label,
        workload=work.id,
        prompt_tokens=work.prompt_tokens or None,
        output_tokens=work.output_tokens or None,
        arrival=work.arrival,
        levels=tuple(levels),
        health=health,
    )


def of_published(label: str, published: Published) -> Measured:
    """Somebody else's figures; one author's series counts as one workload."""
    return Measured(
        label=label, source="published", workload=published.author, figures=published.figures
    )


def reason(a: Measured, b: Measured) -> Reason | None:
    """Why `a` and `b` cannot be compared, or None when they can."""
    if a.source != b.source and "published" in (a.source, b.source):
        ours, theirs = (a, b) if b.source == "published" else (b, a)
        return _because("published", a, b, ours=ours.label, theirs=theirs.label)
    if a.workload != b.workload:
        return _because("workload", a, b, first=a.workload, second=b.workload)
    if (a.prompt_tokens, a.output_tokens) != (b.prompt_tokens, b.output_tokens):
        first, second = (f"{m.prompt_tokens} + {m.output_tokens}" for m in (a, b))
        return _because("lengths", a, b, first=first, second=second)
    if a.arrival != b.arrival:
        return _because("arrival", a, b, first=a.arrival, second=b.arrival)
    for code, flag in (("cache", "cached_prompts"), ("output", "short_output")):
        marked = [m for m in (a, b) if _flagged(m, flag)]
        if len(marked) == 1:
            return _because(code, a, b, which=marked[0].label)
    slow = [m for m in (a, b) if m.health == "slow"]
    if slow:
        return _because("health", a, b, which=slow[0].label)
    for metric in sorted({*a.definitions, *b.definitions}):
        first, second = (m.definitions.get(metric, "ours") for m in (a, b))
        if first != second:
            return _because("definition", a, b, metric=metric, first=first, second=second)
    return None


def comparable(results: Sequence[Measured]) -> tuple[tuple[Measured, ...], tuple[Reason, ...]]:
    """The largest group of results that can all be compared, and why each other one cannot.

    Of groups of the same size it is that of the first result. The order stays.
    """
    groups: list[list[Measured]] = []
    for result in results:
        home = next((g for g in groups if all(reason(m, result) is None for m in g)), None)
        if home is None:
            groups.append([result])
        else:
            home.append(result)
    if not groups:
        return (), ()
    best = max(groups, key=len)
    apart = [reason(best[0], result) for group in groups if group is not best for result in group]
    return tuple(best), tuple(found for found in apart if found is not None)


def _flagged(result: Measured, flag: str) -> bool:
    return any(flag in level.flags for level in result.levels)


def _because(code: str, a: Measured, b: Measured, **fields: Field) -> Reason:
    return Reason(code=code, fields={"a": a.label, "b": b.label, **fields})
