"""llama-benchy: json, csv and Markdown. Times in milliseconds, population standard deviations.

Its prefill speed leaves a measured network latency out, its speed of all users together is over
writing time only, and before 0.4 it counted pieces of text as tokens. It tells means; medians are
taken from its ``values`` where it lists them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, BinaryIO

from bench.errors import BenchError, Fault
from bench.imports.grid import Row, rows_csv, rows_markdown
from bench.imports.meaning import other_meaning
from bench.imports.numbers import Key, count, number, plain, text, told
from bench.imports.values import Found, Number, Part, Read, warning
from bench.numbers.stats import quantiles

READING = {"pp_req_throughput": "prefill_speed"}
WRITING = {"tg_req_throughput": "decode_speed"}
TOGETHER = {"tg_throughput": "throughput"}
WAITS = {"ttfr": "ttfr", "e2e_ttft": "ttft"}
SETTINGS = ("latency_mode", "latency_ms", "prefix_caching_enabled", "max_concurrency")
COUNTED_PIECES_BEFORE = (0, 4)
_TEST = re.compile(r"(ctx_)?(pp|tg)(\d*)(?: @ d(\d+))?(?: \(c(\d+)\))?")
_CELL = re.compile(r"(-?[\d.]+)(?: *± *([\d.]+))?")
_COLUMNS = {"t/s": "t_s", "t/s (total)": "t_s", "t/s (req)": "t_s_req", "ttfr (ms)": "ttfr",
            "est_ppt (ms)": "est_ppt", "e2e_ttft (ms)": "e2e_ttft"}  # fmt: skip
"""Columns of the Markdown table → of the CSV."""


def recognised(document: Any) -> bool:
    return isinstance(document, dict) and "latency_mode" in document and "benchmarks" in document


def read(documents: Iterable[Mapping[str, Any]]) -> Read:
    results: list[Found] = []
    version = None
    for document in documents:
        rows = [one for one in document["benchmarks"] if isinstance(one, Mapping)]
        if not rows:
            raise BenchError("import_no_rows")
        version = text(document.get("version")) or None
        results += _results(document, rows, version)
    return Read(results=tuple(results), version=version)


def read_csv(stream: BinaryIO) -> Read:
    return _of_rows(list(rows_csv(stream, heading="t_s_mean")), None)


def read_markdown(stream: BinaryIO) -> Read:
    rows = [_as_csv(row) for row in rows_markdown(stream) if {"test", "ttfr (ms)"} <= row.keys()]
    stream.seek(0)
    foot = stream.read(1 << 20).decode(errors="replace")
    version = re.search(r"llama-benchy \(([^)]+)\)", foot)
    return _of_rows(rows, version[1] if version else None)


def _of_rows(rows: Sequence[Row], version: str | None) -> Read:
    """Rows of one test each, reading and writing apart, as the JSON has them together."""
    models: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        test = _TEST.fullmatch(row.get("test_name", ""))
        if not test:
            continue
        made = models.setdefault(row.get("model", ""), [])
        place = {
            "concurrency": int(test[5] or 1),
            "context_size": int(test[4] or 0),
            "is_context_prefill_phase": bool(test[1]),
        }
        reading, tokens = test[2] == "pp", int(test[3] or 0)
        if reading or not (made and place.items() <= made[-1].items()):
            made.append({**place, "prompt_size": 0, "response_size": 0})
        made[-1]["prompt_size" if reading else "response_size"] = tokens or place["context_size"]
        made[-1].update(_metrics(row, "pp" if reading else "tg"))
    if not models:
        raise BenchError("import_no_rows")
    results = [
        one for model, made in models.items() for one in _results({"model": model}, made, version)
    ]
    return Read(results=tuple(results), version=version)


def _metrics(row: Row, kind: str) -> dict[str, Any]:
    names = {"t_s": f"{kind}_throughput", "t_s_req": f"{kind}_req_throughput"}
    names |= {"ttfr": "ttfr", "e2e_ttft": "e2e_ttft"} if kind == "pp" else {}
    found = {
        name: {"mean": _float(mean), "std": _float(row.get(f"{column}_std", ""))}
        for column, name in names.items()
        if (mean := row.get(f"{column}_mean", ""))
    }
    if f"{kind}_req_throughput" not in found and f"{kind}_throughput" in found:
        found[f"{kind}_req_throughput"] = found[f"{kind}_throughput"]  # one person: both are one
    return found


def _as_csv(row: Row) -> dict[str, str]:
    made = {"model": row.get("model", ""), "test_name": row["test"]}
    for heading, column in _COLUMNS.items():
        if cell := _CELL.fullmatch(row.get(heading, "")):
            made |= {f"{column}_mean": cell[1], f"{column}_std": cell[2] or ""}
    return made


def _results(
    document: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], version: str | None
) -> list[Found]:
    """One result; with several people at once one for each prompt length and context, because a
    result has one curve."""
    several = any((count(row.get("concurrency")) or 1) > 1 for row in rows)
    groups: dict[tuple[int, ...], list[Mapping[str, Any]]] = {}
    for row in rows:
        names = ("prompt_size", "response_size", "context_size")
        lengths = tuple(count(row.get(name)) or 0 for name in names)
        groups.setdefault(lengths if several else (), []).append(row)
    return [_found(document, group, version) for group in groups.values()]


def _found(
    document: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], version: str | None
) -> Found:
    cached = document.get("prefix_caching_enabled") is True
    pieces = _counted_pieces(version)
    flags = ("cached_prompts",) if cached else ()
    parts = tuple(part for row in rows for part in _parts(row, flags))
    unlike = other_meaning("llama-benchy", parts)
    if pieces:
        unlike |= {"decode_speed": "llama-benchy"}
    return Found(
        model=text(document.get("model")),
        parts=parts,
        date=text(document.get("timestamp")).replace("Z", "+00:00").replace(" ", "T") or None,
        arrival="burst",
        definitions=unlike,
        told=told(document, SETTINGS),
        warnings=tuple(_warnings(parts, cached, pieces, version)),
    )


def _warnings(
    parts: Sequence[Part], cached: bool, pieces: bool, version: str | None
) -> Iterable[Fault]:
    yield warning("benchy_prefill")
    if any(part.kind == "sweep" for part in parts):
        yield warning("benchy_together")
    if cached:
        yield warning("caching_on")
    if pieces:
        yield warning("counted_pieces", version=version or "–")
    if any(part.repeats is None for part in parts):
        yield warning("repeats_untold")


def _counted_pieces(version: str | None) -> bool:
    found = re.match(r"(\d+)\.(\d+)", version or "")
    return not found or (int(found[1]), int(found[2])) < COUNTED_PIECES_BEFORE


def _parts(row: Mapping[str, Any], flags: tuple[str, ...]) -> list[Part]:
    people = count(row.get("concurrency")) or 1
    prompt, output = count(row.get("prompt_size")) or 0, count(row.get("response_size")) or 0
    context = count(row.get("context_size")) or 0
    tail = f" @ d{context}" if context else ""
    first = "ctx_" if row.get("is_context_prefill_phase") is True else ""
    made: list[Part] = []
    if people == 1:
        made += _part(row, READING | WAITS, "prefill", f"{first}pp{prompt}{tail}", flags)
        made += _part(row, WRITING, "decode", f"{first}tg{output}{tail}", flags)
    if not first:
        everything = READING | WRITING | TOGETHER | WAITS
        made += _part(row, everything, "sweep", f"c{people}", flags)
    return made


def _part(
    row: Mapping[str, Any], metrics: Mapping[str, str], kind: Any, name: str, flags: tuple[str, ...]
) -> list[Part]:
    tables = {key: found for key in metrics if isinstance(found := row.get(key), Mapping)}
    numbers = tuple(
        one for key, found in tables.items() for one in _numbers(key, found, metrics[key])
    )
    if not numbers:
        return []
    listed = [found.get("values") for found in tables.values()]
    n = max((len(values) for values in listed if isinstance(values, list)), default=0)
    return [
        Part(
            kind=kind,
            name=name,
            concurrency=count(row.get("concurrency")) or 1,
            numbers=numbers,
            ok=n,
            asked=n or None,
            repeats=n or None,
            prompt_tokens_planned=count(row.get("prompt_size")) or None,
            output_tokens_planned=count(row.get("response_size")) or None,
            population=True,
            flags=flags if n else (*flags, "repeats_untold"),
        )
    ]


def _numbers(key: str, table: Mapping[str, Any], metric: str) -> list[Number]:
    factor = 0.001 if metric in ("ttfr", "ttft") else 1.0
    values = [one for one in map(plain, table.get("values") or ()) if one is not None]
    if metric == "throughput":
        found = [number(key, table.get("mean"), Key(metric, "value"))]
    else:
        found = [number(key, table.get("mean"), Key(metric, "mean", factor)),
                 number(key, table.get("std"), Key(metric, "sd", factor))]  # fmt: skip
    if factor != 1.0 and values:
        spread = quantiles(values)
        for stat in ("p50", "p90", "p95", "p99", "best", "worst"):
            found.append(number(key, getattr(spread, stat), Key(metric, stat, factor)))
    return [one for one in found if one is not None]


def _float(cell: str) -> float | None:
    try:
        return float(cell)
    except ValueError:
        return None
