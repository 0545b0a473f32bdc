"""Who is faster, and when a difference is noise."""

from __future__ import annotations

import pytest
from levels import closed_loop, level, sample
from msgspec.structs import replace

from bench.catalogue import Figure
from bench.numbers.contest import contests
from bench.numbers.measured import Measured
from bench.numbers.metrics import summarise


def run(label, steps, *, slots=None):
    """One decode test and one sweep level for each step in seconds a token."""
    levels = []
    for number, step in enumerate(steps, 1):
        alone = level([sample(i, sent=2.0 * i, step=step + i * 1e-6) for i in range(5)])
        levels += [
            summarise(alone, kind="decode", name="tg128", repeat=number),
            summarise(
                closed_loop(16, 8, step=step), kind="sweep", name="c8", repeat=number, slots=slots
            ),
        ]
    return Measured(label=label, workload="w", levels=tuple(levels))


def alone(*runs):
    return contests("alone", runs)[0]


def test_one_repeat_inside_eight_per_cent_has_no_winner():
    found = alone(run("A", [0.0200]), run("B", [0.0214]))
    assert (found.outcome, found.rough) == ("same", True)
    assert found.percent == pytest.approx(7, abs=0.1)
    assert found.interval is not None and found.interval.low > 6  # the requests alone look sure


def test_one_repeat_beyond_eight_per_cent_has_a_winner_that_is_marked_rough():
    found = alone(run("A", [0.0250]), run("B", [0.0200]))
    assert (found.outcome, found.first.label, found.second.label) == ("faster", "B", "A")
    assert found.percent == pytest.approx(25, abs=0.1)
    assert found.rough


def test_three_repeats_can_tell_five_per_cent_apart():
    found = alone(run("A", [0.0200, 0.0201, 0.0199]), run("B", [0.0210, 0.0211, 0.0209]))
    assert (found.outcome, found.rough) == ("faster", False)
    assert 3 < found.interval.low < found.percent < found.interval.high


def test_repeats_that_overlap_tell_no_difference():
    found = alone(run("A", [0.0190, 0.0210, 0.0200]), run("B", [0.0200, 0.0220, 0.0211]))
    assert found.percent > 3
    assert found.interval.low < 0
    assert found.outcome == "same"


def test_a_sure_difference_of_two_per_cent_is_no_difference_that_matters():
    found = alone(run("A", [0.02000, 0.02001, 0.02002]), run("B", [0.02040, 0.02041, 0.02042]))
    assert found.interval.low > 0
    assert found.outcome == "same"


def test_a_machine_in_two_states_is_not_ranked():
    found = alone(run("A", [0.0106, 0.0159, 0.0106]), run("B", [0.0250, 0.0251, 0.0249]))
    assert found.outcome == "unsteady"


def test_throughput_is_compared_at_the_highest_level_that_both_measured_without_a_queue():
    runs = [run("A", [0.02]), run("B", [0.04])]
    (found,) = contests("together", runs)
    assert (found.test, found.outcome, found.first.label) == ("c8", "faster", "A")
    assert contests("together", [runs[0], run("C", [0.04], slots=4)]) == ()


def test_prefill_is_compared_at_the_longest_prompt_in_common():
    def read(label, **lengths):
        tests = [
            summarise(
                level([sample(i, sent=3.0 * i, ttft=ttft) for i in range(5)]),
                kind="prefill",
                name=name,
            )
            for name, ttft in lengths.items()
        ]
        return Measured(label=label, workload="w", levels=tuple(tests))

    found = contests("start", [read("A", pp512=0.1, pp2048=0.4), read("B", pp2048=0.8, pp8192=3.0)])
    assert [(c.test, c.first.label) for c in found] == [("pp2048", "A")]
    assert found[0].percent == pytest.approx(100)
    assert contests("start", [read("A", pp512=0.1), read("B", pp2048=0.8)]) == ()
    longest = contests(
        "start", [read("A", pp512=0.1, pp2048=0.4), read("B", pp512=0.2, pp2048=0.3)]
    )
    assert [(c.test, c.first.label) for c in longest] == [("pp2048", "B")]


def test_of_many_the_best_is_set_against_each_other_one():
    runs = [run(label, [step]) for label, step in (("A", 0.03), ("B", 0.02), ("C", 0.021))]
    found = contests("alone", runs)
    assert [(c.first.label, c.second.label, c.outcome) for c in found] == [
        ("B", "C", "same"),
        ("B", "A", "faster"),
    ]


def test_published_figures_are_compared_without_an_interval():
    def published(label, value):
        figure = Figure(metric="decode_speed", value=value, test="tg", concurrency=1)
        sweep = replace(figure, value=99.0, test="c8", concurrency=8)
        return Measured(label=label, source="published", workload="author", figures=(figure, sweep))

    found = alone(published("llama.cpp", 58.59), published("vLLM", 34.33))
    assert (found.outcome, found.interval, found.rough) == ("faster", None, True)
    assert found.percent == pytest.approx(70.67, abs=0.01)
