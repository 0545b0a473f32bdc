"""The truth benchmark: how far is the meter from what really happened?

``python -m bench truth --levels 1,8,32,128 --json`` starts a server of known timing, and against it
our meter and a plain client in turn, each in a process of its own, several rounds. Truth is the
server's log: TTFT from the arrival of the whole request at the server's machine (its kernel's
stamp) to the first chunk sent, and the times of all chunks. The same error counted from the moment
at which the server had *read* the request stands beside it, since other benchmarks count so: there
a server that reads late looks like a client that errs. A round's figure is compared with the plain
client's of the same round, and the median of the rounds counts, so that a noisy machine does not
decide. Exit code 1: a goal was missed.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise
from statistics import median
from time import perf_counter
from typing import Any

import httpx
import msgspec
import numpy as np

from bench.truth import scenarios as scenario

TTFT_MS, TOKEN_MS, TOKENS = 200.0, 20.0, 64
RATIO, CPU_RATIO = 1.5, 1.8
"""Goals: TTFT error and processor time ≤ these × the plain client's."""
GAP_MS, STARTUP_S = 1.0, 1.0
TPOT_MS = 0.1


class Cost(msgspec.Struct, frozen=True, kw_only=True):
    """What one client told of one level in one round. Errors are client minus truth, absolute."""

    ttft_error_p50_ms: float
    ttft_error_p99_ms: float
    ttft_error_from_read_p50_ms: float
    ttft_error_from_read_p99_ms: float
    """Truth counted from the moment at which the server had read the request."""
    gap_p99_error_ms: float
    """P99 of the gaps between chunks: told minus true."""
    tpot_error_ms: float
    """Median of all requests."""
    cpu_s: float
    memory_mb: float
    startup_s: float
    """From the start of the process to its first request at the server."""


class Level(msgspec.Struct, frozen=True, kw_only=True):
    """Medians over the rounds, and the median of the rounds' ratios."""

    streams: int
    requests: int
    meter: Cost
    plain: Cost
    ttft_ratio_p50: float
    ttft_ratio_p99: float
    ttft_ratio_from_read_p50: float
    ttft_ratio_from_read_p99: float
    cpu_ratio: float
    missed: tuple[str, ...]


def main(argv: Sequence[str]) -> int:
    options = _options(argv)
    with server("--ttft-ms", str(TTFT_MS), "--token-ms", str(TOKEN_MS)) as url:
        levels = [_level(url, streams, options) for streams in options.levels]
        scenarios = asyncio.run(scenario.all_of_them(url))
    missed = [f"{level.streams}: {goal}" for level in levels for goal in level.missed]
    missed += [f"{case.name}: {case.ours:.2f} ms" for case in scenarios if not case.right]
    if options.json:
        told = msgspec.to_builtins({"levels": levels, "scenarios": scenarios, "missed": missed})
        print(json.dumps(told, indent=2))
    else:
        for level in levels:
            print(_line(level))
        for case in scenarios:
            print(f"{case.name}: true {case.true:.2f} ms, ours {case.ours:.2f} ms")
        print("All goals met." if not missed else "Missed: " + "; ".join(missed))
    return 1 if missed else 0


