"""Charts: results become a `Figure`, an Altair chart with its words and the rows behind it.

Colours say which model, marks which result; text and axes keep the page's own colours, so a chart
is readable on light and dark ground. Every figure carries a sentence for those who can't see it.
"""

from __future__ import annotations

from collections.abc import Sequence

from bench.charts.alone import loading, prompt_set
from bench.charts.level import FAILED, requests, spread
from bench.charts.machine import machine
from bench.charts.sweep import PATIENCE, READING, Scale, first_word, pareto, speed, throughput
from bench.figure import Figure
from bench.marks import MUTED, NONE, Limits
from bench.results import Result
from bench.text import Words

__all__ = [
    "FAILED", "FIRST", "MUTED", "PATIENCE", "READING", "Figure", "Scale", "first_word", "loading",
    "machine", "of_comparison", "of_run", "pareto", "prompt_set", "requests", "speed", "spread",
    "throughput",
]  # fmt: skip
FIRST = ("speed", "throughput", "first-word", "pareto", "decode", "prefill", "loading")
"""The figures of a comparison, by name, in the order in which they are of use."""


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


def of_comparison(
    results: Sequence[Result],
    t: Words,
    scale: Scale = "linear",
    limits: Limits = NONE,
) -> list[Figure]:
    """The figures of a comparison, in the order of `FIRST`; those with nothing to draw left out."""
    found = [
        speed(results, t, scale, limits),
        throughput(results, t, scale),
        first_word(results, t, scale),
        pareto(results, t, scale),
        prompt_set(results, "decode", t, limits),
        prompt_set(results, "prefill", t),
        loading(results, t),
    ]
    return [one for one in found if one]
