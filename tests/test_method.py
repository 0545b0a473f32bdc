"""Rules of measuring: warming up, the order of levels, repeats, the search for the edge."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from levels import closed_loop, level, sample

from bench.numbers.method import next_level, order, repeats, spread, steady
from bench.numbers.metrics import summarise


@pytest.mark.parametrize(
    ("ttfts", "per_round", "done"),
    [
        ([], 1, False),
        ([0.5], 1, False),
        ([2.0, 0.5], 1, False),
        ([2.0, 0.5, 0.52], 1, True),
        ([2.0, 0.5, 0.52, 0.4], 1, False),
        ([0.5, 1.0, 1.5, 2.0], 4, False),  # one round, however alike its halves
        ([0.5, 1.0, 1.5, 2.0, 0.5, 1.0, 1.4, 2.0], 4, True),
        ([5.0, 6.0, 7.0, 8.0, 0.5, 1.0, 1.5, 2.0], 4, False),
        ([0.5, 1.0, 1.5, 2.0, 1.2, 1.3], 4, True),  # two of the second round failed
    ],
)
def test_warming_up_ends_when_a_round_is_like_the_one_before(ttfts, per_round, done):
    assert steady(ttfts, per_round) is done


@given(st.sets(st.integers(1, 256), min_size=4, max_size=9), st.integers())
def test_the_two_heaviest_levels_are_never_back_to_back(levels, seed):
    found = order(sorted(levels), seed)
    assert sorted(found) == sorted(levels)
    first, second = sorted(levels)[-2:]
    assert abs(found.index(first) - found.index(second)) > 1
    assert found == order(sorted(levels), seed)


def test_a_few_levels_stay_in_order():
    assert order([1, 4, 8], 7) == (1, 4, 8)
    assert len({order([1, 4, 8, 16, 32], seed) for seed in range(20)}) > 5


def test_repeats_in_two_states_have_no_average():
    found = spread([63.0, 94.0, 63.5])
    assert found.states == ((63.0, 63.5), (94.0,))
    assert found.mean is None
    assert found.percent == pytest.approx(49.2, abs=0.1)
    assert found.values == (63.0, 94.0, 63.5)


def test_repeats_in_one_state_have_a_mean_with_an_interval():
    found = spread([58.0, 60.0, 59.0])
    assert found.mean.mean == pytest.approx(59)
    assert found.mean.interval is not None
    assert found.percent == pytest.approx(100 * 2 / 58)
    assert spread([]) is None


def test_repeats_of_a_level_are_found_by_its_name():
    def once(step, number):
        run = closed_loop(16, 8, step=step)
        return summarise(run, kind="sweep", name="c8", repeat=number)

    prefill = summarise(level([sample()]), kind="prefill", name="pp2048")
    found = repeats([once(0.03, 3), once(0.02, 1), once(0.02, 2), prefill])
    assert found["c8"].values == pytest.approx((50, 50, 100 / 3))
    assert len(found["c8"].states) == 2
    assert found["pp2048"].values == pytest.approx((10240,))


@pytest.mark.parametrize("edge", [0, 1, 2, 5, 6, 11, 23, 31, 47, 100])
def test_the_search_finds_the_edge_in_few_levels(edge):
    tried = {}
    while (level := next_level(tried, 64)) is not None:
        assert level not in tried
        tried[level] = level <= edge
    held = max((level for level, good in tried.items() if good), default=0)
    assert held <= edge
    assert min(edge, 64) - held <= max(0, int(0.1 * held))
    assert len(tried) <= 11


def test_a_search_that_never_fails_ends_at_the_most():
    assert next_level({1: True, 2: True, 4: True, 6: True}, 6) is None
    assert next_level({1: True, 2: True, 4: True}, 6) == 6
