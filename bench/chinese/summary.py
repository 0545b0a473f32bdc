"""Findings as figures: how many of each kind, for each 1,000 characters, and how sure that is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec
import numpy as np

from bench.chinese import counting
from bench.chinese.finding import Finding
from bench.summary import Interval

Kind = Literal[
    "simplified", "vocabulary", "punctuation", "language", "damage", "unfinished", "instruction"
]
KINDS: Mapping[str, Kind] = {
    "simplified": "simplified",
    "mainland_term": "vocabulary",
    "half_width": "punctuation",
    "quotation_marks": "punctuation",
    "ellipsis": "punctuation",
    "leaked_script": "language",
    "english_sentence": "language",
    "not_chinese": "language",
    "lost_character": "damage",
    "mojibake": "damage",
    "loop": "damage",
    "special_token": "damage",
    "leaked_thinking": "damage",
    "thinking_aloud": "damage",
    "truncated": "unfinished",
    "empty": "unfinished",
    "only_thinking": "unfinished",
}
"""Kind of each rule that can count; every other rule that counts is about an instruction."""
_RESAMPLES = 2000
_ENOUGH_ANSWERS = 5


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """One answer in figures. Hints are not counted."""

    characters: int
    """Length in 字 (`counting.length`)."""
    han_share: float | None
    counts: Mapping[Kind, int]
    rules: Mapping[str, int]
    hints: int

    @property
    def total(self) -> int:
        return sum(self.counts.values())


class Rate(msgspec.Struct, frozen=True, kw_only=True):
    """Findings of one kind over several answers."""

    count: int
    answers: int
    """Answers with at least one."""
    per_1000: float | None
    """For each 1,000 字; None when nothing was written."""
    interval: Interval | None
    """95 % interval of the rate; None below five answers."""


def summary(findings: Sequence[Finding], text: str) -> Summary:
    counted = [one for one in findings if one.severity != "hint"]
    return Summary(
        characters=counting.length(text),
        han_share=counting.han_share(text),
        counts=Counter(kind_of(one.rule) for one in counted),
        rules=Counter(one.rule for one in counted),
        hints=len(findings) - len(counted),
    )


def kind_of(rule: str) -> Kind:
    return KINDS.get(rule, "instruction")


def rates(summaries: Sequence[Summary]) -> Mapping[Kind, Rate]:
    """Findings of each kind for each 1,000 字, over all answers of one model.

    The interval is the percentile bootstrap over answers (2,000 resamples, fixed seed), since
    findings come in clusters: a model that slips into Simplified does it for a whole answer. With
    no finding at all its upper end is 3 for all characters together (the "rule of three").
    """
    kinds: tuple[Kind, ...] = Kind.__args__  # type: ignore[attr-defined]
    return {kind: rate_of((kind,), summaries) for kind in kinds}


def rate_of(kinds: Sequence[Kind], summaries: Sequence[Summary]) -> Rate:
    """Findings of several kinds together, as `rates` has them of one."""
    counts = [sum(one.counts.get(kind, 0) for kind in kinds) for one in summaries]
    return _rate(counts, summaries)


def _rate(counts: Sequence[int], summaries: Sequence[Summary]) -> Rate:
    lengths = [one.characters for one in summaries]
    total = sum(lengths)
    return Rate(
        count=sum(counts),
        answers=sum(count > 0 for count in counts),
        per_1000=1000 * sum(counts) / total if total else None,
        interval=_interval(counts, lengths),
    )


def _interval(counts: Sequence[int], lengths: Sequence[int]) -> Interval | None:
    if len(counts) < _ENOUGH_ANSWERS or not sum(lengths):
        return None
    if not any(counts):
        return Interval(low=0.0, high=3000 / sum(lengths))
    drawn = np.random.default_rng(1).integers(len(counts), size=(_RESAMPLES, len(counts)))
    sizes = np.asarray(lengths)[drawn].sum(axis=1)
    found = np.asarray(counts)[drawn].sum(axis=1)[sizes > 0]
    low, high = np.percentile(1000 * found / sizes[sizes > 0], (2.5, 97.5))
    return Interval(low=float(low), high=float(high))
