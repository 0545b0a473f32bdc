"""SGLang's ``bench_serving``: one JSON object a run, with a bare ``Infinity`` for "all at once".

TTFT and ITL of exactly 0 say that the server did not stream: they were not measured.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from bench.imports.meaning import other_meaning
from bench.imports.numbers import Key, count, number, numbers, plain, text, told, value
from bench.imports.values import Arrival, Found, Number, Part, Read, Stat, warning

MS = 0.001
TIMES = {"ttft": "ttft", "tpot": "tpot", "itl": "gap", "e2e_latency": "e2e"}
STATS: Mapping[str, Stat] = {
    "mean": "mean", "median": "p50", "std": "sd", "p90": "p90", "p95": "p95", "p99": "p99",
}  # fmt: skip
KEYS = {
    f"{stat}_{name}_ms": Key(metric, STATS[stat], MS)
    for name, metric in TIMES.items()
    for stat in STATS
} | {
    "output_throughput": Key("throughput_all", "value"),
    "request_throughput": Key("requests_per_second", "value"),
    "accept_length": Key("tokens_per_chunk", "mean"),
}
SETTINGS = (
    "backend", "dataset_name", "request_rate", "max_concurrency", "random_input_len",
    "random_output_len", "random_range_ratio", "sharegpt_output_len", "tag", "concurrency",
)  # fmt: skip


def recognised(document: Any) -> bool:
    return (
        isinstance(document, dict)
        and "mean_e2e_latency_ms" in document
        and "request_throughput" in document
    )


def read(documents: Iterable[Mapping[str, Any]]) -> Read:
    groups: dict[tuple[str, str, str], list[Mapping[str, Any]]] = {}
    for document in documents:
        group = (text(document.get("model")), text(document.get("backend")), _arrival(document))
        groups.setdefault(group, []).append(document)
    return Read(results=tuple(_found(*key, group) for key, group in groups.items()))


def _found(model: str, backend: str, _: str, group: Sequence[Mapping[str, Any]]) -> Found:
    parts = tuple(_part(document) for document in group)
    streamed = any(value(part.numbers, "ttft", "mean") for part in parts)
    engine = {"sglang": "sglang", "sglang-oai": "sglang", "sglang-oai-chat": "sglang"}.get(backend)
    return Found(
        model=model,
        engine=engine,
        parts=parts,
        arrival=_arrival(group[0]),
        definitions=other_meaning("sglang-bench", parts),
        told=told(group[0], SETTINGS),
        warnings=() if streamed else (warning("not_streamed"),),
    )


def _part(document: Mapping[str, Any]) -> Part:
    found, ok = list(numbers(document, KEYS)), count(document.get("completed")) or 0
    for name, metric in (
        ("total_input_tokens", "prompt_tokens"), ("total_output_tokens", "output_tokens"),
    ):  # fmt: skip
        total = plain(document.get(name))
        found += _known(number(name, total / ok if total and ok else None, Key(metric, "mean")))
    if tpot := value(found, "tpot", "mean"):
        found += _known(number("mean_tpot_ms", 1 / tpot, Key("decode_speed", "mean")))
    limit, average = count(document.get("max_concurrency")), plain(document.get("concurrency"))
    concurrency = limit or max(1, round(average or 1))
    asked = count(document.get("num_prompts"))
    return Part(
        kind="sweep",
        name=f"c{concurrency}",
        concurrency=concurrency,
        numbers=tuple(found),
        ok=ok,
        failed=max((asked or ok) - ok, 0),
        asked=asked,
        duration=plain(document.get("duration")),
        prompt_tokens_planned=count(document.get("random_input_len")) or None,
        output_tokens_planned=_planned(document),
        population=True,
        flags=() if limit else ("concurrency_estimated",),
    )


def _planned(document: Mapping[str, Any]) -> int | None:
    """The planned output length, where every request had the same."""
    if plain(document.get("random_range_ratio")) != 1.0:
        return None
    return count(document.get("random_output_len")) or None


def _arrival(document: Mapping[str, Any]) -> Arrival:
    rate = document.get("request_rate")
    if plain(rate) is not None:
        return "poisson"
    return "closed" if document.get("max_concurrency") else "burst"


def _known(found: Number | None) -> list[Number]:
    return [found] if found else []
