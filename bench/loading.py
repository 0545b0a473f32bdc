"""Waiting for an engine with an honest display: stages from its log, ready by its answers.

It is given up on lack of progress, never after a fixed time: eleven minutes are normal for a large
model, and a machine that reads slowly is not a machine that is stuck.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import msgspec

from bench import probe
from bench.errors import BenchError
from engines import stages
from engines.stages import Progress

PATIENCE = 600.0
"""Seconds without a new stage and without a new byte of log after which it is given up."""
PERIOD = 0.25


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

    ``tell`` gets (progress, seconds since the start, last line) whenever something moved; ``check``
    raises to end the waiting. Raises what ``died`` found, or BenchError ``engine_stuck``.
    """
    begun = moved = clock()
    progress, last = Progress(), ""
    new = _follow(log) if log else iter(lambda: list[str](), None)
    while True:
        check()
        lines, now = next(new), clock()
        for line in lines:
            progress = stages.step(progress, line, now - begun)
            last = stages.plain(line).strip() or last
        if lines:
            moved = now
            tell(progress, now - begun, last)
        if (error := died()) is not None:
            raise error
        if probe.ready(url, model, headers):
            return Loaded(seconds=clock() - begun, progress=progress)
        if now - moved > patience:
            raise BenchError(
                "engine_stuck", engine=engine, minutes=round(patience / 60), log=last or "–"
            )
        pause(PERIOD)


def _follow(path: Path) -> Iterator[list[str]]:
    """The lines that came since the last look, for ever. A line that is not ended yet waits."""
    rest = b""
    with path.open("rb") as file:
        while True:
            *lines, rest = (rest + file.read(1 << 20)).split(b"\n")
            yield [line.decode(errors="replace") for line in lines]
