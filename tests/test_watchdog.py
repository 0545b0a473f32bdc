"""Rules that stop an engine, with readings handed in."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.machine import host
from bench.machine.host import GIB
from bench.machine.watchdog import Reading, gave_up, memory_floor, stalled
from bench.text import LANGUAGES, words

FLOOR = 4 * GIB


def test_a_look_says_what_was_left_and_what_must_stay(tmp_path: Path) -> None:
    meminfo = tmp_path / "meminfo"
    look = memory_floor(lambda: host.available(tmp_path), FLOOR)
    meminfo.write_text(f"MemAvailable: {FLOOR // 1024} kB\n")
    assert look() is None  # the floor itself is no reason to stop
    meminfo.write_text(f"MemAvailable: {FLOOR // 1024 - 500_000} kB\n")
    reason = look()
    assert reason is not None
    assert reason.fault.fields == {"available": "3.5", "floor": "4.0"}
    meminfo.write_text(f"MemAvailable: {FLOOR // 1024 - 1} kB\n")
    assert look() is not None
    for language in LANGUAGES:
        assert "3.5 GiB" in words(language).fault(reason.fault)


def test_a_start_is_given_up_for_want_of_progress_and_not_for_its_length() -> None:
    assert not gave_up(moved=670.0, now=681.0)
    assert not gave_up(moved=0.0, now=599.9)
    assert gave_up(moved=81.0, now=681.0)


def series(*points: tuple[float, int, int, float | None]) -> list[Reading]:
    return [Reading(at=at, running=running, tokens=tokens, counter=counter)
            for at, running, tokens, counter in points]  # fmt: skip


@pytest.mark.parametrize(
    ("points", "expected"),
    [
        ([(0, 4, 7, 50), (60, 4, 7, 50), (120, 4, 7, 50)], True),
        ([(0, 4, 7, 50), (60, 4, 7, 50), (119, 4, 7, 50)], False),
        ([(0, 4, 7, 50), (60, 4, 8, 50), (120, 4, 8, 50)], False),  # a token came
        ([(0, 4, 7, 50), (60, 4, 7, 51), (120, 4, 7, 51)], False),  # a counter moved
        ([(0, 4, 7, 50), (60, 0, 7, 50), (120, 4, 7, 50)], False),  # nothing ran in between
        ([(0, 4, 7, None), (120, 4, 7, None)], True),  # no counter to look at
        ([(0, 0, 7, 50), (120, 0, 7, 50)], False),
        ([], False),
    ],
)
def test_a_stall_is_requests_without_a_token_and_without_a_counter(
    points: list[tuple[float, int, int, float | None]], expected: bool
) -> None:
    assert stalled(series(*points)) is expected
