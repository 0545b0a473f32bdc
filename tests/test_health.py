"""The health stamp: a slow state is seen, and nothing is made up where nothing is told."""

from __future__ import annotations

import pytest

from bench.machine.gpu import QUERY, REPORT, USERS, Gpu
from bench.machine.health import (
    Canary,
    HealthStamp,
    Reading,
    canary,
    health,
    mean_power,
    read,
    reading,
    remarks,
    sentences,
    slow,
)
from bench.text import words

MEMINFO = """MemTotal:       127600748 kB
MemFree:        40000000 kB
MemAvailable:   100000000 kB
SwapTotal:      16777216 kB
SwapFree:       16000000 kB
"""
EMPTY = Reading()


def working(clock, **more):
    gpu = Gpu(clock=clock, clock_max=3003, utilization=0.96, throttled=(), **more)
    return Reading(gpu=gpu, swap_used=0)


def stamp(*during, before=EMPTY, after=None, bird=None):
    return HealthStamp(before=before, during=during, after=after, canary=bird)


def test_a_reading_is_made_from_the_texts_of_proc():
    found = reading(
        gpu=None,
        meminfo=MEMINFO,
        loadavg="1.52 0.80 0.40 2/800 4242\n",
        stat="cpu  1 2\ncpu0 1 2\ncpu1 1 2\nintr 5\n",
        users="4242\n 77\n",
    )
    assert found.available == 100_000_000 * 1024
    assert found.swap_used == 777_216 * 1024
    assert (found.load, found.processors, found.gpu_users) == (1.52, 2, (4242, 77))


def test_texts_that_are_missing_are_none():
    assert reading(gpu=None, meminfo="") == EMPTY


def test_the_machine_is_read_from_files_and_one_program(tmp_path):
    (tmp_path / "meminfo").write_text(MEMINFO)
    asked = []

    def smi(arguments):
        asked.append(tuple(arguments))
        return "clocks.sm [MHz]\n2400 MHz\n" if tuple(arguments) == QUERY else None

    found = read(tmp_path, smi, report=False)
    assert (found.gpu, found.load) == (Gpu(clock=2400), None)
    assert asked == [QUERY, USERS]
    asked.clear()
    assert read(tmp_path, smi).gpu is None
    assert asked == [REPORT]


def test_the_low_power_state_is_a_clock_that_stays_down_under_load():
    low = stamp(*(working(clock) for clock in (507, 850, 611)))
    assert slow(low) == ("low_power",)
    assert health(low) == "slow"
    assert sentences(low, words("en"))[0].startswith("The GPU worked at a very low clock")


def test_a_low_clock_of_an_idle_gpu_says_nothing():
    idle = Reading(gpu=Gpu(clock=208, clock_max=3003, utilization=0.0))
    assert slow(stamp(idle, idle, working(2405))) == ()


def test_a_short_dip_is_no_state():
    assert slow(stamp(working(700), working(2400), working(2405))) == ()


def test_a_small_gpu_is_measured_by_its_own_highest_clock():
    def small(clock):
        return Reading(gpu=Gpu(clock=clock, clock_max=1500, utilization=1.0))

    assert slow(stamp(small(900))) == ()
    assert slow(stamp(small(600))) == ("low_power",)


def test_heat_and_brakes_that_hold_for_half_of_the_time_are_throttling():
    def held(*reasons):
        return Reading(gpu=Gpu(clock=2000, utilization=1.0, throttled=reasons))

    assert slow(stamp(held("software_thermal"), held())) == ("throttled",)
    assert slow(stamp(held("power_brake"), held(), held())) == ()
    assert slow(stamp(held("power_cap"), held("power_cap"))) == ()


def test_throttling_between_readings_is_seen_by_the_counters():
    def counted(us):
        return Reading(gpu=Gpu(throttle_us={"software_thermal": us, "power_cap": 9 * us}))

    assert slow(stamp(before=counted(5_000_000), after=counted(6_500_000))) == ("throttled",)
    assert slow(stamp(before=counted(5_000_000), after=counted(5_200_000))) == ()


def test_a_canary_is_judged_by_this_machines_own_past():
    assert canary(60.0, [80.0, 82.0, 81.0]) == Canary(value=60.0, usual=81.0, past=3)
    assert canary(60.0, [80.0, 82.0, 81.0]).slow
    assert not canary(62.0, [80.0, 82.0, 81.0]).slow
    assert not canary(10.0, [80.0, 82.0]).slow
    assert canary(10.0, []).usual is None


def test_a_past_in_two_states_is_judged_by_the_fast_one():
    """63 and 94 ms a step, seen on a machine whose nvidia-smi showed nothing."""
    past = [15.9, 15.8, 10.6, 15.9, 10.7, 10.6, 10.6]
    found = canary(10.6, past)
    assert found.usual == pytest.approx(15.9)
    assert found.slow
    assert slow(stamp(bird=found)) == ("canary",)
    assert "67 %" in sentences(stamp(bird=found), words("en"))[0]


def test_a_machine_that_tells_nothing_is_unknown_and_not_good():
    assert health(None) == "unknown"
    assert health(stamp(EMPTY, EMPTY)) == "unknown"
    assert health(stamp(Reading(gpu=Gpu()))) == "unknown"
    assert health(stamp(working(2405))) == "good"
    assert health(stamp(bird=canary(80.0, [80.0, 81.0, 82.0]))) == "good"


def test_remarks_make_no_slow_state():
    before = Reading(swap_used=0, gpu_users=(77,), load=1.6, processors=2)
    hot = Reading(gpu=Gpu(clock=2400, utilization=1.0, temperature=87), swap_used=300 * 1024**2)
    found = stamp(hot, before=before)
    assert remarks(found) == ("hot", "swapping", "others", "load")
    assert health(found) == "good"
    for language in ("en", "zh-TW"):
        assert len(sentences(found, words(language))) == 4
    assert remarks(stamp(working(2400), before=Reading(load=1.0, processors=20))) == ()


def test_swap_that_was_full_before_is_not_this_runs():
    full = Reading(swap_used=8 * 1024**3)
    assert remarks(stamp(full, before=full)) == ()


def test_power_is_that_of_the_time_of_measuring():
    idle = Reading(gpu=Gpu(power=5.0))
    assert (
        mean_power(stamp(working(2400, power=60.0), working(2400, power=70.0), before=idle)) == 65
    )
    assert mean_power(stamp(EMPTY, before=idle)) is None
