"""``vllm bench serve --save-result``, also with ``--save-detailed`` and ``--append-result``.

Milliseconds in ``*_ms``, seconds elsewhere. Its TTFT stops at the first chunk with ``choices``: of
a chat server that may be a role without text. Failed requests keep their place in the detailed
lists as zeros; when all fail every metric is 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from bench.errors import BenchError
from bench.imports.meaning import other_meaning
from bench.imports.numbers import Key, count, number, numbers, plain, text, told, value
from bench.imports.values import Arrival, Found, Number, Part, Read, Stat, doubt, warning
from bench.sample import Sample

MS = 0.001
TIMES = {"ttft": "ttft", "tpot": "tpot", "itl": "gap", "e2el": "e2e", "client_queue_time": "queued"}
STATS: Mapping[str, Stat] = {
    "mean": "mean", "median": "p50", "p50": "p50", "std": "sd", "p90": "p90", "p95": "p95",
    "p99": "p99",
}  # fmt: skip
KEYS = {
    f"{stat}_{name}_ms": Key(metric, STATS[stat], MS)
    for name, metric in TIMES.items()
    for stat in STATS
} | {
    "output_throughput": Key("throughput_all", "value"),
    "request_throughput": Key("requests_per_second", "value"),
    "spec_decode_acceptance_length": Key("tokens_per_chunk", "mean"),
}
SETTINGS = (
    "backend", "endpoint_type", "label", "tokenizer_id", "request_rate", "burstiness",
    "max_concurrency", "tensor_parallel_size", "spec_decode_acceptance_rate",
    "max_output_tokens_per_s", "request_goodput",
)  # fmt: skip
MOST = 50_000
"""Requests that are kept one by one; of more, only the file's own summary is."""
BURST = 0.01
"""Of the wait: an answer that is whole after so little more came at once, and no speed of writing
can be told of it (a server or a client held its pieces back)."""
AT_ONCE = 0.02
"""Of the wait: a first gap below it means that the role and the first text came together."""


def recognised(document: Any) -> bool:
    return (
        isinstance(document, dict)
        and "request_throughput" in document
        and ("completed" in document or "num_prompts" in document)
        and "mean_e2e_latency_ms" not in document
        and "successes" not in document
    )


def read(documents: Iterable[Mapping[str, Any]]) -> Read:
    """Every object of the file; those of one model under one arrival are one result."""
    groups: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for document in documents:
        if "total_input_sequences" in document or "mean_ttft_ms" not in document:
            raise BenchError("import_no_text_generation")
        model = text(document.get("model_id")) or text(document.get("model"))
        groups.setdefault((model, _arrival(document)), []).append(document)
    return Read(results=tuple(_found(model, group) for (model, _), group in groups.items()))


def _found(model: str, group: Sequence[Mapping[str, Any]]) -> Found:
    parts = [_part(document) for document in group]
    text_first = all(map(_text_first, group, parts))
    unlike = other_meaning("vllm-bench", parts)
    if text_first:
        unlike = {metric: tool for metric, tool in unlike.items() if metric != "ttft"}
    if all(part.samples for part in parts):
        unlike.pop("throughput", None)  # computed by us from the requests
    return Found(
        model=model,
        parts=tuple(parts),
        date=text(group[0].get("date")) or None,
        arrival=_arrival(group[0]),
        definitions=unlike,
        told=told(group[0], SETTINGS),
        warnings=(warning("local_time"), *(() if text_first else (warning("first_response"),))),
    )


def _part(document: Mapping[str, Any]) -> Part:
    asked, ok = count(document.get("num_prompts")), count(document.get("completed")) or 0
    failed = count(document.get("failed"))
    found = _all_numbers(document, ok)
    samples = _samples(document)
    concurrency, flags = _concurrency(document, found)
    if any(
        sample.ok and sample.chunks == 1 and (sample.output_tokens or 0) > 1 for sample in samples
    ):
        flags = (*flags, "came_at_once")
    part = Part(
        kind="sweep",
        name=f"c{concurrency}",
        concurrency=concurrency,
        numbers=_against_requests(found, samples),
        ok=ok,
        failed=max((asked or 0) - ok, 0) if failed is None else failed,
        asked=asked,
        duration=plain(document.get("duration")),
        peak_concurrency=count(document.get("max_concurrent_requests")) or None,
        population=True,
        samples=samples,
        flags=flags,
    )
    if _text_first(document, part):
        return part
    return msgspec.structs.replace(part, flags=(*part.flags, "first_response"))


def _all_numbers(document: Mapping[str, Any], ok: int) -> tuple[Number, ...]:
    found = numbers(document, KEYS)
    if ok:
        made = [
            number(name, total / ok if (total := plain(document.get(name))) else None, key)
            for name, key in (
                ("total_input_tokens", Key("prompt_tokens", "mean")),
                ("total_output_tokens", Key("output_tokens", "mean")),
            )
        ]
        found = (*found, *(one for one in made if one))
    if tpot := value(found, "tpot", "mean"):
        one = number("mean_tpot_ms", 1 / tpot, Key("decode_speed", "mean"))
        found = (*found, one) if one else found
    first = (
        Number(key=one.key, metric="ttfr", stat=one.stat, value=one.value, doubt=one.doubt)
        for one in found
        if one.metric == "ttft"
    )
    return (*found, *first)


