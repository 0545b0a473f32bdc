"""``llama-bench``: json, jsonl, csv and Markdown; messages before the table are passed over.

Tokens a second inside the engine: no HTTP, no tokenising, no sampling. Its ± is a sample standard
deviation. A test that reads and writes in one (``pp512+tg128``) is neither prefill nor decode.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, BinaryIO

from bench.errors import BenchError
from bench.imports.grid import rows_csv, rows_markdown
from bench.imports.meaning import other_meaning
from bench.imports.numbers import Key, count, number, plain, text, told
from bench.imports.values import Found, Kind, Number, Part, Read, doubt, warning

VALUES = {"avg_ts", "stddev_ts", "avg_ns", "stddev_ns", "samples_ns", "samples_ts", "test_time"}
TEST = {"n_prompt", "n_gen", "n_depth"}
COLUMNS = {"test", "t/s"}
SETTINGS = (
    "build_commit", "build_number", "cpu_info", "gpu_info", "backends", "backend", "model_type",
    "n_batch", "n_ubatch", "n_threads", "threads", "type_k", "type_v", "n_gpu_layers", "ngl",
    "flash_attn", "fa", "use_mmap", "load_mode", "split_mode", "n_cpu_moe", "size", "params",
)  # fmt: skip
SIZES = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
_TEST = re.compile(r"(?:pp ?(\d+))?\+?(?:tg ?(\d+))?(?: @ d(\d+))?")
_CELL = re.compile(r"([\d.]+)(?: *± *([\d.]+))?")
_ACTIVE = re.compile(r"(\d+(?:\.\d+)?)B\.A(\d+(?:\.\d+)?)B", re.IGNORECASE)


def recognised(document: Any) -> bool:
    return isinstance(document, dict) and "avg_ts" in document and "n_gen" in document


def read(documents: Iterable[Mapping[str, Any]]) -> Read:
    """One result a model and setting; the rows of one are its tests."""
    groups: dict[tuple[tuple[str, str], ...], list[Mapping[str, Any]]] = {}
    for row in documents:
        setting = {name: text(row[name]) for name in row if name not in VALUES | TEST}
        groups.setdefault(tuple(sorted(setting.items())), []).append(row)
    found = tuple(_found(rows) for rows in groups.values())
    if not found:
        raise BenchError("import_no_rows")
    builds = [text(row[0].get("build_number")) for row in groups.values()]
    return Read(results=found, version=f"b{builds[0]}" if builds[0] else None)


def read_csv(stream: BinaryIO) -> Read:
    return read([_typed(row) for row in rows_csv(stream, heading="avg_ts")])


def read_markdown(stream: BinaryIO) -> Read:
    """The default table; a build is told below it."""
    rows = [_from_markdown(row) for row in rows_markdown(stream) if row.keys() >= COLUMNS]
    found = read(rows)
    stream.seek(0)
    build = re.search(rb"^build: (\w+) \((\d+)\)", stream.read(1 << 20), re.MULTILINE)
    version = f"b{build[2].decode()}" if build else None
    return Read(results=found.results, version=version)


def _found(rows: Sequence[Mapping[str, Any]]) -> Found:
    first = rows[0]
    parts = tuple(_part(row) for row in rows)
    kind = text(first.get("model_type"))
    file = text(first.get("model_filename")).replace("\\", "/").rsplit("/", 1)[-1]
    active = _ACTIVE.search(kind)
    untold = any(part.repeats is None for part in parts)
    mixed = any("mixed_test" in part.flags for part in parts)
    return Found(
        model=file.removesuffix(".gguf") or kind,
        engine="llama.cpp",
        parts=parts,
        date=text(first.get("test_time")) or None,
        machine=text(first.get("gpu_info")) or None,
        size_bytes=count(first.get("model_size")),
        active_share=float(active[2]) / float(active[1]) if active else None,
        definitions=other_meaning("llama-bench", parts),
        told=told(first, SETTINGS),
        warnings=(
            warning("inside_engine"),
            *((warning("repeats_untold"),) if untold else ()),
            *((warning("mixed_test"),) if mixed else ()),
        ),
    )


def _part(row: Mapping[str, Any]) -> Part:
    prompt, output = count(row.get("n_prompt")) or 0, count(row.get("n_gen")) or 0
    depth = count(row.get("n_depth")) or 0
    name = "+".join(
        f"{kind}{tokens}" for kind, tokens in (("pp", prompt), ("tg", output)) if tokens
    )
    kind: Kind = "prefill" if prompt else "decode"
    samples = [one for one in row.get("samples_ts") or () if plain(one) is not None]
    times = [plain(one) or 0.0 for one in row.get("samples_ns") or ()]
    mixed = bool(prompt and output)
    return Part(
        kind=kind,
        name=(name or "–") + (f" @ d{depth}" if depth else ""),
        concurrency=1,
        numbers=_numbers(row, kind, mixed, samples),
        ok=len(samples),
        asked=len(samples) or None,
        repeats=len(samples) or None,
        duration=sum(times) / 1e9 or None,
        prompt_tokens_planned=prompt or None,
        output_tokens_planned=output or None,
        flags=(
            *(("mixed_test",) if mixed else ()),
            *(() if samples else ("repeats_untold",)),
        ),
    )


def _numbers(
    row: Mapping[str, Any], kind: Kind, mixed: bool, samples: Sequence[float]
) -> tuple[Number, ...]:
    found = [
        number("avg_ts", row.get("avg_ts"), Key(f"{kind}_speed", "mean")),
        number("stddev_ts", row.get("stddev_ts"), Key(f"{kind}_speed", "sd")),
    ]
    known = [one for one in found if one is not None]
    if mixed:
        return tuple(
            Number(key=o.key, metric=o.metric, stat=o.stat, value=o.value, doubt=doubt("mixed"))
            for o in known
        )
    return tuple(_own(one, samples) for one in known)


def _own(one: Number, samples: Sequence[float]) -> Number:
    """A mean that its own repeats do not make is in doubt."""
    if one.stat != "mean" or one.value is None or not samples:
        return one
    real = sum(samples) / len(samples)
    if abs(real - one.value) <= 0.02 * real:
        return one
    reason = doubt("own_requests", real=f"{real:,.1f}")
    return Number(key=one.key, metric=one.metric, stat="mean", value=one.value, doubt=reason)


def _typed(row: Mapping[str, str]) -> dict[str, Any]:
    """CSV quotes every value: those that are numbers become numbers."""
    typed: dict[str, Any] = dict(row)
    for name in ("n_prompt", "n_gen", "n_depth", "avg_ts", "stddev_ts", "model_size"):
        if name in row:
            typed[name] = _float(row[name])
    return typed


def _from_markdown(row: Mapping[str, str]) -> dict[str, Any]:
    test, cell = _TEST.fullmatch(row["test"]), _CELL.fullmatch(row["t/s"])
    rest = {name: value for name, value in row.items() if name not in COLUMNS | {"model"}}
    return rest | {
        "model_type": row.get("model", ""),
        "model_size": _bytes(row.get("size", "")),
        "n_prompt": _float(test[1]) if test and test[1] else 0,
        "n_gen": _float(test[2]) if test and test[2] else 0,
        "n_depth": _float(test[3]) if test and test[3] else 0,
        "avg_ts": _float(cell[1]) if cell else row["t/s"],
        "stddev_ts": _float(cell[2]) if cell and cell[2] else None,
    }


def _bytes(size: str) -> float | None:
    amount, _, unit = size.partition(" ")
    return (_float(amount) or 0) * SIZES[unit] if unit in SIZES and _float(amount) else None


def _float(cell: str) -> Any:
    """A number where the cell is one, else the cell."""
    try:
        return float(cell)
    except ValueError:
        return cell or None
