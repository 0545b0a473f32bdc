"""Statistics: values known from elsewhere, and properties that hold for any sample."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from bench.numbers.stats import (
    carries,
    clusters,
    mean,
    mean_difference,
    median_difference,
    median_interval,
    quantiles,
    wilson,
)
from bench.summary import Interval, Mean

times = st.floats(0.001, 1000, allow_nan=False)


@pytest.mark.parametrize(
    ("name", "share", "needed"),
    [("p50", 0.5, 6), ("p90", 0.9, 36), ("p95", 0.95, 72), ("p99", 0.99, 368)],
)
def test_a_quantile_needs_a_sample_that_carries_its_interval(name, share, needed):
    assert carries(needed, share)
    assert not carries(needed - 1, share)
    enough, few = quantiles(range(1, needed + 1)), quantiles(range(1, needed))
    assert name in enough.intervals
    assert getattr(enough, name) is not None
    assert name not in few.intervals
    if name != "p50":
        assert getattr(few, name) is None
    assert few.worst == needed - 1


@pytest.mark.parametrize(("share", "n"), [(0.5, 25), (0.9, 64), (0.95, 100), (0.99, 400)])
def test_an_order_statistic_interval_covers_at_least_95_per_cent(share, n):
    """Coverage of (x_r, x_s) is the chance that r to s − 1 values lie below the true quantile."""
    found = quantiles(range(1, n + 1)).intervals[f"p{round(share * 100)}"]
    below = binom(n, share)
    assert below.cdf(found.high - 1) - below.cdf(found.low - 1) >= 0.95
    assert below.cdf(found.low - 1) <= 0.025
    assert below.sf(found.high - 1) <= 0.025


def test_a_quantile_is_interpolated_between_its_neighbours():
    found = quantiles([float(i) for i in range(1, 101)])
    assert (found.p50, found.p90, found.p95) == pytest.approx((50.5, 90.1, 95.05))
    assert (found.n, found.best, found.worst, found.p99) == (100, 1.0, 100.0, None)


def test_no_values_give_no_numbers():
    found = quantiles([])
    assert (found.n, found.p50, found.worst, found.intervals) == (0, None, None, {})
    assert mean([]) is None
    assert wilson(0, 0) is None


def test_gaps_of_the_same_request_claim_no_interval():
    found = quantiles([1.0] * 400, independent=False)
    assert found.p99 == 1.0
    assert found.intervals == {}


@given(st.lists(times, min_size=1, max_size=500))
def test_quantiles_are_in_order_and_inside_the_sample(values):
    found = quantiles(values)
    given_ones = [
        q
        for q in (found.best, found.p50, found.p90, found.p95, found.p99, found.worst)
        if q is not None
    ]
    close = [round(q, 9) for q in given_ones]
    assert close == sorted(close)
    assert found.worst == max(values)
    for name, interval in found.intervals.items():
        assert interval.low <= getattr(found, name) * (1 + 1e-12)
        assert getattr(found, name) <= interval.high * (1 + 1e-12)


def test_a_mean_carries_the_sample_standard_deviation_and_a_t_interval():
    found = mean([10.0, 12.0, 14.0])
    assert found is not None and found.interval is not None
    assert (found.n, found.mean, found.sd) == (3, 12.0, pytest.approx(2.0))
    # t(0.975; 2) = 4.302653, from a printed table
    reach = 4.302653 * 2.0 / math.sqrt(3)
    assert found.interval.high == pytest.approx(12 + reach, rel=1e-6)


def test_one_value_has_no_spread_and_equal_values_have_none_either():
    assert mean([5.0]) == Mean(n=1, mean=5.0)
    assert mean([5.0, 5.0]) == Mean(n=2, mean=5.0, sd=0.0, interval=Interval(5.0, 5.0))


def test_the_wilson_interval_has_its_known_value():
    found = wilson(7, 10)
    assert found is not None
    assert (found.low, found.high) == pytest.approx((0.3968, 0.8922), abs=1e-4)
    everything = wilson(64, 64)
    assert everything is not None and everything.high == pytest.approx(1.0)
    assert everything.low == pytest.approx(64 / (64 + 1.959964**2), rel=1e-6)


def test_a_bootstrap_with_the_same_seed_is_the_same():
    values = [1.0, 2.0, 4.0, 8.0, 9.0, 11.0]
    assert median_interval(values, seed=3) == median_interval(values, seed=3)
    found = median_interval(values)
    assert found is not None and 1.0 <= found.low <= 6.0 <= found.high <= 11.0
    assert median_interval([1.0]) is None


def test_a_difference_of_medians_is_in_per_cent_with_an_interval():
    slow = list(np.linspace(1.95, 2.05, 21))
    fast = list(np.linspace(0.98, 1.02, 21))
    found = median_difference(slow, fast)
    assert found is not None and found[1] is not None
    assert found[0] == pytest.approx(100.0)
    assert 90 < found[1].low < 100 < found[1].high < 110
    assert median_difference([], fast) is None
    assert median_difference([2.0], [1.0]) == (100.0, None)


def test_a_difference_of_means_widens_with_the_spread_and_says_the_same_both_ways():
    a = Mean(n=5, mean=58.59, sd=0.06)
    b = Mean(n=5, mean=34.33, sd=0.05)
    percent, interval = mean_difference(a, b)
    back, other = mean_difference(b, a)
    assert percent == pytest.approx(70.67, abs=0.01)
    assert interval is not None and other is not None
    assert interval.low < percent < interval.high
    assert (1 + other.low / 100) * (1 + interval.high / 100) == pytest.approx(1)
    assert (1 + back / 100) * (1 + percent / 100) == pytest.approx(1)
    assert mean_difference(a, Mean(n=1, mean=34.33))[1] is None


def test_two_equal_spreads_give_the_pooled_degrees_of_freedom():
    a = b = Mean(n=6, mean=10.0, sd=1.0)
    _, interval = mean_difference(a, b)
    assert interval is not None
    reach = 2.228139 * math.sqrt(2 * 1.0 / (6 * 100))  # t(0.975; 10) = 2.228139
    assert interval.high == pytest.approx(100 * (math.exp(reach) - 1), rel=1e-6)


def test_a_fast_and_a_slow_state_are_two_groups():
    assert clusters([63.1, 94.0, 63.4, 93.8, 62.9]) == ((62.9, 63.1, 63.4), (93.8, 94.0))
    assert clusters([63.0, 94.0]) == ((63.0,), (94.0,))


@pytest.mark.parametrize(
    "values",
    [
        (60.0, 70.0, 80.0),
        (58.5, 58.6, 58.7),
        (57.0, 61.0),
        (50.0, 50.0),
        (10.0,),
        (50, 54, 61),
        (50, 60, 72),
    ],
)
def test_ordinary_spread_is_one_state(values):
    assert len(clusters(values)) == 1


def test_no_values_are_no_state():
    assert clusters([]) == ()


@given(st.lists(st.floats(0.97, 1.03), min_size=1, max_size=30))
def test_noise_of_three_per_cent_is_never_two_states(values):
    assert clusters(values) == (tuple(sorted(values)),)
