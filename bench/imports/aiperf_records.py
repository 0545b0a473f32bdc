"""AIPerf's ``profile_export.jsonl``: a request a line, of which our own formulas make a level."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any

import msgspec

from bench.errors import BenchError
from bench.imports.aiperf import UNITS
from bench.imports.numbers import count, plain, text
from bench.imports.values import Found, Part, Read, warning
from bench.sample import ErrorKind, Sample

MOST = 50_000
"""Requests that are kept one by one; a file with more is refused, its summary can be read."""


def recognised(document: Any) -> bool:
    return (
        isinstance(document, dict)
        and isinstance(document.get("metadata"), dict)
        and "request_start_ns" in document["metadata"]
        and isinstance(document.get("metrics"), dict)
    )


def read(documents: Iterable[Mapping[str, Any]]) -> Read:
    """One result; what was sent to warm up is left out."""
    samples = sorted(_samples(documents), key=lambda sample: sample.sent)
    if not samples:
        raise BenchError("import_no_rows")
    begin = samples[0].sent
    moved = tuple(_moved(sample, begin) for sample in samples)
    ok = sum(sample.ok for sample in moved)
    people = max(1, _at_once(moved))
    part = Part(
        kind="sweep",
        name=f"c{people}",
        concurrency=people,
        numbers=(),
        ok=ok,
        failed=len(moved) - ok,
        asked=len(moved),
        peak_concurrency=people,
        samples=moved,
        flags=("concurrency_estimated",),
    )
    warnings = (warning("records"), warning("concurrency_estimated"))
    return Read(results=(Found(model="", parts=(part,), warnings=warnings),))


def _samples(documents: Iterable[Mapping[str, Any]]) -> Iterator[Sample]:
    number = 0
    for document in documents:
        if document["metadata"].get("benchmark_phase") == "warmup":
            continue
        number += 1
        if number > MOST:
            raise BenchError("import_too_many", most=MOST)
        yield _sample(document["metadata"], document["metrics"], document.get("error"))


def _sample(metadata: Mapping[str, Any], metrics: Mapping[str, Any], error: Any) -> Sample:
    sent = (plain(metadata.get("request_start_ns")) or 0.0) / 1e9
    name = text(metadata.get("x_request_id")) or text(metadata.get("session_num"))
    first, last = (_value(metrics, key) for key in ("time_to_first_token", "request_latency"))
    if error or metadata.get("was_cancelled") is True or not last:
        said = text(error.get("message")) if isinstance(error, Mapping) else text(error)
        kind: ErrorKind = "cancelled" if metadata.get("was_cancelled") is True else "protocol"
        return Sample(id=name, sent=sent, error=said or kind, error_kind=kind)
    gaps = metrics.get("inter_chunk_latency")
    listed = gaps.get("value") if isinstance(gaps, Mapping) else None
    factor = _factor(gaps)
    pieces = tuple(one * factor for one in map(plain, listed or ()) if one is not None)
    return Sample(
        id=name,
        sent=sent,
        first_event=first,
        first_token=first,
        first_answer=_value(metrics, "time_to_first_output_token"),
        last_token=last,
        end=last,
        gaps=pieces,
        chunks=len(pieces) + 1,
        prompt_tokens=_count(metrics, "usage_prompt_tokens", "input_sequence_length"),
        cached_tokens=_count(metrics, "usage_prompt_cache_read_tokens"),
        output_tokens=_count(metrics, "usage_completion_tokens", "output_sequence_length"),
        count_source="usage" if "usage_completion_tokens" in metrics else "tokenizer",
    )


def _value(metrics: Mapping[str, Any], name: str) -> float | None:
    """A time in seconds; None where it was not measured."""
    table = metrics.get(name)
    found = plain(table.get("value")) if isinstance(table, Mapping) else None
    return found * _factor(table) if found and found > 0 else None


def _count(metrics: Mapping[str, Any], *names: str) -> int | None:
    for name in names:
        table = metrics.get(name)
        if isinstance(table, Mapping) and (found := count(table.get("value"))) is not None:
            return found
    return None


def _factor(table: Any) -> float:
    unit = text(table.get("unit")).lower() if isinstance(table, Mapping) else "ms"
    return UNITS.get(unit, 0.001)


def _moved(sample: Sample, begin: float) -> Sample:
    return msgspec.structs.replace(sample, sent=sample.sent - begin)


def _at_once(samples: Sequence[Sample]) -> int:
    """Most requests that were open at one moment."""
    steps = [(sample.sent, 1) for sample in samples]
    steps += [(sample.sent + (sample.end or 0.0), -1) for sample in samples]
    return max(accumulate(step for _, step in sorted(steps)), default=0)
