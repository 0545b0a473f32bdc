"""The truth benchmark: its arithmetic on planted errors, and a short run of the real thing."""

from __future__ import annotations

import json
from statistics import median

import msgspec
import pytest

from bench.numbers.request import tpot
from bench.sample import Sample
from bench.truth.benchmark import Cost, cost, judged, main
from bench.truth.scenarios import case, true_tpot, true_ttft

GOOD = Cost(
    ttft_error_p50_ms=1.0,
    ttft_error_p99_ms=5.0,
    ttft_error_from_read_p50_ms=1.0,
    ttft_error_from_read_p99_ms=5.0,
    gap_p99_error_ms=0.5,
    tpot_error_ms=0.01,
    cpu_s=1.0,
    memory_mb=60,
    startup_s=0.3,
)


def test_errors_are_the_clients_times_minus_the_servers() -> None:
    truth = {"r0": {"arrived": 10.0, "received": 10.001, "sent": [10.2, 10.22, 10.24]}}
    client = {"times": [["r0", [0.203, 0.223, 0.253]]], "cpu_s": 1.5, "memory_mb": 60}
    got = cost(client, truth, spawned=9.5)
    assert got.ttft_error_p50_ms == pytest.approx(3)
    assert got.ttft_error_from_read_p50_ms == pytest.approx(4)
    assert got.tpot_error_ms == pytest.approx(5)
    assert got.gap_p99_error_ms == pytest.approx(9.9, abs=0.01)
    assert (got.startup_s, got.cpu_s, got.memory_mb) == (0.5, 1.5, 60)


def test_a_ttft_that_is_too_early_is_an_error_too() -> None:
    truth = {"r0": {"arrived": 10.0, "received": 10.001, "sent": [10.2, 10.22]}}
    client = {"times": [["r0", [0.1, 0.12]]], "cpu_s": 1, "memory_mb": 1}
    assert cost(client, truth, spawned=9.5).ttft_error_p50_ms == pytest.approx(100)


@pytest.mark.parametrize(
    ("streams", "worse", "goal"),
    [
        (8, {"ttft_error_p50_ms": 1.6}, "TTFT error P50 1.60"),
        (8, {"ttft_error_p99_ms": 8.0}, "TTFT error P99 1.60"),
        (128, {"cpu_s": 1.9}, "processor time 1.90"),
        (32, {"gap_p99_error_ms": 1.1}, "P99 gap off by 1.10 ms"),
        (8, {"tpot_error_ms": 0.2}, "TPOT off by 0.200 ms"),
        (8, {"startup_s": 1.1}, "start-up 1.10 s"),
    ],
)
def test_a_missed_goal_is_named(streams: int, worse: dict[str, float], goal: str) -> None:
    assert judged(streams, 32, [(GOOD, GOOD)]).missed == ()
    (missed,) = judged(streams, 32, [(msgspec.structs.replace(GOOD, **worse), GOOD)]).missed
    assert missed.startswith(goal)


def test_one_noisy_round_of_three_does_not_decide() -> None:
    noisy = msgspec.structs.replace(GOOD, ttft_error_p99_ms=80.0)
    assert judged(8, 32, [(GOOD, GOOD), (noisy, GOOD), (GOOD, GOOD)]).missed == ()


def test_the_real_thing_runs(capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["--levels", "8", "--rounds", "1", "--tokens", "4", "--json"])
    printed = json.loads(capsys.readouterr().out)
    (level,) = printed["levels"]
    assert code == bool(printed["missed"])
    assert (level["streams"], level["requests"]) == (8, 32)
    assert level["meter"]["ttft_error_p50_ms"] < 100
    assert len(printed["scenarios"]) == 6


RECORD = {"arrived": 10.0, "sent": [10.2, 10.28, 10.36], "tokens": [4, 4, 4]}


def told(first: float | None, last: float | None) -> Sample:
    return Sample(
        id="r0",
        sent=0.0,
        first_token=first,
        last_token=last,
        chunks=3,
        output_tokens=12,
        first_chunk_tokens=4,
    )


def test_a_scenario_is_held_against_the_servers_log() -> None:
    pairs = [(told(0.2001, 0.3601), RECORD)]
    ttft = case("TTFT", pairs, lambda s: s.first_token, true_ttft, median, 2.0)
    assert (ttft.true, ttft.right) == (pytest.approx(200), True)
    speed = case("TPOT", pairs, tpot, true_tpot, median, 0.1)
    assert (speed.true, speed.ours, speed.right) == (pytest.approx(20), pytest.approx(20), True)


@pytest.mark.parametrize("first", [0.19, 0.21, None])
def test_a_scenario_that_is_off_or_has_no_figure_is_wrong(first: float | None) -> None:
    pairs = [(told(first, 0.36), RECORD)]
    assert not case("TTFT", pairs, lambda s: s.first_token, true_ttft, median, 2.0).right
