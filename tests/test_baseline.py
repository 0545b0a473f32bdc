"""Differences from a baseline: a percentage, "no difference", or the reason for neither."""

from __future__ import annotations

import pytest
from levels import closed_loop, level, sample

from bench.numbers.baseline import Change, against
from bench.numbers.measured import Measured
from bench.numbers.metrics import summarise
from bench.shown import tables
from bench.text import words

EN = words("en")


def run(label: str, *steps: float, workload: str = "w") -> Measured:
    """One decode test and one sweep level for each step in seconds a token."""
    levels = []
    for number, step in enumerate(steps, 1):
        alone = level([sample(i, sent=2.0 * i, step=step + i * 1e-6) for i in range(5)])
        both = closed_loop(16, 8, step=step)
        levels.append(summarise(alone, kind="decode", name="tg128", repeat=number))
        levels.append(summarise(both, kind="sweep", name="c8", repeat=number))
    return Measured(label=label, workload=workload, levels=tuple(levels))


def changes(base: Measured, other: Measured) -> dict[str, Change]:
    (found,) = against(base, [other])
    assert found.refused is None
    return {one.topic: one for one in found.changes}


def test_a_percentage_is_of_the_baseline() -> None:
    slow, fast = run("slow", 0.025), run("fast", 0.020)
    more, less = changes(slow, fast)["alone"], changes(fast, slow)["alone"]
    assert more.percent == pytest.approx(25, abs=0.1) and more.outcome == "more"
    assert less.percent == pytest.approx(-20, abs=0.1) and less.outcome == "less"
    assert more.better and not less.better


def test_an_interval_is_turned_with_its_percentage() -> None:
    slow, fast = run("slow", 0.0250, 0.0251, 0.0249), run("fast", 0.0200, 0.0201, 0.0199)
    less = changes(fast, slow)["alone"]
    assert less.interval and less.percent is not None
    assert less.interval.low < less.percent < less.interval.high < 0


def test_inside_the_noise_there_is_no_percentage() -> None:
    found = changes(run("A", 0.0200), run("B", 0.0214))["alone"]
    assert (found.outcome, found.percent, found.interval) == ("same", None, None)


def test_a_machine_in_two_states_is_unsteady() -> None:
    torn = run("A", 0.0106, 0.0159, 0.0106)
    assert changes(run("B", 0.0250, 0.0251, 0.0249), torn)["alone"].outcome == "unsteady"


def test_a_shorter_wait_is_better() -> None:
    def waiting(label: str, ttft: float) -> Measured:
        made = level([sample(i, sent=3.0 * i, ttft=ttft) for i in range(5)])
        summary = summarise(made, kind="sweep", name="c8")
        return Measured(label=label, workload="w", levels=(summary,))

    found = changes(waiting("A", 0.8), waiting("B", 0.4))["wait"]
    assert found.percent == pytest.approx(-50) and found.better


def test_what_may_not_be_compared_has_a_reason_and_no_percentage() -> None:
    (found,) = against(run("A", 0.02), [run("B", 0.04, workload="other")])
    assert found.changes == () and found.refused and found.refused.code == "workload"


def test_a_table_says_more_less_and_no_difference() -> None:
    base = run("base", 0.0200, 0.0201, 0.0199)
    others = [run("far", 0.0250, 0.0251, 0.0249), run("near", 0.0201, 0.0200, 0.0202)]
    first, *_ = tables.against(against(base, others), EN)
    assert first[EN("table.quantity")] == "Writing, one person (tg128)"
    assert str(first["far"]).startswith("−20 % (−2")
    assert first["near"] == "no difference"