@contextmanager
def server(*options: str) -> Iterator[str]:
    """A mock engine in a process of its own; gives its URL."""
    command = [sys.executable, "-m", "bench.mock.engine", "--port", "0", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield f"http://127.0.0.1:{json.loads(process.stdout.readline())['port']}"
        finally:
            process.terminate()


def _options(argv: Sequence[str]) -> Namespace:
    parser = ArgumentParser(prog="python -m bench truth", description=__doc__)
    parser.add_argument("--levels", type=_numbers, default=[1, 8, 32, 128])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--tokens", type=int, default=TOKENS, help="output tokens a request")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args(argv)


def _numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


def _level(url: str, streams: int, options: Namespace) -> Level:
    requests = max(8, 4 * streams)
    pairs = []
    for number in range(options.rounds):
        order = ("meter", "plain") if number % 2 == 0 else ("plain", "meter")
        costs = {kind: _measured(kind, url, streams, requests, options.tokens) for kind in order}
        pairs.append((costs["meter"], costs["plain"]))
    return judged(streams, requests, pairs)


def judged(streams: int, requests: int, pairs: Sequence[tuple[Cost, Cost]]) -> Level:
    """A level of (meter, plain client) pairs, one a round, and the goals that it missed."""

    def ratio(name: str) -> float:
        return float(
            median(getattr(ours, name) / max(getattr(ref, name), 1e-3) for ours, ref in pairs)
        )

    p50, p99, cpu = ratio("ttft_error_p50_ms"), ratio("ttft_error_p99_ms"), ratio("cpu_s")
    meter = _middle([meter for meter, _ in pairs])
    gap, tpot = meter.gap_p99_error_ms, meter.tpot_error_ms
    goals = [
        (p50 <= RATIO, f"TTFT error P50 {p50:.2f} × the plain client's"),
        (p99 <= RATIO, f"TTFT error P99 {p99:.2f} × the plain client's"),
        (cpu <= CPU_RATIO or streams < 128, f"processor time {cpu:.2f} × the plain client's"),
        (gap <= GAP_MS or streams != 32, f"P99 gap off by {gap:.2f} ms"),
        (tpot <= TPOT_MS, f"TPOT off by {tpot:.3f} ms"),
        (meter.startup_s < STARTUP_S, f"start-up {meter.startup_s:.2f} s"),
    ]
    return Level(
        streams=streams,
        requests=requests,
        meter=meter,
        plain=_middle([plain for _, plain in pairs]),
        ttft_ratio_p50=p50,
        ttft_ratio_p99=p99,
        ttft_ratio_from_read_p50=ratio("ttft_error_from_read_p50_ms"),
        ttft_ratio_from_read_p99=ratio("ttft_error_from_read_p99_ms"),
        cpu_ratio=cpu,
        missed=tuple(goal for met, goal in goals if not met),
    )


def _middle(costs: Sequence[Cost]) -> Cost:
    names = [field.name for field in msgspec.structs.fields(Cost)]
    return Cost(**{name: median(getattr(cost, name) for cost in costs) for name in names})


def _measured(kind: str, url: str, streams: int, requests: int, tokens: int) -> Cost:
    """Run one client and hold what it tells against the server's log."""
    httpx.get(f"{url}/truth/reset")
    command = [sys.executable, "-m", "bench.truth.client", kind, url]
    command += [str(number) for number in (streams, requests, tokens)]
    spawned = perf_counter()
    told = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    truth = {record["id"]: record for record in httpx.get(f"{url}/truth/stats").json()["requests"]}
    return cost(told, truth, spawned)


def cost(told: Mapping[str, Any], truth: Mapping[str, Any], spawned: float) -> Cost:
    """What a client told (`truth_client`), held against the server's records by request id."""
    ttft, from_read, tpot, gaps, true_gaps = [], [], [], [], []
    for name, arrivals in told["times"]:
        record = truth[name]
        sent = record["sent"]
        ttft.append(abs(arrivals[0] - (sent[0] - record["arrived"])))
        from_read.append(abs(arrivals[0] - (sent[0] - record["received"])))
        tpot.append(_tpot(arrivals) - _tpot(sent))
        gaps += [after - before for before, after in pairwise(arrivals)]
        true_gaps += [after - before for before, after in pairwise(sent)]
    return Cost(
        ttft_error_p50_ms=1000 * float(np.percentile(ttft, 50)),
        ttft_error_p99_ms=1000 * float(np.percentile(ttft, 99)),
        ttft_error_from_read_p50_ms=1000 * float(np.percentile(from_read, 50)),
        ttft_error_from_read_p99_ms=1000 * float(np.percentile(from_read, 99)),
        gap_p99_error_ms=1000 * abs(float(np.percentile(gaps, 99) - np.percentile(true_gaps, 99))),
        tpot_error_ms=1000 * abs(median(tpot)),
        cpu_s=told["cpu_s"],
        memory_mb=told["memory_mb"],
        startup_s=min(record["arrived"] for record in truth.values()) - spawned,
    )


def _tpot(times: Sequence[float]) -> float:
    return (times[-1] - times[0]) / (len(times) - 1)


def _line(level: Level) -> str:
    parts = [f"{level.streams:>4} streams"]
    for name, cost in (("meter", level.meter), ("plain", level.plain)):
        parts.append(
            f"{name}: TTFT error P50 {cost.ttft_error_p50_ms:.2f} P99 {cost.ttft_error_p99_ms:.2f} "
            f"(from read {cost.ttft_error_from_read_p50_ms:.2f}, "
            f"{cost.ttft_error_from_read_p99_ms:.2f}) ms, P99 gap "
            f"{cost.gap_p99_error_ms:.2f} ms, TPOT {cost.tpot_error_ms:.3f} ms, "
            f"CPU {cost.cpu_s:.2f} s, {cost.memory_mb:.0f} MB, start {cost.startup_s:.2f} s"
        )
    parts.append(
        f"ratio P50 {level.ttft_ratio_p50:.2f} P99 {level.ttft_ratio_p99:.2f} (from read "
        f"{level.ttft_ratio_from_read_p50:.2f}, {level.ttft_ratio_from_read_p99:.2f}) "
        f"CPU {level.cpu_ratio:.2f}"
    )
    return " | ".join(parts)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
