"""The health stamp: what state the machine was in before, while and after it was measured.

A DGX Spark can get stuck in a low-power state in which everything takes twice as long and nothing
else looks wrong, and it can be throttled by heat. A run in such a *slow state* is marked and left
out of comparisons.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean, median
from typing import Literal, TypeVar

import msgspec

from bench.machine import gpu as gpus
from bench.machine.gpu import Gpu
from bench.machine.host import Ask
from bench.numbers.measured import Health
from bench.numbers.stats import clusters
from bench.text import Words

SLOW_CLOCK = 1000.0
"""MHz: a GB10 at work runs at about 2,400; in its low-power state at 500 to 850."""
SLOW_SHARE = 0.45
"""The same for another GPU: this share of its highest clock, where that is below the other line."""
AT_WORK = 0.5
"""Utilisation from which a clock says something."""
HELD = 1_000_000
"""Microseconds of throttling in a run that are no accident."""
HOT = 86.0
"""Degrees Celsius from which a GB10 throttles."""
SWAPPED = 256 * 1024**2
"""Bytes that went to swap in a run."""
CANARY = 0.75
"""A canary below this share of the machine's usual value is slow."""
HISTORY = 3
"""Canaries of the past that a comparison needs."""
BRAKES = ("hardware_slowdown", "software_thermal", "hardware_thermal", "power_brake")

T = TypeVar("T")
Slow = Literal["low_power", "throttled", "canary"]
Remark = Literal["hot", "swapping", "others", "load"]


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """The machine at one moment. None is "not told"."""

    gpu: Gpu | None = None
    available: int | None = None
    """MemAvailable, bytes."""
    swap_used: int | None = None
    load: float | None = None
    """Processes that wanted to run, mean of the last minute."""
    processors: int | None = None
    gpu_users: tuple[int, ...] = ()
    """Process ids that compute on the GPU; empty inside a container, whoever does."""


class Canary(msgspec.Struct, frozen=True, kw_only=True):
    """A short fixed measurement beside this machine's own past."""

    value: float
    """Tokens a second."""
    usual: float | None = None
    """Median of the past in its fast state; None with fewer than three values."""
    past: int = 0

    @property
    def slow(self) -> bool:
        return self.usual is not None and self.value < CANARY * self.usual


class HealthStamp(msgspec.Struct, frozen=True, kw_only=True):
    """What a run carries of the machine's state."""

    before: Reading
    during: tuple[Reading, ...] = ()
    """While requests were worked on."""
    after: Reading | None = None
    canary: Canary | None = None


def read(proc: Path, nvidia_smi: Ask, *, report: bool = True) -> Reading:
    """The machine now. `report` asks for the counters too; without it the call is cheaper."""
    if report:
        gpu = gpus.from_report(nvidia_smi(gpus.REPORT))
    else:
        gpu = gpus.from_csv(nvidia_smi(gpus.QUERY))
    return reading(
        gpu=gpu,
        meminfo=_text(proc / "meminfo"),
        loadavg=_text(proc / "loadavg"),
        stat=_text(proc / "stat"),
        users=nvidia_smi(gpus.USERS) or "" if gpu else "",
    )


def reading(
    *, gpu: Gpu | None, meminfo: str, loadavg: str = "", stat: str = "", users: str = ""
) -> Reading:
    """One moment from the texts of ``/proc`` files and nvidia-smi's list of process ids."""
    swap = [_kilobytes(meminfo, name) for name in ("SwapTotal", "SwapFree")]
    load = re.match(r"\d+(?:\.\d+)?", loadavg)
    return Reading(
        gpu=gpu,
        available=_kilobytes(meminfo, "MemAvailable"),
        swap_used=None if swap[0] is None or swap[1] is None else swap[0] - swap[1],
        load=float(load[0]) if load else None,
        processors=len(re.findall(r"^cpu\d+ ", stat, re.MULTILINE)) or None,
        gpu_users=tuple(int(pid) for pid in re.findall(r"^\s*(\d+)\s*$", users, re.MULTILINE)),
    )


