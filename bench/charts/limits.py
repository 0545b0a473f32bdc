"""The lines that charts of results draw across: the memory's limit, and the speed of reading."""

from __future__ import annotations

from collections.abc import Sequence

from bench.catalogue import Catalogue
from bench.charts import READING
from bench.charts.marks import Limits
from bench.results import Result
from bench.shown import characters, sentences


def of(results: Sequence[Result], known: Catalogue) -> Limits:
    return Limits(
        ceilings=sentences.ceilings(results, known),
        reading=characters.reading(results, READING),
    )
