"""The truth benchmark: its arithmetic on planted errors, and a short run of the real thing."""

from __future__ import annotations

import json

import msgspec
import pytest

from bench.truth import Cost, cost, judged, main

GOOD = Cost(
    ttft_error_p50_ms=1.0,
    ttft_error_p99_ms=5.0,
    gap_p99_error_ms=0.5,
    tpot_error_ms=0.01,
    cpu_s=1.0,
    memory_mb=60,
    startup_s=0.3,
)


def test_errors_are_the_clients_times_minus_the_servers() -> None:
    truth = {"r0": {"arrived": 10.0, "sent": [10.2, 10.22, 10.24]}}
    told = {"times": [["r0", [0.203, 0.223, 0.253]]], "cpu_s": 1.5, "memory_mb": 60}
    got = cost(told, truth, spawned=9.5)
    assert got.ttft_error_p50_ms == pytest.approx(3)
    assert got.tpot_error_ms == pytest.approx(5)
    assert got.gap_p99_error_ms == pytest.approx(9.9, abs=0.01)
    assert (got.startup_s, got.cpu_s, got.memory_mb) == (0.5, 1.5, 60)


def test_a_ttft_that_is_too_early_is_an_error_too() -> None:
    truth = {"r0": {"arrived": 10.0, "sent": [10.2, 10.22]}}
    told = {"times": [["r0", [0.1, 0.12]]], "cpu_s": 1, "memory_mb": 1}
    assert cost(told, truth, spawned=9.5).ttft_error_p50_ms == pytest.approx(100)


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
    told = json.loads(capsys.readouterr().out)
    (level,) = told["levels"]
    assert code == bool(told["missed"])
    assert (level["streams"], level["requests"]) == (8, 32)
    assert level["meter"]["ttft_error_p50_ms"] < 100
    assert len(told["scenarios"]) == 6
