"""Readings beside a run: the machine's health and the engine's own counters, every two seconds.

A thread reads and keeps; what it kept is taken between levels, so that nothing is written while one
is being measured. The reading itself is a file, a short-lived program and one small answer of the
engine: nothing that the meter waits for.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from statistics import fmean

import msgspec

from bench import probe
from bench.config import Config
from bench.machine import health, machines
from bench.machine.health import Canary, HealthStamp, Reading

PERIOD = 2.0
KEPT = 60
"""Readings of a run that its health stamp carries."""
COUNTERS = (
    "vllm:num_requests_running", "vllm:num_requests_waiting", "vllm:num_preemptions_total",
    "vllm:kv_cache_usage_perc", "vllm:prefix_cache_queries_total", "vllm:prefix_cache_hits_total",
    "vllm:generation_tokens_total", "llamacpp:requests_processing", "llamacpp:requests_deferred",
    "llamacpp:tokens_predicted_total", "llamacpp:prompt_tokens_total",
    "llamacpp:prompt_tokens_cached_total", "sglang:num_running_reqs", "sglang:num_queue_reqs",
)  # fmt: skip
Row = tuple[float, Mapping[str, object]]
"""(seconds since the start, what was read)"""


class Telemetry:
    """The readings of one run."""

    def __init__(self, config: Config, url: str, headers: Mapping[str, str]) -> None:
        self._config = config
        self._url = url
        self._headers = headers
        self._begun = time.monotonic()
        self._rows: list[Row] = []
        self._taken = 0
        self._readings: list[Reading] = []
        self._ask = machines.asking(config)
        self.before = health.read(config.proc, self._ask)

    def read(self) -> None:
        """One reading of the machine and the engine."""
        reading = health.read(self._config.proc, self._ask, report=False)
        counters = probe.metrics(self._url, self._headers)
        told = {name: counters[name] for name in COUNTERS if name in counters}
        at = time.monotonic() - self._begun
        self._readings.append(reading)
        self._rows.append((at, {"machine": msgspec.to_builtins(reading), "engine": told}))

    def power(self, since: float) -> float | None:
        """The GPU's mean power in watts since a moment of ``time.monotonic``, where it is told."""
        rows = zip(self._rows, self._readings, strict=False)
        read = [reading.gpu for (at, _), reading in rows if at >= since - self._begun]
        told = [gpu.power for gpu in read if gpu and gpu.power is not None]
        return fmean(told) if told else None

    def moving(self) -> float | None:
        """The engine's counters added up, as last read: the same twice means that nothing moved."""
        told = self._rows[-1][1]["engine"] if self._rows else None
        return sum(told.values()) if isinstance(told, dict) and told else None

    def take(self) -> list[Row]:
        """The rows that nobody has taken yet."""
        end = len(self._rows)
        rows, self._taken = self._rows[self._taken : end], end
        return rows

    def stamp(self, canary: Canary | None) -> HealthStamp:
        """The run's health: an even choice of its readings, and one more of the machine now."""
        stride = max(1, len(self._readings) // KEPT)
        return HealthStamp(
            before=self.before,
            during=tuple(self._readings[::stride]),
            after=health.read(self._config.proc, self._ask),
            canary=canary,
        )


@contextmanager
def sampling(telemetry: Telemetry, period: float = PERIOD) -> Iterator[None]:
    """Read every ``period`` seconds until the block ends."""
    over = threading.Event()

    def sample() -> None:
        while not over.wait(period):
            telemetry.read()

    thread = threading.Thread(target=sample, name="telemetry", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(timeout=15)
