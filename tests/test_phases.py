"""Ramp, steady state and tail: where a level is cut, and what each part holds."""

from __future__ import annotations

import pytest
from levels import closed_loop, failed, level, sample
from msgspec.structs import replace

from bench.numbers.metrics import summarise
from bench.numbers.phases import phases, silence


def test_two_requests_a_user_have_a_first_wave_and_a_steady_state():
    """Sixteen at eight: the smallest level of the quick workload."""
    found = phases(closed_loop(16, 8, first_wave=2.0, ttft=0.5))
    first_end = 0.25 + 63 * 0.02
    assert found.ramp.n == 8
    assert found.ramp.duration == pytest.approx(first_end)
    assert found.ramp.ttft.worst == pytest.approx(2.0)
    assert found.steady.n == 8
    assert found.steady.ttft.worst == pytest.approx(0.5)
    # the last one is sent when the slowest of the first wave ends; the next completion is the
    # second user's second one
    last_sent = 2.0 + 63 * 0.02
    second_turn = [0.25 * user + 2 * 63 * 0.02 + 0.5 for user in range(1, 9)]
    emptying = min(end for end in second_turn if end > last_sent)
    assert found.steady.duration == pytest.approx(emptying - first_end)
    assert found.tail.ttft.n == 0
    assert found.tail.n == sum(end >= emptying for end in second_turn)


def test_the_three_parts_together_are_the_level():
    run = closed_loop(64, 8)
    found = phases(run)
    parts = (found.ramp, found.steady, found.tail)
    assert sum(part.duration for part in parts) == pytest.approx(run.duration)
    assert sum(part.throughput * part.duration for part in parts) == pytest.approx(64 * 64)
    assert found.ramp.n + found.steady.n == 64


def test_steady_throughput_is_that_of_a_level_that_is_always_full():
    """Each of 8 users gets 64 tokens in 0.5 + 1.26 s: 8 × 64 ÷ 1.76 tokens a second."""
    found = summarise(closed_loop(64, 8), kind="sweep", name="c8")
    assert found.throughput == pytest.approx(8 * 64 / 1.76, rel=0.02)
    assert found.throughput == found.steady.throughput
    assert found.throughput_all < found.throughput * 0.97


def test_one_wave_is_all_ramp_and_its_throughput_is_the_whole_levels():
    run = closed_loop(8, 8)
    found = summarise(run, kind="sweep", name="c8")
    assert found.steady is None
    assert (found.ramp.n, found.tail.n) == (8, 8)
    assert found.throughput == found.throughput_all == pytest.approx(512 / run.duration)


def test_fewer_replacements_than_users_are_no_steady_state():
    assert phases(closed_loop(15, 8)).steady is None
    assert phases(closed_loop(16, 8)).steady is not None


def test_one_user_alone_is_steady_from_the_first_request_on():
    run = closed_loop(5, 1, first_wave=0.5)
    found = phases(run)
    assert (found.ramp, found.tail, found.steady.n) == (None, None, 5)
    assert found.steady.throughput == pytest.approx(5 * 64 / run.duration)


def test_a_refusal_at_the_start_does_not_end_the_first_wave():
    run = closed_loop(16, 8)
    with_refusal = replace(run, samples=(failed(99, sent=0.0, end=0.001), *run.samples))
    assert phases(with_refusal).ramp == phases(run).ramp


def test_a_level_in_which_all_failed_has_no_parts():
    found = phases(level([failed(i) for i in range(8)], 4))
    assert (found.ramp, found.steady, found.tail) == (None, None, None)


def test_requests_that_come_one_by_one_have_a_steady_state_too():
    samples = [sample(i, sent=0.3 * i) for i in range(20)]
    run = level(samples, 20, peak_concurrency=5)
    found = phases(run)
    assert found.ramp.n == 5  # sent before the first completion, at 1.46 s
    assert found.steady.n == 15
    assert found.steady.throughput == pytest.approx(64 / 0.3, rel=0.05)


def test_an_engine_that_stands_still_for_three_seconds_is_seen():
    """As if it was stopped by SIGSTOP: every stream pauses at the same moment."""

    def paused(number, sent):
        one = sample(number, sent=sent)
        place = round((2.0 - sent - 0.2) / 0.02)
        gaps = tuple(g + 3.0 if i == place else g for i, g in enumerate(one.gaps))
        return replace(one, gaps=gaps, last_token=one.last_token + 3, end=one.end + 3)

    run = level([paused(i, 1.0 + 0.05 * i) for i in range(8)], 8)
    assert silence(run.samples) == pytest.approx(3.0, abs=0.05)
    found = summarise(run, kind="sweep", name="c8")
    assert "stalled" in found.flags
    assert found.gap.worst == pytest.approx(3.02, abs=0.01)


def test_waiting_for_the_next_first_token_is_no_standstill():
    run = closed_loop(5, 1, first_wave=4.0, ttft=4.0)
    assert silence(run.samples) == pytest.approx(0.02)
    assert "stalled" not in summarise(run, kind="sweep", name="c1").flags


def test_a_slow_stream_is_no_standstill():
    run = level([sample(tokens=6, step=1.5)])
    assert "stalled" not in summarise(run, kind="sweep", name="c1").flags
