"""AIPerf and GenAI-Perf: the summary as json and csv, and AIPerf's record of each request (jsonl).

Each metric carries its unit and it is read, never assumed. Keys that were not measured are absent.
Deviations within a run divide by n. Before 0.13 AIPerf's TTFT stopped at the first response of any
kind. ``output_sequence_length`` holds thinking, ``output_token_count`` does not.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, BinaryIO

from bench.errors import BenchError, Fault
from bench.imports.grid import rows_csv
from bench.imports.meaning import other_meaning
from bench.imports.numbers import Key, count, number, plain, text, told, value
from bench.imports.values import Found, Number, Part, Read, Stat, warning
from bench.numbers.stats import TAILS

UNITS: Mapping[str, float] = {
    "ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "sec": 1.0, "seconds": 1.0, "tokens": 1.0,
    "tokens/sec": 1.0, "tokens/sec/user": 1.0, "requests/sec": 1.0, "requests": 1.0, "count": 1.0,
    "%": 0.01, "ratio": 1.0,
}  # fmt: skip
"""From a file's unit to ours."""
SPREAD: Mapping[str, tuple[str, str]] = {
    "time_to_first_token": ("ttft", "s"),
    "time_to_first_output_token": ("ttfa", "s"),
    "inter_token_latency": ("tpot", "s"),
    "inter_chunk_latency": ("gap", "s"),
    "request_latency": ("e2e", "s"),
    "output_token_throughput_per_user": ("decode_speed", "tokens/s"),
    "prefill_throughput_per_user": ("prefill_speed", "tokens/s"),
    "input_sequence_length": ("prompt_tokens", "tokens"),
    "output_sequence_length": ("output_tokens", "tokens"),
}
SINGLE: Mapping[str, tuple[str, Stat]] = {
    "output_token_throughput": ("throughput_all", "value"),
    "request_throughput": ("requests_per_second", "value"),
    "overall_usage_prompt_cache_read_pct": ("cache_hit", "mean"),
}
STATS: Mapping[str, Stat] = {
    "avg": "mean", "std": "sd", "p50": "p50", "p90": "p90", "p95": "p95", "p99": "p99",
    "min": "best", "max": "worst",
}  # fmt: skip
FIRST_TEXT_FROM = (0, 13)
CSV_NAMES = {
    "overall_usage_prompt_cache_read_%": "overall_usage_prompt_cache_read_pct",
    "output_token_throughput_per_request": "output_token_throughput_per_user",
}
_HEADING = re.compile(r"(.*?)\s*(?:\(([^()]*)\))?")


def recognised(document: Any) -> bool:
    return isinstance(document, dict) and any(
        isinstance(document.get(name), dict) and "unit" in document[name]
        for name in ("request_latency", "request_throughput", "time_to_first_token")
    )


def raw(document: Any) -> bool:
    """perf_analyzer's own file beside GenAI-Perf's: times of every request, no summary."""
    return isinstance(document, dict) and "experiments" in document


def read(documents: Sequence[Mapping[str, Any]]) -> Read:
    tools = {"aiperf" if "aiperf_version" in one or "schema_version" in one else _tool(one)
             for one in documents}  # fmt: skip
    tool = "genai-perf" if tools == {"genai-perf"} else "aiperf"
    version = text(documents[0].get("aiperf_version")) or None
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for document in documents:
        groups.setdefault(_model(document), []).append(document)
    found = tuple(_found(tool, version, model, group) for model, group in groups.items())
    return Read(results=found, version=version, tool=tool)


def read_csv(stream: BinaryIO) -> Read:
    """Two tables in one file; the unit is in the name. No model and no version is told."""
    table: dict[str, dict[str, Any]] = {}
    for heading in ("avg", "Value"):
        for row in rows_csv(stream, heading=heading):
            name, unit = _named(row.get("Metric", ""))
            table[name] = {"unit": unit} | {
                ("avg" if key == "Value" else key): _float(cell)
                for key, cell in row.items()
                if key != "Metric" and cell
            }
    if not recognised(table):
        raise BenchError("import_no_rows")
    found = _found("aiperf", None, "", [table])
    return Read(results=(found,), tool="aiperf")


def _found(tool: str, version: str | None, model: str, group: Sequence[Mapping[str, Any]]) -> Found:
    parts = tuple(_part(one) for one in group)
    unlike = other_meaning(tool, parts)
    first_text = tool == "aiperf" and _version(version) >= FIRST_TEXT_FROM
    if not first_text:
        unlike["ttft"] = tool
    config = group[0].get("input_config")
    return Found(
        model=model,
        parts=parts,
        date=text(group[0].get("start_time")) or None,
        definitions=unlike,
        told=told(config if isinstance(config, Mapping) else {}, ("endpoint_type", "streaming"))
        | told(group[0], ("benchmark_id", "start_time", "end_time")),
        warnings=tuple(_warnings(group, parts, first_text)),
    )


