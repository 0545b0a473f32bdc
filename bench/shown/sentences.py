"""What results say, in sentences: one alone, and several against each other."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from bench import catalogue
from bench.catalogue import Catalogue
from bench.machine import health
from bench.machine.health import HealthStamp
from bench.numbers import measured, method, physics, verdict
from bench.numbers.measured import Measured, Reason
from bench.numbers.physics import Physics
from bench.results import Result
from bench.store import Run
from bench.text import Words


def headline(result: Result, t: Words, *, short: bool = False) -> str:
    """One result in a sentence; empty while it goes on or nothing was measured. ``short`` leaves
    out what is true of every demo model."""
    one = measured_of(result)
    if (result.run and result.run.live) or not (one.levels or one.figures):
        return ""
    if result.mark and not _judged(one):
        names = dict.fromkeys(level.name for level in one.levels)
        levels = t("charts.list_separator").join(names)
        return t("imports.headline", tool=result.mark.name, levels=levels)
    return verdict.headline(verdict.spot_of(one), t, demo=result.demo and not short)


def _judged(one: Measured) -> bool:
    """Whether an imported result's own numbers can be held against the criteria of a sweet spot."""
    ours = not {"ttft", "decode_speed"} & set(one.definitions)
    return ours and verdict.spot_of(one).kind != "unknown"


def outcome(result: Result, t: Words) -> str:
    """How a run ended, in a sentence: its fault, or what it found."""
    if result.run and result.run.fault:
        return t.fault(result.run.fault)
    return headline(result, t, short=True)


def reasons(result: Result, t: Words) -> list[str]:
    """What the headline holds for, and why no more people."""
    if not result.run or not result.levels:
        return []
    spot = verdict.spot_of(measured_of(result))
    work = result.run.plan.workload
    told = work.prompt_tokens and work.output_tokens  # a file may not tell
    said = [verdict.conditions(spot, work, t)] if spot.level and told else []
    return [*said, *verdict.reasons(spot, t)]


def compared(results: Sequence[Result], t: Words) -> tuple[str, ...]:
    """Results against each other, a sentence a question."""
    return verdict.compare([measured_of(result) for result in results], t)


def refusal(found: Reason, t: Words) -> str:
    """Why two results are not set against each other."""
    return t(f"verdict.apart.{found.code}", **found.fields)


def memory_limit(result: Result, known: Catalogue, t: Words) -> str:
    """One user's speed beside what the machine's memory allows; empty where that is unknown."""
    found = _assessed(result, known)
    return physics.sentence(found, t) if found else ""


def ceilings(results: Sequence[Result], known: Catalogue) -> dict[str, float]:
    """What the memory allows one user, in tokens a second by result id, where that is known."""
    found = {result.id: _assessed(result, known) for result in results}
    return {name: one.ceiling for name, one in found.items() if one}


def _assessed(result: Result, known: Catalogue) -> Physics | None:
    run = result.run
    if run is None or run.model not in known.models or run.artifact is None:
        return None
    model = known.models[run.model]
    speeds = [level.decode_speed for level in result.levels if level.kind == "decode"]
    return physics.assess(
        speeds[0].mean if speeds and speeds[0] else None,
        bandwidth=(run.facts.get("host") or {}).get("bandwidth"),
        weights=physics.active_bytes(
            model, catalogue.artifact(model, run.artifact), run.plan.artifact_bytes
        ),
        tokens_per_chunk=next((level.tokens_per_chunk for level in result.levels), None),
    )


def repeated(result: Result, t: Words) -> list[str]:
    """How much the repeats of each level differ; two states are told as two, never averaged."""
    said = []
    for name, spread in method.repeats(result.levels).items():
        if len(spread.values) < 2:
            continue
        if len(spread.states) > 1:
            slow, fast = (f"{sum(state) / len(state):.1f}" for state in spread.states)
            said.append(t("repeats.two", level=name, slow=slow, fast=fast))
        else:
            n, percent = len(spread.values), f"{spread.percent:.0f}"
            said.append(t("repeats.one", level=name, n=n, percent=percent))
    return said


def measured_of(result: Result) -> Measured:
    """A result as what sentences and percentages are made of."""
    if result.published:
        return measured.of_published(result.label, result.published)
    assert result.run
    state = health.health(_stamp(result.run))
    made = measured.of_plan(result.label, result.run.plan, result.levels, state)
    if mark := result.mark:
        definitions = mark.definitions
        return msgspec.structs.replace(made, source="imported", definitions=definitions)
    return made


def _stamp(run: Run) -> HealthStamp | None:
    try:
        return msgspec.convert(run.facts.get("health"), HealthStamp | None)
    except msgspec.ValidationError:
        return None  # another version's


def warnings(result: Result, t: Words) -> list[str]:
    """What a reader must know of the machine and of the levels, each said once."""
    stamp = _stamp(result.run) if result.run else None
    said = list(health.sentences(stamp, t)) if stamp else []
    said += [t.fault(one) for one in result.mark.warnings] if result.mark else []
    flags: dict[str, list[str]] = {}
    for level in result.levels:
        for flag in level.flags:
            flags.setdefault(flag, []).append(level.name)
    return said + [
        t(f"flags.{flag}", levels=t("charts.list_separator").join(names))
        for flag, names in flags.items()
        if f"flags.{flag}" in t
    ]