def canary(value: float, past: Sequence[float]) -> Canary:
    """A canary beside earlier ones of the same measurement on this machine.

    Where the past has a fast and a slow state, the fast one is what the machine can do.
    """
    fast = clusters(past)[-1] if past else ()
    usual = median(fast) if len(past) >= HISTORY else None
    return Canary(value=value, usual=usual, past=len(past))


def slow(stamp: HealthStamp) -> tuple[Slow, ...]:
    """Why the run was in a slow state; empty when nothing says that it was."""
    found: list[Slow] = []
    if _low_power(stamp.during):
        found.append("low_power")
    if _throttled(stamp):
        found.append("throttled")
    if stamp.canary and stamp.canary.slow:
        found.append("canary")
    return tuple(found)


def health(stamp: HealthStamp | None) -> Health:
    """``slow``, ``good``, or ``unknown`` where nothing was told that could show a slow state."""
    if stamp is None:
        return "unknown"
    if slow(stamp):
        return "slow"
    clocks = any(one.gpu and one.gpu.clock is not None for one in stamp.during)
    return "good" if clocks or (stamp.canary and stamp.canary.usual is not None) else "unknown"


def remarks(stamp: HealthStamp) -> tuple[Remark, ...]:
    """What a reader should know although it makes no slow state by itself."""
    every = [stamp.before, *stamp.during, *([stamp.after] if stamp.after else [])]
    swap = [one.swap_used for one in every if one.swap_used is not None]
    found: dict[Remark, bool] = {
        "hot": any((_of(one, lambda g: g.temperature) or 0) >= HOT for one in every),
        "swapping": bool(swap) and max(swap) - swap[0] > SWAPPED,
        "others": bool(stamp.before.gpu_users),
        "load": (stamp.before.load or 0) > 0.5 * (stamp.before.processors or 2),
    }
    return tuple(name for name, holds in found.items() if holds)


def mean_power(stamp: HealthStamp) -> float | None:
    """Mean watts of the GPU while it was measured; None where it does not tell."""
    watts = [w for one in stamp.during if (w := _of(one, lambda g: g.power)) is not None]
    return fmean(watts) if watts else None


def sentences(stamp: HealthStamp, t: Words) -> tuple[str, ...]:
    """The slow states, then the remarks, each in a sentence; none when all is well."""
    usual = stamp.canary.usual if stamp.canary else None
    share = round(100 * stamp.canary.value / usual) if stamp.canary and usual else 0
    return (
        *(t(f"health.{name}", share=share) for name in slow(stamp)),
        *(t(f"health.{name}") for name in remarks(stamp)),
    )


def _low_power(during: Sequence[Reading]) -> bool:
    """The usual clock while at work is that of the low-power state."""
    working = [one.gpu for one in during if one.gpu and (one.gpu.utilization or 0) >= AT_WORK]
    clocks = [gpu.clock for gpu in working if gpu.clock is not None]
    if not clocks:
        return False
    highest = next((gpu.clock_max for gpu in working if gpu.clock_max), None)
    line = min(SLOW_CLOCK, SLOW_SHARE * highest) if highest else SLOW_CLOCK
    return median(clocks) < line


def _throttled(stamp: HealthStamp) -> bool:
    """Held down by heat or a brake for a second or more, or in half of the readings."""
    before, after = (one.gpu if one else None for one in (stamp.before, stamp.after))
    if before and after:
        grown = [
            after.throttle_us.get(name, 0) - before.throttle_us.get(name, 0) for name in BRAKES
        ]
        if max(grown) >= HELD:
            return True
    told = [r for one in stamp.during if (r := _of(one, lambda g: g.throttled)) is not None]
    held = [reasons for reasons in told if set(reasons) & set(BRAKES)]
    return bool(told) and 2 * len(held) >= len(told)


def _of(reading: Reading, value: Callable[[Gpu], T | None]) -> T | None:
    return value(reading.gpu) if reading.gpu else None


def _kilobytes(text: str, name: str) -> int | None:
    match = re.search(rf"^{name}:\s+(\d+) kB", text, re.MULTILINE)
    return int(match[1]) * 1024 if match else None


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
