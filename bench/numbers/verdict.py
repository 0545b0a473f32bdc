"""From values to sentences: what a person who is no engineer reads first.

`sweetspot.py`, `measured.py` and `contest.py` find what is so; here it is said, in the reader's
language (``data/text/verdict.toml``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bench.catalogue import Workload
from bench.errors import Field
from bench.numbers.contest import Contest, Topic, contests
from bench.numbers.measured import Measured, comparable
from bench.numbers.sweetspot import (
    USUAL,
    Criteria,
    Criterion,
    SweetSpot,
    Trial,
    find,
    published_trials,
    trials,
)
from bench.text import Words

TOPICS: tuple[Topic, ...] = ("alone", "start", "together")


def headline(spot: SweetSpot, t: Words, criteria: Criteria = USUAL, *, demo: bool = False) -> str:
    """One run in a sentence. `demo` adds that a small model says nothing of the machine."""
    sentence = t(f"verdict.{_headline_key(spot, criteria)}", **_fields(spot, criteria))
    return _together([sentence, t("verdict.demo")], t) if demo else sentence


def conditions(spot: SweetSpot, workload: Workload, t: Words) -> str:
    """What a headline holds for: lengths, requests, how people come, what "slowest" is."""
    n = (spot.at or spot.failed or Trial(concurrency=0)).n or workload.requests
    exact = bool(spot.at and spot.at.exact)
    return _together(
        [
            t(
                f"verdict.conditions.{workload.arrival}",
                prompt=workload.prompt_tokens,
                output=workload.output_tokens,
                rate=workload.rate or 0,
            ),
            t("verdict.slowest.p99" if exact else "verdict.slowest.worst", n=n),
        ],
        t,
    )


def reasons(spot: SweetSpot, t: Words, criteria: Criteria = USUAL) -> tuple[str, ...]:
    """Why no more people: what decides, how much is left, and what would change it."""
    found: list[str] = []
    if spot.decided_by:
        found.append(t(f"verdict.decides.{_why(spot.decided_by)}"))
    if spot.headroom is not None and spot.tightest:
        share = round(100 * spot.headroom)
        found.append(t(f"verdict.headroom.{spot.tightest}", share=share))
    waits = spot.at
    if waits and waits.first_wave is not None and waits.steady is not None:
        first, after = _short(waits.first_wave), _short(waits.steady)
        found.append(t("verdict.first_wave", first=first, after=after))
    if spot.spread is not None:
        found.append(t("verdict.spread", level=spot.spread))
    if waits and waits.wait and spot.tightest == "wait":
        found.append(t("verdict.longer_prompts", wait=_short(2 * waits.wait), limit=criteria.wait))
    if spot.slots:
        found.append(t("verdict.slots"))
    if spot.uneven:
        found.append(t("verdict.uneven"))
    return tuple(found)


def spot_of(result: Measured, criteria: Criteria = USUAL) -> SweetSpot:
    """The sweet spot of a run or of published figures."""
    tried = published_trials(result.figures) if result.figures else trials(result.levels)
    return find(tried, criteria)


def compare(results: Sequence[Measured], t: Words, criteria: Criteria = USUAL) -> tuple[str, ...]:
    """Two to eight results in sentences: who serves more, who is faster, what cannot be said."""
    group, apart = comparable(results)
    said = [t(f"verdict.apart.{found.code}", **found.fields) for found in apart]
    if len(group) < 2:
        return tuple(said) or (t("verdict.compare.too_few"),)
    found = [people(group, t, criteria)]
    found += [_contest(contests(topic, group), t) for topic in TOPICS]
    sentences = [sentence for sentence in found if sentence]
    if group[0].source == "published" and sentences:
        sentences.append(t("verdict.compare.published", author=group[0].workload))
    return (*(sentences or [t("verdict.compare.nothing")]), *said)


def people(results: Sequence[Measured], t: Words, criteria: Criteria = USUAL) -> str | None:
    """Who serves more people at once; None when fewer than two have a sweet spot."""
    known = [(spot_of(result, criteria), result.label) for result in results]
    ranked = sorted(
        ((spot, label) for spot, label in known if spot.level is not None),
        key=lambda pair: pair[0].level or 0,
        reverse=True,
    )
    if len(ranked) < 2:
        return None
    (first, a), (second, b) = ranked[:2]
    names: dict[str, Field] = {"a": a, "b": b}
    names |= {"first": first.level or 0, "second": second.level or 0}
    if first.level == second.level:
        sure = first.kind == second.kind == "edge"
        return t("verdict.people.same" if sure else "verdict.people.both_at_least", **names)
    if second.kind == "floor":
        return t("verdict.people.open", **names)
    return t("verdict.people.at_least" if first.kind == "floor" else "verdict.people.more", **names)


def _contest(found: Sequence[Contest], t: Words) -> str | None:
    """The best against the closest of the others."""
    if not found:
        return None
    close = found[0]
    fields: dict[str, Field] = {
        "a": close.first.label,
        "b": close.second.label,
        "percent": _short(close.percent),
        "test": close.test,
        "size": "".join(c for c in close.test if c.isdigit()),
    }
    if close.outcome == "unsteady":
        torn = next(r for r in (close.first, close.second) if len(r.repeats.states) > 1)
        slow, fast = (sum(state) / len(state) for state in torn.repeats.states)
        return t("verdict.unsteady", a=torn.label, slow=_short(slow), fast=_short(fast))
    key = f"verdict.{close.topic}.{close.outcome}"
    if close.outcome == "faster" and close.interval and not close.rough:
        fields |= {"low": _short(close.interval.low), "high": _short(close.interval.high)}
        return t(f"{key}_within", **fields)
    return t(key, **fields)


def _headline_key(spot: SweetSpot, criteria: Criteria) -> str:
    why = _why(spot.decided_by) if spot.decided_by else ""
    if why == "speed" and criteria.characters_per_token:
        why = "speed_characters"
    one = "_one" if (spot.level or 0) == 1 else ""
    match spot.kind:
        case "unknown":
            return "unknown"
        case "floor":
            return f"floor{'_slots' if spot.slots else ''}{one}"
        case "none":
            assert spot.failed
            if spot.failed.success == 0:
                return "nothing"
            many = "" if spot.failed.concurrency == 1 else "_many"
            return f"none{many}.{why}"
        case _:
            return f"edge{one}.{why}"


def _why(failed: Sequence[Criterion]) -> str:
    if "success" in failed:
        return "success"
    return "both" if len(failed) == 2 else failed[0]


def _fields(spot: SweetSpot, criteria: Criteria) -> Mapping[str, Field]:
    failed = spot.failed or Trial(concurrency=0)
    scale = criteria.characters_per_token
    return {
        "level": spot.level or 0,
        "failed": failed.concurrency,
        "wait": _short(failed.wait or 0),
        "speed": _short((failed.speed or 0) * (scale or 1)),
        "success": round(100 * (failed.success or 0)),
    }


def _short(value: float) -> str:
    """As many figures as a person reads: ``7.1``, ``58``, ``1,420``."""
    return f"{value:.1f}" if abs(value) < 10 else f"{value:,.0f}"


def _together(sentences: Sequence[str], t: Words) -> str:
    """Whole sentences, one after another, as the language sets them."""
    return ("" if t.language.startswith("zh") else " ").join(sentences)