def _warnings(
    group: Sequence[Mapping[str, Any]], parts: Sequence[Part], first_text: bool
) -> list[Fault]:
    found = [] if first_text else [warning("first_response")]
    if any(one.get("was_cancelled") is True for one in group):
        found.append(warning("cancelled"))
    if not any(value(part.numbers, "ttft", "mean") for part in parts):
        found.append(warning("not_streamed"))
    if any("concurrency_estimated" in part.flags for part in parts):
        found.append(warning("concurrency_estimated"))
    return found


def _part(document: Mapping[str, Any]) -> Part:
    found = _numbers(document)
    ok = count(_average(document, "request_count")) or 0
    failed = count(_average(document, "error_request_count")) or 0
    limit = _limit(document.get("input_config"))
    concurrency = limit or _in_flight(document, found)
    cancelled = ("stopped",) if document.get("was_cancelled") is True else ()
    return Part(
        kind="sweep",
        name=f"c{concurrency}",
        concurrency=concurrency,
        numbers=found,
        ok=ok,
        failed=failed,
        asked=ok + failed,
        duration=_average(document, "benchmark_duration"),
        output_tokens_planned=None,
        population=True,
        flags=cancelled if limit else (*cancelled, "concurrency_estimated"),
    )


def _numbers(document: Mapping[str, Any]) -> tuple[Number, ...]:
    found: list[Number | None] = []
    for name, (metric, unit) in SPREAD.items():
        table = document.get(name)
        factor = _factor(table)
        if factor is None or not isinstance(table, Mapping):
            continue
        for key, stat in STATS.items():
            if unit != "s" and stat in TAILS:
                continue
            found.append(number(name, table.get(key), Key(metric, stat, factor)))
    for name, (metric, stat) in SINGLE.items():
        table = document.get(name)
        factor = _factor(table)
        if factor is not None and isinstance(table, Mapping):
            found.append(number(name, table.get("avg"), Key(metric, stat, factor)))
    return tuple(one for one in found if one is not None)


def _factor(table: Any) -> float | None:
    """From the table's unit to ours; None for a unit that nobody knows."""
    return UNITS.get(text(table.get("unit")).lower()) if isinstance(table, Mapping) else None


def _average(document: Mapping[str, Any], name: str) -> float | None:
    table = document.get(name)
    factor = _factor(table) if isinstance(table, Mapping) and table.get("unit") else 1.0
    found = plain(table.get("avg")) if isinstance(table, Mapping) else None
    return None if found is None or factor is None else found * factor


def _limit(config: Any) -> int | None:
    """People at once as they were asked for, wherever this version keeps it."""
    if not isinstance(config, Mapping):
        return None
    places = [config, config.get("loadgen"), config.get("perf_analyzer")]
    places += [one.get("stimulus") for one in places if isinstance(one, Mapping)]
    phases = config.get("phases")
    if isinstance(phases, list):
        places += [
            one for one in phases if isinstance(one, Mapping) and one.get("kind") != "warmup"
        ]
    for place in places:
        if isinstance(place, Mapping):
            asked = place.get("concurrency")
            if found := count(asked[0] if isinstance(asked, list) and asked else asked):
                return found
    return None


def _in_flight(document: Mapping[str, Any], found: Sequence[Number]) -> int:
    """People at once on average: as the file says, else requests a second × latency (Little)."""
    average = _average(document, "effective_concurrency") or plain(
        (document.get("effective_concurrency") or {}).get("avg")
    )
    rate = value(found, "requests_per_second", "value") or 0
    return max(1, round(average or rate * (value(found, "e2e", "mean") or 0)))


def _model(document: Mapping[str, Any]) -> str:
    config = document.get("input_config")
    if not isinstance(config, Mapping):
        return ""
    models, endpoint = config.get("models"), config.get("endpoint")
    items = models.get("items") if isinstance(models, Mapping) else None
    if isinstance(items, list) and items and isinstance(items[0], Mapping):
        return text(items[0].get("name"))
    names = config.get("model") or config.get("model_names")
    if not names and isinstance(endpoint, Mapping):
        names = endpoint.get("model_names")
    return text(names[0] if isinstance(names, list) and names else names)


def _tool(document: Mapping[str, Any]) -> str:
    config = document.get("input_config")
    old = isinstance(config, Mapping) and {"perf_analyzer", "model", "backend"} & config.keys()
    return "genai-perf" if old or "telemetry_stats" in document else "aiperf"


def _version(version: str | None) -> tuple[int, ...]:
    found = re.match(r"(\d+)\.(\d+)", version or "")
    return (int(found[1]), int(found[2])) if found else (0, 0)


def _named(heading: str) -> tuple[str, str]:
    """``Time to First Token (ms)`` as key and unit."""
    found = _HEADING.fullmatch(heading)
    name, unit = (found[1], found[2] or "") if found else (heading, "")
    if found and unit not in UNITS:
        inner = re.fullmatch(r"(.*) \((%|[a-z/]+)\)", heading)
        name, unit = (inner[1], inner[2]) if inner else (name, unit)
    key = "_".join(name.lower().split())
    return CSV_NAMES.get(key, key), unit


def _float(cell: str) -> float | str:
    try:
        return float(cell)
    except ValueError:
        return cell
