"""A part of a file as a level of a run, by our own formulas where the file has every request."""

from __future__ import annotations

import math

import msgspec
from scipy import stats

from bench.imports.numbers import value
from bench.imports.values import Part, Stat
from bench.numbers.metrics import CACHED, SHORT, summarise
from bench.numbers.stats import CONFIDENCE, wilson
from bench.sample import LevelRun, MeterHealth
from bench.summary import Interval, LevelSummary, Mean, Quantiles

UNKNOWN_METER = MeterHealth(loop_lag_p99=0, loop_lag_max=0, cpu_share=0, busy=False)
"""Of another tool's meter nothing is known; a level that was imported shows none."""


def level(part: Part) -> LevelSummary:
    """The level that a judged part makes; numbers in doubt are in none."""
    found = _of_samples(part) if part.samples else _of_numbers(part)
    return msgspec.structs.replace(found, flags=tuple(dict.fromkeys((*found.flags, *part.flags))))


def _of_samples(part: Part) -> LevelSummary:
    run = LevelRun(
        concurrency=part.concurrency,
        samples=part.samples,
        duration=part.duration or max((s.sent + (s.end or 0) for s in part.samples), default=0),
        peak_concurrency=part.peak_concurrency or part.concurrency,
        meter=UNKNOWN_METER,
    )
    found = summarise(
        run,
        kind=part.kind,
        name=part.name,
        prompt_tokens_planned=part.prompt_tokens_planned,
        output_tokens_planned=part.output_tokens_planned,
    )
    return msgspec.structs.replace(found, meter=None)


def _of_numbers(part: Part) -> LevelSummary:
    output, cached = mean(part, "output_tokens"), value(part.numbers, "cache_hit", "mean")
    whole = value(part.numbers, "throughput_all", "value")
    found = LevelSummary(
        kind=part.kind,
        name=part.name,
        concurrency=part.concurrency,
        asked=part.asked if part.asked is not None else part.ok + part.failed,
        ok=part.ok,
        failed=part.failed,
        success=wilson(part.ok, part.ok + part.failed),
        duration=part.duration,
        peak_concurrency=part.peak_concurrency,
        prompt_tokens_planned=part.prompt_tokens_planned,
        prompt_tokens=mean(part, "prompt_tokens"),
        output_tokens_planned=part.output_tokens_planned,
        output_tokens=output,
        tokens_per_chunk=value(part.numbers, "tokens_per_chunk", "mean"),
        cache_hit=cached,
        ttfr=quantiles(part, "ttfr"),
        ttft=quantiles(part, "ttft"),
        ttfa=quantiles(part, "ttfa"),
        e2e=quantiles(part, "e2e"),
        tpot=quantiles(part, "tpot"),
        gap=quantiles(part, "gap"),
        queued=quantiles(part, "queued"),
        prefill_speed=mean(part, "prefill_speed"),
        decode_speed=mean(part, "decode_speed"),
        speed_with_wait=mean(part, "speed_with_wait"),
        throughput=_first(value(part.numbers, "throughput", "value"), whole),
        throughput_all=whole,
        requests_per_second=value(part.numbers, "requests_per_second", "value"),
    )
    planned, peak = part.output_tokens_planned, part.peak_concurrency
    holds = {
        "short_output": bool(output and planned and output.mean < planned * (1 - SHORT)),
        "cached_prompts": (cached or 0) > CACHED,
        "concurrency_not_reached": peak is not None and peak < part.concurrency,
    }
    return msgspec.structs.replace(found, flags=tuple(name for name, true in holds.items() if true))


def quantiles(part: Part, metric: str) -> Quantiles:
    """What the file tells of a distribution; a tail in doubt is left out, as a run of ours does."""
    found: dict[Stat, float | None] = {
        stat: value(part.numbers, metric, stat)
        for stat in ("p50", "p90", "p95", "p99", "best", "worst")
    }
    told = part.intervals.get(metric, {})
    known = {name: one for name, one in told.items() if found.get(name) is not None}  # type: ignore[call-overload]
    if all(one is None for one in found.values()):
        return Quantiles(n=0)
    return Quantiles(n=part.ok, **found, intervals=known)


def mean(part: Part, metric: str) -> Mean | None:
    """Mean with the sample standard deviation and its t interval.

    Where the file does not tell how many values it had, two is the least that has a deviation.
    """
    middle = value(part.numbers, metric, "mean")
    if middle is None:
        return None
    spread, n = value(part.numbers, metric, "sd"), part.repeats or part.ok
    if spread is None or n == 1:
        return Mean(n=max(n, 1), mean=middle)
    if not n:
        return Mean(n=2, mean=middle, sd=spread)
    sd = spread * math.sqrt(n / (n - 1)) if part.population else spread
    reach = float(stats.t.ppf((1 + CONFIDENCE) / 2, n - 1)) * sd / math.sqrt(n)
    return Mean(n=n, mean=middle, sd=sd, interval=Interval(middle - reach, middle + reach))


def _first(*values: float | None) -> float | None:
    return next((one for one in values if one is not None), None)
