"""Results of other tools, read by what is in a file and never by its name.

``read(file, name)`` gives back what a file says as a value, each number with its meaning here and,
where it cannot be right, with the reason. Nothing is saved (`keep.py`) and nothing is executed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, Literal

from bench.errors import BenchError, Fault
from bench.imports import (
    aiperf,
    aiperf_records,
    guidellm,
    inference_perf,
    llama_bench,
    llama_benchy,
    sglang,
    vllm,
)
from bench.imports.checks import judged
from bench.imports.documents import Documents
from bench.imports.source import LIMIT, Source, opened
from bench.imports.values import BUNDLE, NAMES, Import, Read, warning

Form = Literal["json", "jsonl", "csv", "md"]
Reader = tuple[str, Callable[[Any], bool], Callable[[Any], Read]]
JSON: tuple[Reader, ...] = (
    ("sglang-bench", sglang.recognised, sglang.read),
    ("vllm-bench", vllm.recognised, vllm.read),
    ("llama-bench", llama_bench.recognised, llama_bench.read),
    ("llama-benchy", llama_benchy.recognised, llama_benchy.read),
    ("guidellm", guidellm.recognised, guidellm.read),
    ("aiperf", aiperf_records.recognised, aiperf_records.read),
    ("aiperf", aiperf.recognised, lambda found: aiperf.read(list(found))),
    ("inference-perf", inference_perf.recognised, inference_perf.read),
)
TABLES: tuple[tuple[str, Form, re.Pattern[str], Callable[[BinaryIO], Read]], ...] = (
    ("llama-bench", "csv", re.compile(r'^"?build_commit"?,.*avg_ts', re.M), llama_bench.read_csv),
    ("llama-benchy", "csv", re.compile(r"^model,test_name,t_s_mean", re.M), llama_benchy.read_csv),
    ("aiperf", "csv", re.compile(r"^Metric,(avg|Value)\b", re.M), aiperf.read_csv),
    ("llama-benchy", "md", re.compile(r"^\|.*\bttfr \(ms\)", re.M), llama_benchy.read_markdown),
    (
        "llama-bench",
        "md",
        re.compile(r"^\| *model *\|.*\bt/s *\|", re.M),
        llama_bench.read_markdown,
    ),
)
HEAD = 1 << 20
"""Bytes of a file that are looked at to tell a table."""
MOST = 2_000
"""Levels in a file: a person could not read more."""


def read(file: Path | BinaryIO, name: str = "", *, limit: int = LIMIT) -> Import:
    """What a file of another tool says.

    Raises BenchError: ``import_unknown``, ``import_raw`` (perf_analyzer's raw data),
    ``import_bundle`` (one of our own), ``import_no_rows`` (a run that
    failed), ``import_no_text_generation``, ``import_broken``… and those of `source.opened`.
    """
    with opened(file, limit=limit) as source:
        tool, form, found, warnings = _read(source)
        results = tuple(judged(one) for one in found.results)
        if not any(one.parts for one in results):
            raise BenchError("import_no_rows")
        if sum(len(one.parts) for one in results) > MOST:
            raise BenchError("import_too_many", most=MOST)
        return Import(
            tool=found.tool or tool,
            version=found.version,
            form=form,
            name=" ".join(Path(name).name.split())[:120],
            sha256=source.sha256,
            size=source.size,
            results=results,
            warnings=warnings,
        )


def _read(source: Source) -> tuple[str, Form, Read, tuple[Fault, ...]]:
    head = source.text.read(HEAD).decode(errors="replace")
    if not head.lstrip().startswith(("{", "[")):
        for tool, form, sign, reader in TABLES:
            if sign.search(head):
                source.text.seek(0)
                return tool, form, reader(source.text), ()
    documents = Documents(source.text)
    flat = _flat(documents)
    first = next(flat, None)
    tool, recognised, reader = _reader(first)
    chosen = _Chosen(chain([first], flat), recognised)
    try:
        found = reader(chosen)
    except (KeyError, TypeError, AttributeError, ValueError, OverflowError) as fault:
        raise BenchError("import_odd", tool=NAMES[tool], problem=str(fault)[:80]) from fault
    warnings = [warning("repeated_key", key=key) for key in sorted(documents.repeated)[:5]]
    if chosen.others:
        warnings.append(warning("passed_over", n=chosen.others))
    return tool, "jsonl" if chosen.count > 1 else "json", found, tuple(warnings)


class _Chosen:
    """The documents of one tool, with the number of these and of the others."""

    def __init__(self, found: Iterator[Any], recognised: Callable[[Any], bool]) -> None:
        self._found, self._recognised = found, recognised
        self.count = self.others = 0

    def __iter__(self) -> Iterator[Any]:
        for one in self._found:
            if self._recognised(one):
                self.count += 1
                yield one
            else:
                self.others += 1


def _flat(documents: Documents) -> Iterator[Any]:
    """The objects of a file, whether they follow each other or are in a list."""
    for document in documents:
        if isinstance(document, list):
            yield from document
        else:
            yield document


def _reader(first: Any) -> Reader:
    if aiperf.raw(first):
        raise BenchError("import_raw")
    if isinstance(first, Mapping) and first.get("format") == BUNDLE:
        raise BenchError("import_bundle")
    for reader in JSON:
        if reader[1](first):
            return reader
    raise BenchError("import_unknown")
