"""inference-perf's ``summary_lifecycle_metrics.json``: everything in seconds, no model told.

Its time per output token holds the wait for the first one, so it is not read as our TPOT.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from bench.imports.meaning import other_meaning
from bench.imports.numbers import Key, count, number, plain, told, value
from bench.imports.values import Found, Number, Part, Read, Stat, warning

METRICS: Mapping[str, tuple[str, str]] = {
    "request_latency": ("latency", "e2e"),
    "time_to_first_token": ("latency", "ttft"),
    "inter_token_latency": ("latency", "gap"),
    "prompt_len": ("", "prompt_tokens"),
    "output_len": ("", "output_tokens"),
}
STATS: Mapping[str, Stat] = {
    "mean": "mean", "median": "p50", "p50": "p50", "p90": "p90", "p95": "p95", "p99": "p99",
    "min": "best", "max": "worst",
}  # fmt: skip


def recognised(document: Any) -> bool:
    return (
        isinstance(document, dict)
        and isinstance(document.get("successes"), dict)
        and "latency" in document["successes"]
    )


def read(documents: Iterable[Mapping[str, Any]]) -> Read:
    return Read(results=tuple(_found(one) for one in documents))


def _found(document: Mapping[str, Any]) -> Found:
    good = document["successes"]
    found = _numbers(good)
    failures, load = document.get("failures"), document.get("load_summary")
    ok = count(good.get("count")) or 0
    failed = count(failures.get("count")) or 0 if isinstance(failures, Mapping) else 0
    rate = value(found, "requests_per_second", "value") or 0
    people = max(1, round(rate * (value(found, "e2e", "mean") or 0)))
    part = Part(
        kind="sweep",
        name=f"c{people}",
        concurrency=people,
        numbers=found,
        ok=ok,
        failed=failed,
        asked=ok + failed,
        flags=("concurrency_estimated",),
    )
    return Found(
        model="",
        parts=(part,),
        arrival="poisson",
        definitions=other_meaning("inference-perf", (part,)),
        told=told(load if isinstance(load, Mapping) else {}, ("requested_rate", "achieved_rate")),
        warnings=(warning("concurrency_estimated"),),
    )


def _numbers(good: Mapping[str, Any]) -> tuple[Number, ...]:
    found: list[Number | None] = []
    for name, (where, metric) in METRICS.items():
        place = good.get(where) if where else good
        table = place.get(name) if isinstance(place, Mapping) else None
        if isinstance(table, Mapping):
            found += [
                number(name, table.get(key), Key(metric, stat)) for key, stat in STATS.items()
            ]
    throughput = good.get("throughput")
    if isinstance(throughput, Mapping):
        for name, metric in (("output_tokens_per_sec", "throughput_all"),
                             ("requests_per_sec", "requests_per_second")):  # fmt: skip
            found.append(number(name, plain(throughput.get(name)), Key(metric, "value")))
    return tuple(one for one in found if one is not None)
