"""A run in the form of llama-benchy, the measure that owners of a Spark quote to each other.

The numbers are made anew from each request by llama-benchy's own definitions: reading speed is
prompt tokens ÷ the time to the first response of any kind, standard deviations are divided by n,
times are milliseconds. Its speed of all people together counts the writing time of requests that
begin at the same moment; ours begin one after another, so that number is left out, and it is never
replaced by our own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from statistics import fmean, pstdev
from typing import Any

import msgspec
from sqlite_utils import Database

from bench import store
from bench.export import table as report
from bench.numbers.request import decode_speed
from bench.results import Result
from bench.sample import Sample
from bench.summary import LevelSummary

VERSION = "0.4-spark-compare"
"""The version whose definitions are followed, and who followed them."""
Level = tuple[LevelSummary, Sequence[Sample]]
Statistic = dict[str, Any] | None


def document(db: Database, result: Result) -> dict[str, Any]:
    """What llama-benchy's JSON file would hold; no benchmarks where the result has no requests."""
    levels = [
        (level, [sample for sample in store.samples(db, result.id, place) if sample.ok])
        for place, level in enumerate(result.levels)
    ]
    made = [_benchmark(level) for level in levels if level[1]]
    run = result.run
    at = datetime.fromisoformat(run.created) if run else None
    return {
        "version": VERSION,
        "timestamp": f"{at:%Y-%m-%d %H:%M:%S}Z" if at else None,
        "latency_mode": "none",
        "latency_ms": 0.0,
        "model": result.model,
        "prefix_caching_enabled": False,
        "max_concurrency": max((one["concurrency"] for one in made), default=1),
        "benchmarks": made,
    }


def as_json(documents: Sequence[Mapping[str, Any]]) -> bytes:
    """One run as llama-benchy's own file, several as a list of such files."""
    whole = documents[0] if len(documents) == 1 else documents
    return msgspec.json.format(msgspec.json.encode(whole), indent=2)


def as_markdown(documents: Sequence[Mapping[str, Any]]) -> str:
    """llama-benchy's table: a row for reading and a row for writing."""
    rows = [row for run in documents for one in run["benchmarks"] for row in _rows(run, one)]
    at = max(str(run["timestamp"]).removesuffix("Z") for run in documents)
    foot = f"\nllama-benchy ({VERSION})\ndate: {at} | latency mode: none\n"
    return report.table_markdown(rows) + foot


def _benchmark(level: Level) -> dict[str, Any]:
    summary, samples = level
    alone = summary.concurrency == 1
    prompt, output = _lengths(summary)
    reading = None if summary.kind == "decode" else _of(samples, _read)
    writing = None if summary.kind == "prefill" else _of(samples, decode_speed)
    first = _of(samples, lambda one: _ms(one.first_event))
    return {
        "concurrency": summary.concurrency,
        "context_size": 0,
        "prompt_size": prompt,
        "response_size": output,
        "is_context_prefill_phase": False,
        "pp_throughput": reading if alone else None,
        "pp_req_throughput": reading,
        "tg_throughput": writing if alone else None,
        "tg_req_throughput": writing,
        "peak_throughput": None,
        "peak_req_throughput": None,
        "ttfr": first,
        "est_ppt": first,
        "e2e_ttft": _of(samples, lambda one: _ms(one.first_token)),
        "throughput_over_time": None,
        "requests_throughput_over_time": None,
    }


def _lengths(summary: LevelSummary) -> tuple[int, int]:
    """Tokens in and out; 0 for what a test of one kind does not measure."""
    if found := re.fullmatch(r"(pp|tg)(\d+)", summary.name):
        return (int(found[2]), 0) if found[1] == "pp" else (0, int(found[2]))
    prompt, output = summary.prompt_tokens_planned, summary.output_tokens_planned
    return prompt or _mean(summary.prompt_tokens), output or _mean(summary.output_tokens)


def _mean(values: Any) -> int:
    return round(values.mean) if values else 0


def _read(sample: Sample) -> float | None:
    if not sample.prompt_tokens or not sample.first_event:
        return None
    return sample.prompt_tokens / sample.first_event


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else 1000 * seconds


def _of(samples: Iterable[Sample], value: Callable[[Sample], float | None]) -> Statistic:
    values = [found for one in samples if (found := value(one)) is not None]
    return {"mean": fmean(values), "std": pstdev(values), "values": values} if values else None


def _rows(run: Mapping[str, Any], one: Mapping[str, Any]) -> list[dict[str, str]]:
    people = f" (c{one['concurrency']})" if one["concurrency"] > 1 else ""
    waits = {f"{name} (ms)": _cell(one[name]) for name in ("ttfr", "est_ppt", "e2e_ttft")}
    rows = []
    for kind, size in (("pp", "prompt_size"), ("tg", "response_size")):
        if one[f"{kind}_req_throughput"]:
            total, each = one[f"{kind}_throughput"], one[f"{kind}_req_throughput"]
            rows.append(
                {
                    "model": str(run["model"]),
                    "test": f"{kind}{one[size]}{people}",
                    "t/s (total)": _cell(total),
                    "t/s (req)": _cell(each),
                    **(waits if kind == "pp" else dict.fromkeys(waits, "")),
                }
            )
    return rows


def _cell(value: Statistic) -> str:
    return f"{value['mean']:.2f} ± {value['std']:.2f}" if value else ""
