"""What nvidia-smi tells of a GPU's state, as a value. Every ``N/A`` is None.

Two forms are read: the CSV of `QUERY` with its header, cheap enough for once a second, and the
report of ``nvidia-smi -q``, which also has counters. Field names have changed with the drivers
("throttle reasons" became "event reasons"); both are read. With several GPUs it is the first.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping

import msgspec

QUERY = (
    "--query-gpu=clocks.sm,clocks.max.sm,power.draw,temperature.gpu,utilization.gpu,"
    "clocks_throttle_reasons.active",
    "--format=csv",
)
"""Arguments of nvidia-smi for `from_csv`; newer drivers still know the older name."""
REPORT = ("-q",)
"""Arguments of nvidia-smi for `from_report`."""
USERS = ("--query-compute-apps=pid", "--format=csv,noheader")
BITS = {
    0x04: "power_cap",
    0x08: "hardware_slowdown",
    0x20: "software_thermal",
    0x40: "hardware_thermal",
    0x80: "power_brake",
}
"""Bits of the active reasons (nvml.h); idle and settings of clocks are no throttling."""
NAMES = {
    "SW Power Cap": "power_cap",
    "SW Power Capping": "power_cap",
    "HW Slowdown": "hardware_slowdown",
    "SW Thermal Slowdown": "software_thermal",
    "HW Thermal Slowdown": "hardware_thermal",
    "HW Power Brake Slowdown": "power_brake",
    "HW Power Braking": "power_brake",
}


class Gpu(msgspec.Struct, frozen=True, kw_only=True):
    """A GPU at one moment."""

    clock: float | None = None
    """SM clock, MHz."""
    clock_max: float | None = None
    power: float | None = None
    """Watts."""
    temperature: float | None = None
    """Degrees Celsius."""
    utilization: float | None = None
    """Share of the last moments in which something ran, 0 to 1. It says little: a GPU that spins
    in a deadlock shows 96 %."""
    throttled: tuple[str, ...] | None = None
    """Why its clock is held down now; None where it does not tell."""
    throttle_us: Mapping[str, int] = msgspec.field(default_factory=dict)
    """Microseconds that each reason has held it down since the driver started."""


def from_csv(text: str | None) -> Gpu | None:
    """The GPU in what ``nvidia-smi`` answered to `QUERY`; None when it is no such table."""
    rows = list(csv.reader((text or "").strip().splitlines(), skipinitialspace=True))
    if len(rows) < 2 or len(rows[0]) != len(rows[1]):
        return None
    found = {re.sub(r"\s*\[.*\]$", "", name): value for name, value in zip(*rows[:2], strict=True)}
    if not any(name.startswith(("clocks.", "temperature.", "power.")) for name in found):
        return None
    reasons = found.get("clocks_throttle_reasons.active", found.get("clocks_event_reasons.active"))
    return Gpu(
        clock=_number(found.get("clocks.current.sm", found.get("clocks.sm"))),
        clock_max=_number(found.get("clocks.max.sm")),
        power=_number(found.get("power.draw")),
        temperature=_number(found.get("temperature.gpu")),
        utilization=_share(found.get("utilization.gpu")),
        throttled=_bits(reasons),
    )


def from_report(text: str | None) -> Gpu | None:
    """The GPU in a report of ``nvidia-smi -q``; None when it is no such report."""
    sections = _sections(text or "")
    if not sections:
        return None

    def of(*path: str) -> str | None:
        return sections.get(path)

    power = next(
        (
            value
            for path, value in sections.items()
            if path[-1] in ("Instantaneous Power Draw", "Power Draw", "Average Power Draw")
            and path[0] in ("GPU Power Readings", "Power Readings")
            and _number(value) is not None
        ),
        None,
    )
    reasons = {
        NAMES[path[-1]]: value
        for path, value in sections.items()
        if path[0] in ("Clocks Event Reasons", "Clocks Throttle Reasons") and path[-1] in NAMES
    }
    told = [value for value in reasons.values() if value in ("Active", "Not Active")]
    counters = {
        NAMES[path[-1]]: int(count)
        for path, value in sections.items()
        if path[0] == "Clocks Event Reasons Counters"
        and path[-1] in NAMES
        and (count := _number(value)) is not None
    }
    return Gpu(
        clock=_number(of("Clocks", "SM")),
        clock_max=_number(of("Max Clocks", "SM")),
        power=_number(power),
        temperature=_number(of("Temperature", "GPU Current Temp")),
        utilization=_share(of("Utilization", "GPU") or of("Utilization", "Gpu")),
        throttled=tuple(n for n, value in reasons.items() if value == "Active") if told else None,
        throttle_us=counters,
    )


def _sections(text: str) -> dict[tuple[str, ...], str]:
    """The report of the first GPU as (section, …, name) → value."""
    found: dict[tuple[str, ...], str] = {}
    above: list[tuple[int, str]] = []
    gpus = 0
    for line in text.splitlines():
        gpus += line.startswith("GPU ")
        if gpus != 1 or not line.startswith(" "):
            continue
        depth = len(line) - len(line.lstrip())
        name, colon, value = (part.strip() for part in line.partition(" : "))
        above = [one for one in above if one[0] < depth]
        if colon:
            found[(*(one[1] for one in above), name)] = value
        above.append((depth, name))
    return found


def _number(value: str | None) -> float | None:
    match = re.match(r"\s*(-?\d+(?:\.\d+)?)", value or "")
    return float(match[1]) if match else None


def _share(value: str | None) -> float | None:
    number = _number(value)
    return None if number is None else number / 100


def _bits(value: str | None) -> tuple[str, ...] | None:
    match = re.match(r"\s*(0x[0-9A-Fa-f]+)", value or "")
    if not match:
        return None
    return tuple(name for bit, name in BITS.items() if int(match[1], 16) & bit)
