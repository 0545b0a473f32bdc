"""GuideLLM: its reports of v0.3 (no metadata), version 1 (v0.4 to v0.6) and version 2 (v0.7 on).

Of each metric only ``successful`` is read: ``total`` mixes failures in. Latency is in seconds,
``*_ms`` in milliseconds. Its time per output token holds the first token, so it is not our TPOT;
its inter-token latency, one mean a request, is. Requests cut off at the time limit are
``incomplete`` and no errors.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from bench.errors import Fault
from bench.imports.meaning import other_meaning
from bench.imports.numbers import Key, count, number, plain, text, told
from bench.imports.values import Arrival, Found, Number, Part, Read, Stat, warning
from bench.summary import Interval

MS = 0.001
METRICS: Mapping[str, tuple[str, float]] = {
    "time_to_first_token_ms": ("ttft", MS),
    "time_to_first_output_token_ms": ("ttfa", MS),
    "inter_token_latency_ms": ("tpot", MS),
    "request_latency": ("e2e", 1.0),
    "prompt_token_count": ("prompt_tokens", 1.0),
    "output_token_count": ("output_tokens", 1.0),
    "output_tokens_per_iteration": ("tokens_per_chunk", 1.0),
}
RATES = {"output_tokens_per_second": "throughput", "requests_per_second": "requests_per_second"}
STATS: Mapping[str, Stat] = {"mean": "mean", "std_dev": "sd", "min": "best", "max": "worst"}
TAILS: tuple[Stat, ...] = ("p50", "p90", "p95", "p99")
DEEPEST = 4


def recognised(document: Any) -> bool:
    if not isinstance(document, dict) or not isinstance(document.get("benchmarks"), list):
        return False
    return any(
        isinstance(one, dict)
        and isinstance(one.get("metrics"), dict)
        and {"time_to_first_token_ms", "request_latency"} & one["metrics"].keys()
        for one in document["benchmarks"]
    )


def read(documents: Iterable[Mapping[str, Any]]) -> Read:
    results: list[Found] = []
    version = None
    for document in documents:
        metadata = document.get("metadata") or {}
        version = text(metadata.get("guidellm_version")) or None
        groups: dict[Arrival, list[Mapping[str, Any]]] = {}
        for one in document["benchmarks"]:
            if isinstance(one, Mapping) and isinstance(one.get("metrics"), Mapping):
                groups.setdefault(_arrival(one), []).append(one)
        results += [_found(document, kind, group) for kind, group in groups.items()]
    return Read(results=tuple(results), version=version)


def _found(
    document: Mapping[str, Any], arrival: Arrival, group: Sequence[Mapping[str, Any]]
) -> Found:
    parts = tuple(_part(one) for one in group)
    metadata = document.get("metadata")
    start = plain(group[0].get("start_time"))
    return Found(
        model=_model(document, group[0]),
        parts=parts,
        date=_date(start),
        arrival=arrival,
        definitions=other_meaning("guidellm", parts),
        told=told(metadata if isinstance(metadata, Mapping) else {}, ("version", "platform")),
        warnings=tuple(_warnings(group)),
    )


def _warnings(group: Sequence[Mapping[str, Any]]) -> Iterable[Fault]:
    yield warning("guidellm_tpot")
    if cut := sum(_totals(one).get("incomplete") or 0 for one in group):
        yield warning("incomplete", n=cut)


def _part(one: Mapping[str, Any]) -> Part:
    totals, strategy = _totals(one), _strategy(one)
    found, intervals = _numbers(one["metrics"])
    limit = 1 if strategy.get("type_") == "synchronous" else None
    limit = limit or count(strategy.get("streams")) or count(strategy.get("max_concurrency"))
    average = _summary(one["metrics"], "request_concurrency").get("mean")
    concurrency = limit or max(1, round(plain(average) or 1))
    ok, failed = totals.get("successful") or 0, totals.get("errored") or 0
    start, end = plain(one.get("start_time")), plain(one.get("end_time"))
    duration = plain(one.get("duration")) or (end - start if start and end else None)
    return Part(
        kind="sweep",
        name=f"c{concurrency}",
        concurrency=concurrency,
        numbers=found,
        ok=ok,
        failed=failed,
        asked=totals.get("total"),
        duration=duration,
        population=True,
        intervals=intervals,
        flags=() if limit else ("concurrency_estimated",),
    )


def _numbers(
    metrics: Mapping[str, Any],
) -> tuple[tuple[Number, ...], dict[str, dict[str, Interval]]]:
    found: list[Number | None] = []
    intervals: dict[str, dict[str, Interval]] = {}
    for name, (metric, factor) in METRICS.items():
        table = _summary(metrics, name)
        found += [
            number(name, table.get(key), Key(metric, stat, factor)) for key, stat in STATS.items()
        ]
        tails = table.get("percentiles")
        if isinstance(tails, Mapping):
            found += [number(name, tails.get(tail), Key(metric, tail, factor)) for tail in TAILS]
        intervals[metric] = _intervals(table.get("percentile_cis"), factor)
        if metric == "tpot":
            found.append(
                number(name, table.get("mean"), Key("decode_speed", "mean", 1 / factor, True))
            )
    for name, metric in RATES.items():
        found.append(number(name, _summary(metrics, name).get("mean"), Key(metric, "value")))
    return tuple(one for one in found if one is not None), intervals


def _intervals(table: Any, factor: float) -> dict[str, Interval]:
    if not isinstance(table, Mapping):
        return {}
    found = {}
    for tail in TAILS:
        ends = table.get(tail)
        if isinstance(ends, Mapping):
            low, high = plain(ends.get("lower")), plain(ends.get("upper"))
            if low is not None and high is not None:
                found[str(tail)] = Interval(low * factor, high * factor)
    return found


def _summary(metrics: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """The successful requests' distribution of a metric."""
    table = metrics.get(name)
    found = table.get("successful") if isinstance(table, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def _totals(one: Mapping[str, Any]) -> dict[str, int]:
    scheduler, stats = one.get("scheduler_metrics"), one.get("run_stats")
    places = (
        one["metrics"].get("request_totals"),
        one.get("request_totals"),
        scheduler.get("requests_made") if isinstance(scheduler, Mapping) else None,
        stats.get("requests_made") if isinstance(stats, Mapping) else None,
    )
    for table in places:
        if isinstance(table, Mapping):
            return {name: count(table.get(name)) or 0 for name in
                    ("successful", "errored", "incomplete", "total")}  # fmt: skip
    return {}


def _strategy(one: Mapping[str, Any]) -> Mapping[str, Any]:
    for name in ("config", "args", "scheduler"):
        table = one.get(name)
        found = table.get("strategy") if isinstance(table, Mapping) else None
        if isinstance(found, Mapping):
            return found
    return {}


def _arrival(one: Mapping[str, Any]) -> Arrival:
    match _strategy(one).get("type_"):
        case "throughput":
            return "burst"
        case "constant" | "poisson" | "async":
            return "poisson"
        case _:
            return "closed"


def _model(document: Mapping[str, Any], one: Mapping[str, Any]) -> str:
    """The model's name, wherever this version keeps its backend's settings."""
    worker = one.get("worker")
    if isinstance(worker, Mapping) and worker.get("backend_model"):
        return text(worker["backend_model"])
    for table in (one.get("config"), one.get("args"), document.get("config"), document.get("args")):
        if found := _search(table, "model", DEEPEST):
            return found
    return ""


def _search(table: Any, name: str, depth: int) -> str:
    if not isinstance(table, Mapping) or not depth:
        return ""
    if isinstance(table.get(name), str):
        return text(table[name])
    return next((found for one in table.values() if (found := _search(one, name, depth - 1))), "")


def _date(start: float | None) -> str | None:
    if start is None or not 0 < start < 1e11:
        return None
    return datetime.fromtimestamp(start, UTC).isoformat(timespec="seconds")
