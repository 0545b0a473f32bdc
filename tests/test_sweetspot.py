"""The sweet spot: which level, edge or floor, and what decides."""

from __future__ import annotations

import tomllib
from pathlib import Path

import msgspec
import pytest
from levels import closed_loop, failed, level

from bench.catalogue import Figure
from bench.numbers.metrics import summarise
from bench.numbers.sweetspot import Criteria, Trial, failures, find, published_trials, trials

PUBLISHED = Path(__file__).parents[1] / "data" / "published.toml"


def trial(concurrency, speed=20.0, wait=1.0, **more):
    return Trial(concurrency=concurrency, speed=speed, wait=wait, **{"success": 1.0, **more})


def test_the_published_figures_give_eight_people_with_an_edge_at_sixteen():
    table = tomllib.loads(PUBLISHED.read_text(encoding="utf-8"))
    figures = msgspec.convert(table["ironman-2026-day9-vllm"]["figures"], tuple[Figure, ...])
    spot = find(published_trials(figures))
    assert (spot.kind, spot.level, spot.failed.concurrency) == ("edge", 8, 16)
    assert spot.decided_by == ("speed",)
    assert spot.failed.speed == 7.06
    assert spot.tightest == "wait"
    assert spot.headroom == pytest.approx(1 - 3.93 / 4)


def test_eight_seconds_and_seven_tokens_fail_both():
    assert failures(trial(16, 7.06, 7.9), Criteria()) == ("speed", "wait")


def test_the_sweet_spot_is_the_highest_level_at_which_everything_holds():
    spot = find([trial(1), trial(4, wait=2.0), trial(8, 15.0, 5.2), trial(16, 7.0, 9.0)])
    assert (spot.kind, spot.level, spot.failed.concurrency) == ("edge", 4, 8)
    assert spot.decided_by == ("wait",)
    assert spot.failed.wait == 5.2
    assert not spot.uneven


def test_when_nothing_failed_it_is_only_a_floor():
    spot = find([trial(1), trial(4), trial(8)])
    assert (spot.kind, spot.level, spot.failed, spot.decided_by) == ("floor", 8, None, ())


def test_when_even_the_lowest_level_fails_there_is_none():
    spot = find([trial(1, 3.0, 9.0), trial(4, 1.0, 20.0)])
    assert (spot.kind, spot.level, spot.failed.concurrency) == ("none", None, 1)
    assert spot.decided_by == ("speed", "wait")


def test_no_levels_and_levels_without_figures_are_unknown():
    assert find([]).kind == "unknown"
    assert find([Trial(concurrency=8, speed=20.0)]).kind == "unknown"


def test_a_criterion_that_is_just_met_holds():
    assert failures(trial(8, 10.0, 4.0, success=0.95), Criteria()) == ()
    assert failures(trial(8, 9.99), Criteria()) == ("speed",)
    assert failures(trial(8, wait=4.001), Criteria()) == ("wait",)
    assert failures(trial(8, success=0.949), Criteria()) == ("success",)


def test_a_level_in_which_all_failed_fails_by_success():
    summary = summarise(level([failed(i) for i in range(8)], 8), kind="sweep", name="c8")
    (found,) = trials([summary])
    assert (found.speed, found.wait, found.success) == (None, None, 0.0)
    spot = find([trial(4), found])
    assert (spot.kind, spot.level, spot.decided_by) == ("edge", 4, ("success",))


def test_a_level_above_the_slots_is_never_a_sweet_spot():
    spot = find([trial(1), trial(4), trial(8, queueing=True)])
    assert (spot.kind, spot.level, spot.slots) == ("floor", 4, True)
    late = find([trial(4), trial(8, wait=6.0, queueing=True)])
    assert (late.kind, late.level, late.slots, late.decided_by) == ("edge", 4, True, ("wait",))
    assert find([trial(8, queueing=True)]).kind == "unknown"


def test_for_readers_of_chinese_the_line_is_in_characters():
    tried = [trial(4, 12.0), trial(8, 8.0)]
    assert find(tried).level == 4
    assert find(tried, Criteria(characters_per_token=1.5)).level == 8
    assert find(tried, Criteria(characters_per_token=0.8)).kind == "none"


def test_a_first_wave_alone_that_is_late_names_the_level_for_people_who_come_apart():
    spot = find(
        [
            trial(4, wait=2.0, first_wave=2.0, steady=0.5),
            trial(8, wait=5.2, first_wave=5.2, steady=1.5),
            trial(16, wait=9.0, first_wave=9.0, steady=4.5),
        ]
    )
    assert (spot.level, spot.spread) == (4, 8)
    assert find([trial(4), trial(8, wait=5.2, steady=4.2)]).spread is None
    assert find([trial(4), trial(8, 5.0, 5.2, steady=1.0)]).spread is None


def test_a_failure_below_the_sweet_spot_is_told():
    assert find([trial(1), trial(4, wait=4.4), trial(8)]).uneven


def test_repeats_of_a_level_count_as_the_worst_of_them():
    first, second = (
        summarise(closed_loop(16, 8, first_wave=wait, step=step), kind="sweep", name="c8")
        for wait, step in ((2.0, 0.05), (4.5, 0.02))
    )
    (found,) = trials([first, second])
    assert found.wait == pytest.approx(4.5)
    assert found.speed == pytest.approx(20)
    assert found.n == 32
    assert not found.exact
    assert find([found]).kind == "none"


def test_only_the_sweep_is_judged_and_in_rising_order():
    levels = [
        summarise(closed_loop(16, users), kind="sweep", name=f"c{users}") for users in (8, 1, 4)
    ]
    alone = summarise(closed_loop(5, 1), kind="prefill", name="pp2048")
    assert [t.concurrency for t in trials([alone, *levels])] == [1, 4, 8]


def test_a_level_with_enough_requests_is_judged_by_its_p99():
    (found,) = trials([summarise(closed_loop(368, 8), kind="sweep", name="c8")])
    assert found.exact
    assert found.wait < 2.0
    assert found.first_wave == pytest.approx(2.0)
