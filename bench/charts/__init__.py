"""Charts: results become a `Figure`, an Altair chart with its words and the rows behind it.

Colours say which model, marks which result; text and axes keep the page's own colours, so a chart
is readable on light and dark ground. Every figure carries a sentence for those who can't see it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from bench.charts.alone import loading, prompt_set
from bench.charts.figure import Figure
from bench.charts.level import FAILED, requests, spread
from bench.charts.machine import machine
from bench.charts.marks import MUTED, NONE, Limits
from bench.charts.sweep import PATIENCE, READING, Scale, first_word, pareto, speed, throughput
from bench.results import Result, bars, points
from bench.text import Words

__all__ = [
    "FAILED", "FIRST", "MUTED", "PATIENCE", "READING", "Figure", "Scale", "drawable", "first_word",
    "loading", "machine", "of_comparison", "of_run", "pareto", "prompt_set", "requests", "speed",
    "spread", "throughput",
]  # fmt: skip
FIRST = ("speed", "throughput", "first-word", "pareto", "decode", "prefill", "loading")
"""The figures of a comparison, by name, in the order in which they are of use."""

NEEDED: Mapping[str, Callable[[Result], object]] = {
    "speed": lambda result: points(result, "decode_speed"),
    "throughput": lambda result: points(result, "throughput"),
    "first-word": lambda result: points(result, "ttft_p99"),
    "pareto": lambda result: points(result, "decode_speed") and points(result, "throughput"),
    "decode": lambda result: bars(result, "decode"),
    "prefill": lambda result: bars(result, "prefill"),
    "loading": lambda result: result.run and result.run.facts.get("stages"),
}


def of_run(result: Result, t: Words, limits: Limits = NONE) -> dict[str, list[Figure]]:
    """The figures of a run's page under the keys of their headings, empty ones left out."""
    one = [result]
    sections = {
        "run.people": [
            speed(one, t, limits=limits),
            first_word(one, t),
            throughput(one, t),
            pareto(one, t),
        ],
        "run.alone": [
            prompt_set(one, "prefill", t),
            prompt_set(one, "decode", t, limits),
            loading(one, t),
        ],
    }
    drawn = {key: [one for one in found if one] for key, found in sections.items()}
    return {key: some for key, some in drawn.items() if some}


def drawable(results: Sequence[Result]) -> list[str]:
    """The figures of a comparison (`FIRST`) for which there are values."""
    return [name for name in FIRST if any(NEEDED[name](result) for result in results)]


def of_comparison(
    results: Sequence[Result],
    t: Words,
    scale: Scale = "linear",
    limits: Limits = NONE,
    only: Sequence[str] = FIRST,
) -> list[Figure]:
    """The figures of a comparison, in the order of `FIRST`; those with nothing to draw left out."""
    make: Mapping[str, Callable[[], Figure | None]] = {
        "speed": lambda: speed(results, t, scale, limits),
        "throughput": lambda: throughput(results, t, scale),
        "first-word": lambda: first_word(results, t, scale),
        "pareto": lambda: pareto(results, t, scale),
        "decode": lambda: prompt_set(results, "decode", t, limits),
        "prefill": lambda: prompt_set(results, "prefill", t),
        "loading": lambda: loading(results, t),
    }
    drawn = [make[name]() for name in FIRST if name in only]
    return [one for one in drawn if one]
