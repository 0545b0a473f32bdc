"""What a file of another tool says, as values: numbers with their meaning, levels, results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

from bench.errors import Fault, Field
from bench.sample import Sample
from bench.summary import Interval

Stat = Literal["mean", "sd", "p50", "p90", "p95", "p99", "best", "worst", "value"]
Kind = Literal["prefill", "decode", "sweep"]
Arrival = Literal["closed", "burst", "staggered", "poisson"]

NAMES: Mapping[str, str] = {
    "vllm-bench": "vllm bench serve",
    "llama-bench": "llama-bench",
    "llama-benchy": "llama-benchy",
    "guidellm": "GuideLLM",
    "aiperf": "AIPerf",
    "genai-perf": "GenAI-Perf",
    "sglang-bench": "SGLang bench_serving",
    "inference-perf": "inference-perf",
    "spark-compare": "Spark Compare",
}
"""The tools whose files are read, as they call themselves."""
BUNDLE = "spark-compare-run-bundle"
"""What our own files say that they are."""


class Number(msgspec.Struct, frozen=True, kw_only=True):
    """One number of a file and what it means here."""

    key: str
    """The file's own name of it."""
    metric: str
    """A key of the metric definitions, or ``prompt_tokens`` and ``output_tokens``."""
    stat: Stat
    value: float | None
    """In the unit of the metric: seconds, tokens a second, shares. None where it is no number."""
    doubt: Fault | None = None
    """Why it is not used: shown grey, and in no level."""


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """One level, or one test of a prompt set, as the file tells it."""

    kind: Kind
    name: str
    """``pp2048``, ``tg128``, ``c8``."""
    concurrency: int
    numbers: tuple[Number, ...]
    ok: int = 0
    """Requests that went well; 0 of 0 where the file does not tell."""
    failed: int = 0
    asked: int | None = None
    repeats: int | None = None
    """Values behind a mean, where these are not the requests."""
    duration: float | None = None
    peak_concurrency: int | None = None
    prompt_tokens_planned: int | None = None
    output_tokens_planned: int | None = None
    population: bool = False
    """Whether its standard deviations were divided by n and not by n − 1."""
    intervals: Mapping[str, Mapping[str, Interval]] = msgspec.field(default_factory=dict)
    """Intervals that the file itself gives: metric → quantile → interval."""
    samples: tuple[Sample, ...] = ()
    """Each request, where the file has them; the level is then computed by our own formulas."""
    flags: tuple[str, ...] = ()
    """What a reader must know of this level (``flags`` of `summary.LevelSummary`)."""


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """One result in a file: one model under one setting."""

    model: str
    """As the file calls it; empty where it does not."""
    parts: tuple[Part, ...]
    engine: str | None = None
    """Catalogue id, where the file tells."""
    date: str | None = None
    """ISO where the file gives a zone, else the local time that it gives."""
    arrival: Arrival = "closed"
    machine: str | None = None
    size_bytes: int | None = None
    """Bytes of the weights, where the file tells."""
    active_share: float | None = None
    """Share of the weights that one token needs, where the file tells."""
    definitions: Mapping[str, str] = msgspec.field(default_factory=dict)
    """Metric → tool, where its number does not mean the same as ours."""
    told: Mapping[str, str] = msgspec.field(default_factory=dict)
    """What else the file says of the run, by its own names: settings, builds, rates."""
    warnings: tuple[Fault, ...] = ()


class Import(msgspec.Struct, frozen=True, kw_only=True):
    """A file that was understood, before anything is saved."""

    tool: str
    """A key of `NAMES`."""
    version: str | None
    form: Literal["json", "jsonl", "csv", "md", "bundle"]
    name: str
    """The file's name: for a reader only, nothing is concluded from it."""
    sha256: str
    """Of the file's bytes, unpacked when it came packed."""
    size: int
    """Bytes, unpacked."""
    results: tuple[Found, ...]
    warnings: tuple[Fault, ...] = ()


class Read(msgspec.Struct, frozen=True, kw_only=True):
    """What a format's module gives back."""

    results: tuple[Found, ...]
    version: str | None = None
    tool: str | None = None
    """Where one format has several tools."""


def warning(code: str, /, **fields: Field) -> Fault:
    """A sentence ``imports.warning.<code>``."""
    return Fault(code=f"imports.warning.{code}", fields=fields)


def doubt(code: str, /, **fields: Field) -> Fault:
    """A sentence ``imports.doubt.<code>``."""
    return Fault(code=f"imports.doubt.{code}", fields=fields)