def _concurrency(
    document: Mapping[str, Any], found: Sequence[Number]
) -> tuple[int, tuple[str, ...]]:
    """People at once; where only a rate was set, how many there were on average (Little's law)."""
    if limit := count(document.get("max_concurrency")):
        return limit, ()
    if _arrival(document) == "burst":
        return count(document.get("num_prompts")) or count(document.get("completed")) or 1, ()
    rate = value(found, "requests_per_second", "value") or 0
    wait = value(found, "e2e", "mean") or (
        (value(found, "ttft", "mean") or 0)
        + (value(found, "tpot", "mean") or 0) * (value(found, "output_tokens", "mean") or 0)
    )
    return max(1, round(rate * wait)), ("concurrency_estimated",)


def _arrival(document: Mapping[str, Any]) -> Arrival:
    rate = document.get("request_rate")
    if str(rate).lower() not in ("inf", "infinity", "none", "trace"):
        return "poisson"
    return "closed" if document.get("max_concurrency") else "burst"


def _samples(document: Mapping[str, Any]) -> tuple[Sample, ...]:
    """Each request of a detailed file; () without details or where its lists do not fit."""
    names = ("ttfts", "itls", "output_lens")
    lists = [document.get(name) for name in names]
    if not all(isinstance(one, list) and one for one in lists):
        return ()
    ttfts, itls, lengths = lists
    assert ttfts and itls and lengths
    if not len(ttfts) == len(itls) == len(lengths) <= MOST:
        return ()
    rows = len(ttfts)
    errors, inputs = _column(document, "errors", rows), _column(document, "input_lens", rows)
    starts, latencies = (_column(document, name, rows) for name in ("start_times", "latencies"))
    waits = _column(document, "queue_times", rows)
    begin = min((one for one in map(plain, starts) if one is not None), default=0.0)
    return tuple(
        _sample(
            place,
            first=plain(ttfts[place]),
            gaps=itls[place],
            end=plain(latencies[place]),
            sent=(plain(starts[place]) or begin) - begin,
            queued=plain(waits[place]) or 0.0,
            prompt=count(inputs[place]),
            output=count(lengths[place]),
            error=text(errors[place])[-200:],
        )
        for place in range(rows)
    )


def _column(document: Mapping[str, Any], name: str, rows: int) -> Sequence[Any]:
    found = document.get(name)
    return found if isinstance(found, list) and len(found) == rows else [None] * rows


def _sample(
    place: int,
    *,
    first: float | None,
    gaps: Any,
    end: float | None,
    sent: float,
    queued: float,
    prompt: int | None,
    output: int | None,
    error: str,
) -> Sample:
    pieces = tuple(
        one for one in map(plain, gaps if isinstance(gaps, list) else ()) if one is not None
    )
    if error or not first or not output or first < 0 or min(pieces, default=0) < 0:
        failed = error or "no output"
        return Sample(id=str(place), sent=sent, error=failed, prompt_tokens=prompt, queued=queued)
    last = end or first + sum(pieces)
    return Sample(
        id=str(place),
        sent=sent,
        queued=queued,
        first_event=first,
        first_token=first,
        last_token=last,
        end=last,
        gaps=pieces,
        chunks=len(pieces) + 1 if last - first > BURST * first else 1,
        prompt_tokens=prompt,
        output_tokens=output,
    )


def _text_first(document: Mapping[str, Any], part: Part) -> bool:
    """Whether TTFT is the first text here.

    It is where the server sends no role first (completions), and where each request's first gap
    shows that the text came with the role.
    """
    kind = f"{document.get('endpoint_type')} {document.get('backend')}"
    if "chat" not in kind:
        return True
    good = [sample for sample in part.samples if sample.ok]
    return bool(good) and all(
        sample.gaps and sample.gaps[0] <= AT_ONCE * (sample.first_token or 0) for sample in good
    )


def _against_requests(found: Sequence[Number], samples: Sequence[Sample]) -> tuple[Number, ...]:
    """A mean that its own requests do not make is in doubt."""
    waits = [sample.first_token for sample in samples if sample.ok and sample.first_token]
    if not waits:
        return tuple(found)
    real = sum(waits) / len(waits)
    return tuple(
        Number(key=one.key, metric=one.metric, stat=one.stat, value=one.value,
               doubt=doubt("own_requests", real=f"{real:,.3f}"))
        if one.stat == "mean" and one.metric in ("ttft", "ttfr") and not one.doubt
        and abs((one.value or 0) - real) > 0.02 * real
        else one
        for one in found
    )  # fmt: skip
