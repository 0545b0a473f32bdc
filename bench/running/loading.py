"""Waiting for an engine with an honest display: stages from its log, ready by its answers.

It is given up on lack of progress, never after a fixed time: eleven minutes are normal for a large
model, and a machine that reads slowly is not a machine that is stuck.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from itertools import repeat
from pathlib import Path

import msgspec

from bench import probe
from bench.errors import BenchError
from engines import stages
from engines.logs import Lines
from engines.stages import Progress

PATIENCE = 600.0
"""Seconds without a new stage and without a new byte of log after which it is given up."""
PERIOD = 0.25
TELL = 2.0
"""Seconds between two words on how it goes: memory falls while a log is silent."""


class Loaded(msgspec.Struct, frozen=True, kw_only=True):
    """A finished start."""

    seconds: float
    progress: Progress


def wait_ready(
    url: str,
    model: str,
    headers: Mapping[str, str],
    *,
    engine: str,
    log: Path | None,
    died: Callable[[], BenchError | None],
    tell: Callable[[Progress, float, str], None],
    check: Callable[[], None],
    patience: float = PATIENCE,
    clock: Callable[[], float] = time.monotonic,
    pause: Callable[[float], None] = time.sleep,
) -> Loaded:
    """Wait until the engine is healthy, names this model and answers it (A17).

    ``tell`` gets (progress, seconds since the start, last line) at each new stage, and every
    `TELL` seconds; ``check`` raises to end the waiting. Raises what ``died`` found, or BenchError
    ``engine_stuck``.
    """
    begun = moved = told = clock()
    progress, last = Progress(), ""
    new = _follow(log) if log else repeat((False, list[str]()))
    while True:
        check()
        ready = probe.ready(url, model, headers)  # before the log is read: no line is missed
        (came, lines), now, stage = next(new), clock(), progress.stage
        for line in lines:
            progress = stages.step(progress, line, now - begun)
            last = stages.plain(line).strip() or last
        if came:
            moved = now
        if progress.stage != stage or now - told >= TELL:
            told = now
            tell(progress, now - begun, last)
        if (error := died()) is not None:
            raise error
        if ready:
            return Loaded(seconds=now - begun, progress=progress)
        if now - moved > patience:
            raise BenchError(
                "engine_stuck", engine=engine, minutes=round(patience / 60), log=last or "–"
            )
        pause(PERIOD)


def _follow(path: Path) -> Iterator[tuple[bool, list[str]]]:
    """Whether anything came since the last look, and the lines that it ended; for ever."""
    lines = Lines()
    with path.open("rb") as file:
        while True:
            piece = file.read(1 << 20)
            yield bool(piece), lines.feed(piece)
